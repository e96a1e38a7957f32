"""One ending at a time, even in a long-lived process: what it could not finish is released, not
owned permanently."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from signal import SIGHUP, SIGTERM

import pytest

from tests.fakes import OWN_PID, FakeProcess, Story
from tmuxreap.commands import adopt, stop
from tmuxreap.commands.adopt import AdoptRequest
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.stop import EndRequest
from tmuxreap.core import faults
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb, ProcessId, Row, SetOption
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.records import NewIntent, PaneOption
from tmuxreap.proof.sight import Sight
from tmuxreap.sessions.look import Sights
from tmuxreap.system import files

OTHER_PID = 99_000


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    new = Story(tmp_path)
    yield new
    faults.arm("")
    new.close()


def only(result: Result) -> dict[str, object]:
    (item,) = result.results
    return item.as_json()


def unwritten_stop(story: Story) -> None:
    story.agent()
    faults.arm("temp_written=ENOSPC")
    assert only(story.stop(reason="night"))["outcome"] == "failed"
    faults.arm("")


def test_a_stop_after_one_that_could_not_be_written_does_not_wait_for_itself(story: Story) -> None:
    """In one process, like a server: the owner of the open intent lives, but no longer works on
    it."""
    unwritten_stop(story)
    assert story.row()["status"] == "running"
    assert (only(story.stop())["outcome"], story.row()["status"]) == ("stopped", "stopped")
    assert story.app().books.open_intents() == {}


def test_a_stop_does_not_wait_for_an_intent_that_could_not_be_closed(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tmuxreap.ledger.books.Books.release", lambda self, numbers: None)
    unwritten_stop(story)
    assert story.app().books.open_intents()["acme"].owner.pid == OWN_PID
    assert only(story.stop())["outcome"] == "stopped"


def test_reconcile_finishes_an_unwritten_stop_while_its_owner_lives(story: Story) -> None:
    unwritten_stop(story)
    story.processes.add("tmuxreap", pid=OTHER_PID)
    reconcile.run(story.app(OTHER_PID))
    row = story.row()
    assert (row["status"], row["stop_reason"], row["termination_mode"]) == (
        "stopped",
        "night",
        "graceful",
    )
    assert reconcile.run(story.app(OTHER_PID)).as_json()["drifts"] == []


def test_an_interrupted_stop_has_no_owner_either(story: Story) -> None:
    story.agent(leaves=False, ignores={SIGHUP, SIGTERM})

    def interrupt() -> None:
        raise KeyboardInterrupt

    story.processes.after(1.0, interrupt)
    result = story.stop()
    assert (int(result.exit), only(result)["error"]["code"]) == (130, "interrupted")  # type: ignore[index]
    assert only(story.stop(grace_s=0.1))["outcome"] == "stopped"


def test_an_interrupt_between_the_file_and_the_answer_changes_neither(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer says what the file says."""
    story.agent()
    story.ledger().close()  # its file is there: only the registry's is brought to the disk
    sync = files.sync_folder

    def interrupted(folder: Path) -> None:
        sync(folder)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(files, "sync_folder", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = story.stop()
    finally:
        signal.signal(signal.SIGINT, before)
    assert (only(result)["outcome"], story.row()["status"]) == ("stopped", "stopped")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGINT, signal.SIGTERM} == set()


def test_a_stop_taken_over_exits_like_its_taker(story: Story) -> None:
    """The caller asked for an end: only the taker knows whether there was one."""
    agent = story.agent(leaves=False, ignores={SIGHUP, SIGTERM}, unkillable=True)
    story.processes.add("tmuxreap", pid=OTHER_PID)
    story.processes.after(1.0, lambda: story.kill(pid=OTHER_PID, grace_s=0) and None)
    result = story.stop()
    assert only(result)["outcome"] == "taken_over"
    assert (int(result.exit), only(result)["error"]["code"]) == (1, "kill_failed")  # type: ignore[index]
    assert story.processes.alive(agent.process)


