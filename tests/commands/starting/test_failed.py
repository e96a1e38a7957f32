"""What is reported about a failed start."""

from __future__ import annotations

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.commands.starting.launch import agent_failed
from tmuxreap.commands.starting.row import Launch
from tmuxreap.registry.transitions import RowEvent


@pytest.mark.parametrize(
    ("gone", "screen", "said"),
    [
        (True, "", "could not start acme: its command ended within 1 s"),
        (
            True,
            "no key\n",
            "could not start acme: its command ended within 1 s; its last screen:\nno key",
        ),
        (  # tmux itself could not run it, and says no more
            True,
            "\nPane is dead (status 1, Fri Nov 20 07:53:45 2026)\n",
            "could not start acme: its command ended within 1 s and printed nothing; is a b on the"
            " PATH of its tmux server?",
        ),
        (
            False,
            "",
            "could not start acme: no demo was recognised in it within 1 s (a demo is recognised"
            " by: tmuxreap.demo_agent, tmuxreap-demo)",
        ),
    ],
)
def test_a_failed_start_says_what_was_seen(gone: bool, screen: str, said: str) -> None:
    wish = Launch("acme", "demo", ("a b",), None, "/", None, "/s", RowEvent.STARTED)
    failure = agent_failed(wish, load_profiles(None).of("demo"), gone, screen)
    assert (failure.code.text, failure.message) == ("start_failed", said)
    assert failure.hint == "try the command by hand: 'a b'"


DEAD = "\n\nPane is dead (status 127, Fri Nov 20 04:23:47 2026)\n"
ELSEWHERE = "could not run nosuch-x: it is not on the PATH of its tmux server"


@pytest.mark.parametrize(
    ("program", "line", "said"),
    [
        (
            "nosuch-x",
            "env: \u2018nosuch-x\u2019: No such file or directory",
            "nosuch-x is not on the PATH",
        ),
        ("env", "env: \u2018nosuch-x\u2019: No such file or directory", f"env {ELSEWHERE}"),
        ("env", "env: nosuch-x: No such file or directory", f"env {ELSEWHERE}"),
        ("nice", "nice: 'nosuch-x': No such file or directory", f"nice {ELSEWHERE}"),
        (
            "timeout",
            "timeout: failed to run command \u2018nosuch-x\u2019: No such file or directory",
            f"timeout {ELSEWHERE}",
        ),
        ("sh", "sh: 1: nosuch-x: not found", f"sh {ELSEWHERE}"),
        ("bash", "bash: line 1: nosuch-x: command not found", f"bash {ELSEWHERE}"),
        ("./run.sh", "./run.sh: line 3: nosuch-x: command not found", f"./run.sh {ELSEWHERE}"),
        ("zsh", "zsh:1: command not found: nosuch-x", f"zsh {ELSEWHERE}"),
        ("env", "", "its command ended with status 127: a program was not found"),
        ("env", "env: no se encuentra", "its command ended with status 127: a program was"),
    ],
)
def test_the_program_that_was_not_found_is_named(program: str, line: str, said: str) -> None:
    wish = Launch("acme", "demo", (program, "x"), None, "/", None, "/s", RowEvent.STARTED)
    failure = agent_failed(wish, load_profiles(None).of("demo"), True, line + DEAD)
    assert failure.message.startswith(f"could not start acme: {said}")
