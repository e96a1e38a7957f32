"""Shared programs, recognized in one step."""

from __future__ import annotations

import re

from tmuxreap.agents.programs import Spare, Spares

AGENT = Spare("ssh-agent")
SERVER = Spare("node", arguments=re.compile("serve$"))
DAEMON = Spare("", command=re.compile("^/srv/shared "))


def test_a_program_is_spared_by_its_name_and_arguments() -> None:
    spares = Spares.of(AGENT, SERVER)
    assert spares.matching(["ssh-agent"], ["ssh-agent", "-s"]) is AGENT
    assert spares.matching(["node"], ["node", "serve"]) is SERVER
    assert spares.matching(["node"], ["node", "build"]) is None
    assert spares.matching(["ssh-agent-like"], ["ssh-agent-like"]) is None


def test_a_nameless_process_is_recognised_by_its_command_line() -> None:
    assert Spares.of(AGENT, DAEMON).matching(["x"], ["/srv/shared", "run"]) is DAEMON
    assert Spares.of(AGENT).matching(["x"], ["/srv/shared", "run"]) is None


def test_no_processes_means_nothing_is_spared() -> None:
    assert Spares.of().matching(["ssh-agent"], ["ssh-agent"]) is None