def test_a_stop_whose_taker_died_is_no_success(story: Story) -> None:
    story.agent(leaves=False, ignores={SIGHUP, SIGTERM})
    story.processes.add("tmuxreap", pid=OTHER_PID)

    def take_over_and_die() -> None:
        faults.arm("proven=EIO")  # a crash, from its row's view
        with pytest.raises(OSError, match="Input/output"):
            story.kill(pid=OTHER_PID, grace_s=0)
        faults.arm("")
        story.processes.die(story.processes.identify(OTHER_PID) or ProcessId(0, 0))

    story.processes.after(4.0, take_over_and_die)
    result = story.stop()
    assert (only(result)["outcome"], int(result.exit)) == ("taken_over", 1)
    assert "reconcile" in only(result)["error"]["hint"]  # type: ignore[index]
    reconcile.run(story.app())
    assert (story.row()["status"], story.row()["termination_mode"]) == ("stopped", "kill")


def test_a_row_adopted_during_a_stop_still_means_the_ended_session(
    story: Story,
) -> None:
    """An adoption adds pane fields missing in our row: the session is the same, and is gone."""
    story.agent(exit_delay_s=1.0)
    story.processes.after(
        0.5, lambda: adopt.run(story.app(OTHER_PID), AdoptRequest("acme", "demo")) and None
    )
    story.processes.add("tmuxreap", pid=OTHER_PID)
    answer = only(story.stop())
    assert (answer["outcome"], answer["warnings"]) == ("stopped", [])
    assert story.row()["status"] == "stopped"
    assert "created_epoch" in story.row()["pane"]  # type: ignore[operator]


def died_in_the_middle(
    story: Story, pid: int, options: tuple[PaneOption, ...], verb: str = "stop"
) -> None:
    facts = {"socket": story.SOCKET, "server": None, "agent": "demo", "marks": ["mark-of-acme"]}
    plan = json.dumps(facts)
    with story.ledger() as ledger:
        owner = ProcessId(pid, 1)  # of no process
        new = NewIntent(
            "acme", verb, "night", "session", owner, story.BOOT, story.clock.now(), options, plan
        )
        ledger.begin_intents(
            [new], owner_alive=lambda intent: False, take_over=False, now=story.clock.now()
        )


def test_a_pane_option_of_the_first_of_two_dead_owners_is_still_put_back(
    story: Story,
) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP, SIGTERM})
    agent.pane.options["remain-on-exit"] = "on"
    kept = PaneOption(story.SOCKET, agent.pane.now.id, "remain-on-exit", None)
    died_in_the_middle(story, 700, (kept,))
    died_in_the_middle(story, 701, ())
    reconcile.run(story.app())
    assert agent.pane.options == {}


def test_ending_what_a_dead_start_made_restores_its_tmux_option(story: Story) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP, SIGTERM})
    story.tmux.do(story.SOCKET, [SetOption(agent.pane.now.id, "remain-on-exit", "on")])
    died_in_the_middle(story, 700, (), "start")
    answer = only(story.kill(force=False))
    assert (answer["outcome"], agent.pane.options) == ("survived", {})


