"""The plugin for Claude Code: its files match the skills, the hooks and the MCP server, and add
nothing. tests/real_agents/plugin.py installs it in the real program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tmuxreap import __version__
from tmuxreap.agents.hooks import settings_file
from tmuxreap.agents.load import load_profiles
from tmuxreap.commands.skills import our_skills

ROOT = Path(__file__).parent.parent


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / name).read_text(encoding="utf-8"))
    return found


def test_the_plugin_has_our_name_and_version() -> None:
    plugin = read(".claude-plugin/plugin.json")
    assert (plugin["name"], plugin["version"]) == ("tmuxreap", __version__)
    assert not {"skills", "hooks", "mcpServers"} & plugin.keys()  # they are in the default places


def test_the_marketplace_offers_the_checkout_itself() -> None:
    (only,) = read(".claude-plugin/marketplace.json")["plugins"]
    assert (only["name"], only["source"]) == ("tmuxreap", "./")


def test_the_plugins_hooks_are_those_that_we_install() -> None:
    hooks = load_profiles(None).agents["claude"].hooks
    assert hooks is not None
    ours = settings_file.installed("{}\n", hooks, "claude", "tmuxreap")
    assert (ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8") == ours


def test_the_plugins_server_is_that_of_the_page() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    block = page.split("```json\n")[1].split("```")[0]
    assert read(".mcp.json") == json.loads(block)


def test_the_plugins_skills_are_found_and_name_no_other_place() -> None:
    assert {path.parent.name for path in (ROOT / "skills").glob("*/SKILL.md")} == {
        skill.name for skill in our_skills()
    }
    for skill in our_skills():
        text = skill.files["SKILL.md"].decode()
        assert ".agents/skills" not in text
        assert ".claude/skills" not in text
        named = set(re.findall(r"\bscripts/[\w.]+", text))
        assert named <= {name for name in skill.files if name.startswith("scripts/")}
