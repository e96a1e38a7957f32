"""Two registries on one tmux server: the other one's session is neither reported, nor adopted, nor
ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.real import CONFIRM_S, DEMO, Real, alive, answer
from tmuxreap.commands import adopt, start
from tmuxreap.commands.doctor.doctor import run as doctor
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Result
from tmuxreap.sessions.registries import project_of

pytestmark = pytest.mark.live


@pytest.fixture
def other(real: Real, tmp_path: Path) -> Real:
    """Another project on the same server, with its own session."""
    folder = tmp_path / "other"
    folder.mkdir()
    other = Real(real.socket, folder)
    other.start("theirs")
    real.start()
    return other


def drifts(real: Real) -> dict[str, str]:
    with real.app() as app:
        found: Any = reconcile.run(app).as_json()["drifts"]
    return {one["name"]: one["drift"] for one in found}


def adopted(real: Real, name: str = "theirs", *, force: bool = False) -> Result:
    with real.app() as app:
        return adopt.run(app, adopt.AdoptRequest(name, "demo", real.socket, force=force))


def refused(result: Result) -> Failure:
    (item,) = result.results
    assert item.error is not None
    assert (Code.of(item.error.code), result.exit) == (Code.REGISTERED_ELSEWHERE, Exit.FAILED)
    assert item.as_json()["outcome"] == "refused"
    return item.error


def names(failure: Failure, other: Real, verb: str) -> bool:
    return str(other.registry) in failure.message and failure.hint.endswith(
        f"tmuxreap {verb} theirs --registry {other.registry}"
    )


def test_a_session_of_another_project_is_no_drift(real: Real, other: Real) -> None:
    assert (drifts(real), drifts(other)) == ({}, {})
    with real.app() as app:
        said = [str(item.as_json()) for item in doctor(app).results]
    assert not [line for line in said if "theirs" in line]


def test_a_session_of_another_project_is_adopted_only_by_force(real: Real, other: Real) -> None:
    failure = real.fails(lambda: adopted(real))
    assert failure.code is Code.REGISTERED_ELSEWHERE
    assert names(failure, other, "show")
    assert "theirs" not in real.rows()
    assert adopted(real, force=True).exit is Exit.OK
    pid = other.pid("theirs")
    for end in (real.stop, real.kill):
        assert names(refused(end("theirs")), other, "stop" if end == real.stop else "kill")
    assert alive(pid)
    assert (real.row("theirs")["status"], other.row("theirs")["status"]) == ("running", "running")
    assert drifts(other) == {}


def test_a_stop_from_here_is_answered_with_the_project_that_has_it(real: Real, other: Real) -> None:
    """Neither adopt nor --unregistered would do: both are refused."""
    link_default(real)
    (item,) = real.stop("theirs").results
    assert item.error is not None
    assert item.error.code == "session_not_registered"
    assert item.error.message == (
        f"could not find 'theirs' in this registry: it runs for {project_of(other.registry)}"
    )
    assert f"tmuxreap show theirs --registry {other.registry}" in item.error.hint
    assert "adopt" not in item.error.hint


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_session_of_another_project_is_not_ended_as_unregistered(
    verb: str, real: Real, other: Real
) -> None:
    end = real.stop if verb == "stop" else real.kill
    link_default(real)
    assert names(refused(end("theirs", unregistered=True)), other, verb)
    assert alive(other.pid("theirs"))


def test_a_session_of_another_project_is_not_replaced_by_a_start(real: Real, other: Real) -> None:
    wish = start.StartRequest(
        "theirs",
        "demo",
        cwd=str(real.folder),
        server=real.socket,
        confirm_s=CONFIRM_S,
        command=tuple(DEMO),
        replace=True,
    )
    pid = other.pid("theirs")
    with real.app() as app:
        failure = real.fails(lambda: start.run(app, wish))
    assert failure.code is Code.REGISTERED_ELSEWHERE
    assert alive(pid)
    assert other.row("theirs")["status"] == "running"


def test_a_row_that_another_tool_wrote_here_changes_nothing(real: Real, other: Real) -> None:
    """Its name and agent would match a session without a mark."""
    row = f"  - {{name: theirs, status: running, agent: demo, tmux_server: {real.socket}}}\n"
    real.registry.write_text(real.registry.read_text() + row)
    assert names(refused(real.stop("theirs")), other, "stop")
    assert alive(other.pid("theirs"))


def test_an_ended_row_of_that_name_is_no_drift_either(real: Real, other: Real) -> None:
    row = f"  - {{name: theirs, status: stopped, agent: demo, tmux_server: {real.socket}}}\n"
    real.registry.write_text(real.registry.read_text() + row)
    assert drifts(real) == {}


@pytest.mark.parametrize("how", ["ended", "forgotten", "no registry"])
def test_a_session_without_a_running_row_elsewhere_can_be_adopted(
    how: str, real: Real, other: Real
) -> None:
    if how == "ended":
        other.edit("status: running", "status: stopped")
    elif how == "forgotten":
        other.registry.write_text("tmux_sessions: []\n")
    else:
        other.registry.unlink()
    assert drifts(real) == {"theirs": "unregistered"}
    assert adopted(real).exit is Exit.OK
    assert answer(real.stop("theirs"))["outcome"] == "stopped"


def test_a_row_without_its_identity_is_known_by_its_mark(real: Real, other: Real) -> None:
    """Another tool rewrote the registry, without the fields that it does not know."""
    row = f"- {{name: theirs, status: running, agent: demo, tmux_server: {real.socket}}}"
    other.registry.write_text(f"tmux_sessions:\n{row}\n")
    assert drifts(real) == {}


def test_an_inherited_mark_does_not_count(real: Real, other: Real) -> None:
    """The environment of the server, or of an agent that creates sessions, is inherited by all."""
    mark = next(
        line
        for line in real.tmux("show-environment", "-t", "=theirs").splitlines()
        if line.startswith("TMUXREAP_ID=")
    )
    for word in (mark, f"TMUXREAP_REGISTRY={other.registry}"):
        real.tmux("set-environment", "-g", *word.split("=", 1))
    real.tmux("new-session", "-d", "-s", "stray", *DEMO)
    real.shows("stray", "demo agent · conversation")
    assert drifts(real) == {"stray": "unregistered"}
    assert adopted(real, "stray").exit is Exit.OK
    assert answer(real.stop("stray"))["outcome"] == "stopped"


def link_default(real: Real) -> None:
    """Make the private server the default one of its folder."""
    folder = Path(os.environ["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}"
    folder.mkdir(mode=0o700)
    (folder / "default").symlink_to(real.socket)
