"""The package's metadata, assembled at build time: its addresses, and the README with absolute
links for the package's page.

Only `repository` under `[tool.hatch.metadata.hooks.custom]` in pyproject.toml holds the
repository's address. Without it there are no addresses, and links stay unchanged: `scripts/release
doctor` says so."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reach import server_name

LINK = re.compile(r"(!?)\[((?:[^][]|!\[[^]]*\]\([^)]*\))*)\]\((?![a-z]+:|#)([^)\s]+)\)")
BRANCH = "main"


def urls_of(repository: str) -> dict[str, str]:
    if not repository:
        return {}
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/blob/{BRANCH}/docs/README.md",
        "Changelog": f"{repository}/blob/{BRANCH}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Security": f"{repository}/security/policy",
        "Source": repository,
    }


def page_of(readme: str, repository: str, ref: str) -> str:
    """Return the README with absolute links to the pictures and pages of this version."""
    if not repository:
        return readme

    def full(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}[{found[2]}]({repository}/{kind}/{ref}/{found[3]})"

    # By this line the MCP registry knows that the page and server.json have one owner.
    return f"{LINK.sub(full, readme)}\n<!-- mcp-name: {server_name(repository)} -->\n"


class CustomMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, object]) -> None:
        root = Path(self.root)
        repository = str(self.config.get("repository", "")).rstrip("/")
        version = re.search(r'__version__ = "(.+)"', (root / "tmuxreap/__init__.py").read_text())
        ref = f"v{version[1]}" if version else BRANCH
        readme = (root / "README.md").read_text(encoding="utf-8")
        text = page_of(readme, repository, ref)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if repository:
            metadata["urls"] = urls_of(repository)
