"""What a row launched in its agent's daemon: listed below it, and ended with it only on demand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.background import TWO, Daemon
from tests.live.test_background import listed
from tests.real import Real, alive, answer
from tmuxreap.commands import stop
from tmuxreap.core.model import EndVerb
from tmuxreap.ending.policy import Policy

pytestmark = pytest.mark.live


@pytest.fixture
def daemon(real: Real) -> Iterator[Daemon]:
    found = Daemon(real)
    yield found
    found.close()


def test_a_session_that_a_row_launched_is_listed_below_it(real: Real, daemon: Daemon) -> None:
    real.start()
    parent = real.session_file()["sessionId"]
    daemon.begin(own=TWO, launched_by=parent)
    told = [(it.name, it.depth, it.seat) for it in listed(real, tree=True).results]  # type: ignore[attr-defined]
    assert told == [("acme", 0, "%0"), ("acme/w1", 1, "demo:w1")]
    assert real.show("acme/w1")["parent"] == "acme"


def test_a_child_is_ended_alone_and_its_parent_continues(real: Real, daemon: Daemon) -> None:
    real.start()
    pid = daemon.begin(own=TWO, launched_by=real.session_file()["sessionId"])
    result = answer(real.stop("acme/w1"))
    assert (result["error"], result["stopped_by"], alive(pid)) == (None, "daemon", False)
    assert (list(real.rows()), real.row()["status"], daemon.told()) == (["acme"], "running", [])


def test_the_end_of_a_parent_names_what_it_launched(real: Real, daemon: Daemon) -> None:
    real.start()
    pid = daemon.begin(own=TWO, launched_by=real.session_file()["sessionId"])
    real.say("hello")
    (warning,) = answer(real.stop())["warnings"]
    assert warning.startswith("children_running: it launched the background session w1")
    assert alive(pid)
    # also when the parent is gone
    assert answer(real.stop("acme/w1"))["error"] is None


def test_a_tree_is_ended_with_what_it_launched(real: Real, daemon: Daemon) -> None:
    real.start()
    pid = daemon.begin(own=TWO, launched_by=real.session_file()["sessionId"])
    request = stop.EndRequest(("tree:acme",), Policy(EndVerb.STOP, "manual_stop"), yes=True)
    with real.app() as app:
        items = stop.run(app, request).results
    assert [(it.name, it.error) for it in items] == [("acme", None), ("acme/w1", None)]
    assert not alive(pid)


def test_all_means_rows_alone(real: Real, daemon: Daemon) -> None:
    real.start()
    pid = daemon.begin(own=TWO, launched_by=real.session_file()["sessionId"])
    request = stop.EndRequest(("all",), Policy(EndVerb.STOP, "manual_stop"), yes=True)
    with real.app() as app:
        items = stop.run(app, request).results
    assert ([it.name for it in items], alive(pid)) == (["acme"], True)
