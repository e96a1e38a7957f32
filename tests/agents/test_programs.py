"""The names of a process."""

from __future__ import annotations

import pytest

from tmuxreap.agents.profiles import program_names


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (("claude", "--resume", "x"), {"claude"}),
        (("/usr/local/bin/claude",), {"claude"}),
        (("node", "/usr/lib/codex.js", "--x"), {"node", "codex", "codex.js"}),
        (("node", "--inspect", "/srv/gemini/bin/gemini"), {"node", "gemini"}),
        (
            ("/usr/bin/python3.11", "-m", "tmuxreap.demo_agent", "--x"),
            {"python3.11", "tmuxreap.demo_agent"},
        ),
        (("env", "A=1", "claude"), {"env", "claude"}),
        (("-bash",), {"bash"}),
        (("sh", "/srv/run-claude.sh"), {"sh", "run-claude", "run-claude.sh"}),
        (("vi", "claude"), {"vi"}),
        ((), set()),
    ],
)
def test_what_a_program_may_be_called(argv: tuple[str, ...], names: set[str]) -> None:
    assert set(program_names(argv, "", None)) == names
