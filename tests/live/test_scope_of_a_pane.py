"""A pane with its own control group: what left it in every other way is still in the group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import control_groups
from tests.real import DEMO, Real, alive, answer, until

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(control_groups.place() is None, reason="no control group can be made here"),
]


@pytest.fixture
def scope() -> Iterator[Path]:
    with control_groups.group() as made:
        yield made


def stranger(folder: Path) -> str:
    """Return a command that starts a process with no trace of its pane: no terminal, parent,
    environment or descriptor. It records its pid."""
    script, pid = folder / "stranger.sh", folder / "stranger"
    work = f"echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 600"
    script.write_text(f"cd /\nsetsid -f sh -c '{work}'\n")
    return f"env -i setsid -f sh {script} </dev/null >/dev/null 2>&1"


def begun(folder: Path) -> int:
    until("the stranger", (folder / "stranger").exists)
    return int((folder / "stranger").read_text())


def start_in(real: Real, scope: Path, name: str = "acme") -> int:
    """Start an agent in the scope with such a detached child; return the child's pid."""
    folder = real.folder / name
    folder.mkdir()
    enter = f"echo $$ >{scope}/{control_groups.MEMBERS}"
    words = f"{enter}; {stranger(folder)}; exec {' '.join(DEMO)}"
    real.start(name, command=["sh", "-c", words])
    return begun(folder)


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_child_that_nothing_else_ties_to_the_pane_is_ended(
    real: Real, scope: Path, verb: str
) -> None:
    child = start_in(real, scope)
    real.bystander()
    assert {one["pid"]: one["why"] for one in real.show()["processes"]}[child] == "scope"
    result = answer(real.stop() if verb == "stop" else real.kill())
    assert result["error"] is None
    assert child in [one["pid"] for one in result["swept"]]
    assert not alive(child)
    assert real.sessions() == {"quiet"}


def test_a_group_that_is_called_otherwise_is_no_evidence(real: Real) -> None:
    """A slice, a service, a login's scope: these contain other processes, too."""
    with control_groups.group("tmux-shared.slice") as shared:
        child = start_in(real, shared)
        assert answer(real.stop())["outcome"] == "stopped"
        assert alive(child)


def test_a_neighbour_in_a_group_of_his_own_lives(real: Real, scope: Path) -> None:
    child = start_in(real, scope)
    with control_groups.group() as his:
        neighbour = start_in(real, his, "beta")
        assert answer(real.stop())["outcome"] == "stopped"
        assert not alive(child)
        assert (alive(neighbour), alive(real.pid("beta"))) == (True, True)


def test_another_server_that_was_started_in_the_pane_keeps_what_is_its_own(
    real: Real, scope: Path
) -> None:
    """That server creates no groups: the processes of its panes are in our pane's group."""
    inner, his = f"{Path(real.socket).parent}/i", real.folder / "his"
    his.write_text(f"{stranger(real.folder)}\nsleep 600\n")
    begin = f"env -u TMUX tmux -f /dev/null -S {inner} new-session -d -s his sh {his}"
    enter = f"echo $$ >{scope}/{control_groups.MEMBERS}"
    words = ["sh", "-c", f"{enter}; {begin}; exec {' '.join(DEMO)}"]
    real.start(command=words, confirm_s=1.0)  # the other server starts first
    child = begun(real.folder)
    told = real.tmux("list-panes", "-a", "-F", "#{pid} #{pane_pid}", socket=inner)
    agent, (server, leader) = real.pid(), map(int, told.split())
    assert {agent, server, leader, child} <= set(control_groups.members(scope))
    try:
        assert answer(real.stop())["outcome"] == "stopped"
        assert (alive(agent), alive(server), alive(leader), alive(child)) == (
            False,
            True,
            True,
            True,
        )
    finally:
        real.tmux("kill-server", socket=inner)
