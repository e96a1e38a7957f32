"""The plugin in the real Claude Code: installed from this checkout into a HOME of its own, seen
with its skills, hooks and server, and taken out again.

python -m tests.real_agents.plugin FOLDER

FOLDER/claude/node_modules/.bin holds the program. Exit 0 when all went as it must."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real_agents.setups import KEY
from tmuxreap.commands.skills import our_skills

ROOT = Path(__file__).parents[2]


class Claude:
    def __init__(self, program: Path, home: Path) -> None:
        self.program = program
        self.environ = {
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def says(self, *words: str) -> str:
        print("$ claude", *words)
        done = subprocess.run(
            [str(self.program), *words],
            env=self.environ,
            cwd=self.environ["HOME"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        print(done.stdout + done.stderr)
        assert done.returncode == 0, done.returncode
        return done.stdout


def play(claude: Claude) -> None:
    assert "passed" in claude.says("plugin", "validate", str(ROOT))
    claude.says("plugin", "marketplace", "add", str(ROOT))
    claude.says("plugin", "install", "tmuxreap@tmuxreap")
    details = claude.says("plugin", "details", "tmuxreap")
    hooks = json.loads((ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    for name in (*(skill.name for skill in our_skills()), *hooks, "MCP servers (1)"):
        assert name in details, name
    servers = claude.says("mcp", "list")
    assert "tmuxreap mcp" in servers, servers
    assert "Connected" in servers, servers
    claude.says("plugin", "uninstall", "tmuxreap@tmuxreap")
    claude.says("plugin", "marketplace", "remove", "tmuxreap")
    assert "No plugins installed" in claude.says("plugin", "list")
    assert "tmuxreap" not in claude.says("mcp", "list")


def main(folder: Path) -> int:
    with tempfile.TemporaryDirectory() as home:
        play(Claude(folder / "claude" / "node_modules" / ".bin" / "claude", Path(home)))
    print("the plugin was installed into claude, was whole, and was taken out")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
