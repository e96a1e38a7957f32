"""What the profiles say of the real agents: who is one, and what was on their screens when they were run."""

from __future__ import annotations

from tmuxreap.profiles import load_profiles

AGENTS = load_profiles(None).agents


def test_a_daemon_that_all_panes_share_is_no_agent_although_it_has_its_name() -> None:
    codex = AGENTS["codex"]
    program = "/home/a/.codex/packages/codex"
    assert codex.recognises([program], "codex", program)
    assert codex.recognises([program, "resume", "0199"], "codex", program)
    assert not codex.recognises([program, "app-server", "--listen", "unix://", "--managed-daemon"], "codex", program)
    assert not codex.recognises([program, "app-server", "daemon", "pid-update-loop"], "codex", program)
