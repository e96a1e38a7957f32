"""Completion offers the hosts of hosts.yaml and connects to none."""

from __future__ import annotations

from tests.hosts.conftest import Fleet


def test_hosts_and_tags_are_offered(fleet: Fleet) -> None:
    fleet.configure(
        {"never": {"via": [fleet.script("engine", f"touch {fleet.folder}/asked")], "tags": ["big"]}}
    )
    said = fleet.run("_complete", "list", "--host", "")
    offered = [line.split("\t")[0] for line in said.out.splitlines()]
    assert sorted(offered) == ["@big", "a", "all", "b", "local", "never"]
    assert not (fleet.folder / "asked").exists()
