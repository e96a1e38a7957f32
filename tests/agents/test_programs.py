"""The names of a process."""

from __future__ import annotations

import pytest

from tmuxreap.agents import programs
from tmuxreap.agents.programs import program_names


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
def test_a_program_has_the_names_of_its_command_line(
    argv: tuple[str, ...], names: set[str]
) -> None:
    assert set(program_names(argv, "", None)) == names


def test_the_memory_of_command_lines_does_not_grow_with_each_session() -> None:
    before = programs._names.cache_info().currsize
    for number in range(500):
        program_names(("node", "--inspect", "/x/bin/agent.js", "--resume", f"{number}"), "x", None)
        program_names(("python3", "-m", "agent", f"--session={number}"), "x", None)
        program_names(("agent", f"{number}", "a prompt"), "x", None)
    assert programs._names.cache_info().currsize - before <= 3
