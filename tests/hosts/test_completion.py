"""Completion offers the hosts of hosts.yaml and connects to none."""

from __future__ import annotations

from tests.hosts.conftest import Fleet


def test_hosts_and_tags_are_offered(fleet: Fleet) -> None:
    fleet.configure(
        {"never": {"via": [fleet.script("engine", f"touch {fleet.folder}/asked")], "tags": ["big"]}}
    )
    environ = {
        "_TMUXREAP_COMPLETE": "complete_bash",
        "COMP_WORDS": "tmuxreap list --host ",
        "COMP_CWORD": "3",
    }
    offered = fleet.run(environ=environ).out.split()
    assert sorted(offered) == ["@big", "a", "all", "b", "local", "never"]
    assert not (fleet.folder / "asked").exists()