def test_a_session_ended_while_it_is_adopted_is_reported_as_not_there(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = story.agent()

    def look_too_late(sights: Sights, row: Row) -> Sight:
        story.processes.die(agent.process)
        return of_row(sights, row)

    of_row = Sights.of_row
    monkeypatch.setattr(Sights, "of_row", look_too_late)
    with pytest.raises(Failure) as failed:
        adopt.run(story.app(), AdoptRequest("acme", "demo"))
    assert failed.value.code is Code.SESSION_NOT_REGISTERED


class Heard:
    """Records progress reports."""

    live = False

    def __init__(self) -> None:
        self.said: list[str] = []

    def waits(self, name: str, why: str) -> None:
        self.said.append(f"{name}: {why}")

    def strays(self, name: str, programs: Sequence[str]) -> None:
        self.said.append(f"{name}: also {', '.join(programs)}")

    def begin(self, total: int) -> None: ...
    def rung(self, name: str, rung: object) -> None: ...
    def turn(self, name: str) -> None: ...
    def done(self, name: str) -> None: ...
    def draw(self) -> None: ...


def test_a_plan_names_background_processes_that_would_be_ended(story: Story) -> None:
    """A database, an editor's server: unexpected in an agent's pane."""
    agent = story.agent()
    mark = {"TMUXREAP_ID": "mark-of-acme"}
    helper = story.processes.add("mcp-server", parent=agent.process)
    left = story.processes.add("redis-server", new_session=True, environ=mark)
    below = story.processes.add("worker", parent=left)
    spared = story.processes.add("gvim", new_session=True, environ=mark)
    app, heard = story.app(), Heard()
    app.progress = heard
    stop.run(app, EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop")))
    assert heard.said == [f"acme: also redis-server ({left.pid})"]
    alive = {one for one in (helper, left, below, spared) if story.processes.alive(one)}
    assert alive == {spared}


def another_stop(story: Story, deadline_s: float, state: str = "S") -> FakeProcess:
    """A stop in progress in another process."""
    owner = story.processes.add("tmuxreap", pid=OTHER_PID)
    process = story.processes.table[OTHER_PID]
    process.now = replace(process.now, state=state)
    plan = json.dumps({"socket": story.SOCKET})
    with story.ledger() as ledger:
        deadline = story.clock.now() + deadline_s
        new = NewIntent("acme", "stop", "night", "agent", owner, story.BOOT, deadline, (), plan)
        ledger.begin_intents(
            [new], owner_alive=lambda intent: True, take_over=False, now=story.clock.now()
        )
    return process


def test_joining_a_suspended_stop_reports_it(story: Story) -> None:
    story.agent()
    another_stop(story, 40.0, "T")
    heard = Heard()
    app = story.app(progress=heard)
    (item,) = stop.run(app, EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop"))).results
    answer = item.as_json()
    (message,) = heard.said
    assert "is suspended" in message
    assert "tmuxreap kill acme" in message
    error = answer["error"]
    assert (error["code"], "kill acme" in error["hint"]) == ("still_running", True)  # type: ignore[index]
    assert only(story.kill())["outcome"] == "killed"


def test_joining_a_suspended_stop_without_a_progress_line_answers(story: Story) -> None:
    """As a caller from Python or MCP."""
    story.agent()
    another_stop(story, 2.0, "T")
    answer = only(story.stop())
    assert (answer["outcome"], answer["error"]["code"]) == ("failed", "still_running")  # type: ignore[index]


def test_waiting_for_a_start_does_not_wait_for_a_stop(story: Story) -> None:
    story.agent()
    another_stop(story, 40.0)
    app, before = story.app(), story.clock.monotonic()
    app.active.wait_for_start("acme", lock_held=True)
    app.active.wait_for_start("acme", lock_held=False)
    assert story.clock.monotonic() == before


def test_joining_waits_no_longer_than_the_owners_deadline(story: Story) -> None:
    agent = story.agent()
    another_stop(story, 2.0)
    before = story.clock.monotonic()
    answer = only(story.stop())
    assert (answer["outcome"], answer["error"]["code"]) == ("failed", "still_running")  # type: ignore[index]
    assert "did not end in its time" in answer["error"]["message"]  # type: ignore[index]
    assert story.clock.monotonic() - before < 3.0
    assert agent.heard == []


def test_an_option_of_tmuxreap_is_put_back_though_tmux_hung_in_the_middle(story: Story) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP, SIGTERM})
    story.processes.after(1.0, lambda: story.tmux.hung.add(story.SOCKET))
    assert only(story.stop())["outcome"] == "failed"
    assert agent.pane.options == {"remain-on-exit": "on"}
    story.tmux.hung.clear()
    story.processes.add("tmuxreap", pid=OTHER_PID)
    reconcile.run(story.app(OTHER_PID))
    assert agent.pane.options == {}
    assert story.app().books.open_intents() == {}


def test_the_next_stop_restores_the_option_too(story: Story) -> None:
    agent = story.agent(leaves=False, ignores={SIGHUP, SIGTERM})
    story.processes.after(1.0, lambda: story.tmux.hung.add(story.SOCKET))
    story.stop()
    story.tmux.hung.clear()
    assert only(story.kill(force=False))["outcome"] == "survived"
    assert agent.pane.options == {}


def test_processes_that_an_interrupted_stop_found_are_not_called_gone(story: Story) -> None:
    """Its session was the only evidence of it: other tools record a pid without its start."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    ignored = {SIGHUP, SIGTERM}
    (pane,) = story.tmux.open(story.SOCKET, "odd", "odd-one", ignores=ignored).panes
    story.add_row({"name": "odd", "status": "running", "pane": {"pid": pane.process.pid}})
    story.processes.after(1.0, interrupt)
    with contextlib.suppress(KeyboardInterrupt):
        story.stop("odd")
    story.processes.add("tmuxreap", pid=OTHER_PID)
    reconcile.run(story.app(OTHER_PID))
    assert story.row("odd")["status"] == "running"
    assert only(story.kill("odd"))["stopped_by"] == "sigkill"
