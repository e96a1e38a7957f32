"""What lets others find and install tmuxreap, each derived from what is there: `scripts/release
reach` writes it. Nothing names an address until pyproject.toml has one."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from pathlib import Path

SUMMARY = "Stop, resume and clean up AI coding agents in tmux; every end is proven."  # 100 at most
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
ROW = re.compile(r"^\| \[([^]]+)\]\(([^)]+\.md)\) \| (.*) \|$")
PLUGIN = (".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json", "LICENSE")


def llms_text(index: str) -> str:
    """Return llms.txt: the index of the pages, for a model that looks for the right one."""
    lines = ["# tmuxreap", "", f"> {SUMMARY}", ""]
    lines += ["- [README](README.md): what it promises, how to install it, the first commands"]
    for line in index.splitlines():
        if line.startswith("## "):
            lines += ["", line, ""]
        found = ROW.match(line)
        if found is not None:
            about = found[3].replace("](", "](docs/")
            lines.append(f"- [{found[1]}](docs/{found[2]}): {about}")
    return "\n".join(lines) + "\n"


def server_name(repository: str) -> str:
    """Return the name in the MCP registry: the host backwards, and the rest of the address."""
    host, owner, name = repository.removeprefix("https://").split("/")
    if host == "github.com":
        host = "github.io"  # the namespace that a sign-in there proves
    return f"{'.'.join(reversed(host.split('.')))}.{owner}/{name}"


def server(repository: str, version: str) -> dict[str, object]:
    """Return server.json, which the MCP registry takes."""
    package = {
        "registryType": "pypi",
        "identifier": "tmuxreap",
        "version": version,
        "runtimeHint": "uvx",
        "runtimeArguments": [
            {"type": "named", "name": "--from", "value": f"tmuxreap[mcp]=={version}"}
        ],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": SCHEMA,
        "name": server_name(repository),
        "title": "tmuxreap",
        "description": SUMMARY,
        "version": version,
        "repository": {"url": repository, "source": repository.split("/")[2].split(".")[0]},
        "packages": [package],
    }


def plugin(root: Path, wheel: Path, folder: Path) -> None:
    """Write the plugin for Claude Code without the rest of a checkout, its skills from the
    wheel."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in PLUGIN:
        there = folder / name
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, there)
    with zipfile.ZipFile(wheel) as packed:
        for one in packed.infolist():
            inside = one.filename.partition("tmuxreap/_skills/")[2]
            if not inside or one.is_dir():
                continue
            there = folder / "skills" / inside
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(packed.read(one))
            there.chmod(0o755 if inside.endswith(".sh") else 0o644)


def installer(template: str, wheel: Path, repository: str, version: str) -> str:
    """Return the install script of this wheel: it takes no other one."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    address = f"{repository}/releases/download/v{version}/{wheel.name}" if repository else ""
    filled = {"WHEEL": wheel.name, "SHA256": digest, "ADDRESS": address}
    for name, value in filled.items():
        template = template.replace(f"@{name}@", value)
    return template


def write(root: Path, repository: str, version: str) -> list[Path]:
    """Write all of it beside the built wheel, and return the paths."""
    dist = root / "dist"
    (wheel,) = dist.glob("tmuxreap-*.whl")
    index = (root / "docs" / "README.md").read_text(encoding="utf-8")
    (root / "llms.txt").write_text(llms_text(index), encoding="utf-8")
    plugin(root, wheel, dist / "plugin")
    template = (root / "scripts" / "install.sh.in").read_text(encoding="utf-8")
    script = dist / "install.sh"
    script.write_text(installer(template, wheel, repository, version), encoding="utf-8")
    script.chmod(0o755)
    made = [root / "llms.txt", dist / "plugin", script]
    if repository:
        entry = dist / "server.json"
        entry.write_text(json.dumps(server(repository, version), indent=2) + "\n", encoding="utf-8")
        made.append(entry)
    return made
