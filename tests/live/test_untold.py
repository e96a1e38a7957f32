"""Agents that do not report their conversation, or only on exit; and those that continue without
their pane."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real import DEMO, Real, alive, answer, until
from tmuxreap.commands import adopt, stop
from tmuxreap.commands import list as list_sessions
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.ending.policy import Policy

pytestmark = pytest.mark.live

BANNER = {"kind": "exit-banner", "pattern": "tmuxreap-demo --resume (?P<id>{id})"}


def told_by(*locators: object, background: dict[str, object] | None = None, **more: object) -> None:
    """Set how the demo agent's conversation is found from now on."""
    folder = Path(os.environ["XDG_CONFIG_HOME"], "tmuxreap")
    folder.mkdir()
    talk = {"locators": list(locators), **more}
    block = {"launch": [], "conversation": talk, "background": background or {}}
    (folder / "agents.yaml").write_text(json.dumps({"agents": {"demo": block}}))


def talked(real: Real, name: str = "acme") -> str:
    real.start(name)
    real.say(f"hello from {name}", name)
    return real.session_file(name)["sessionId"]


def purged(real: Real, name: str = "acme", **policy: Any) -> Result:
    request = stop.EndRequest(
        (name,), Policy(EndVerb.STOP, "manual_stop", purge=True, **policy), yes=True
    )
    with real.app() as app:
        return stop.run(app, request)


def conversations(real: Real) -> set[str]:
    return {path.stem for path in (real.store / "conversations").iterdir()}


def test_a_killed_agent_is_found_by_its_folder_and_resumed(real: Real) -> None:
    told_by("sole-candidate")
    mine = talked(real)
    killed = answer(real.kill())
    assert (killed["conversation"]["id"], killed["conversation"]["source"]) == (
        mine,
        "sole-candidate",
    )
    assert (killed["resumable"], killed["warnings"]) == (True, [])
    real.resume()
    real.shows("acme", "hello from acme")


def test_a_conversation_is_not_guessed_between_two_in_one_folder(real: Real) -> None:
    told_by("sole-candidate")
    one = talked(real)
    real.start(
        "other"
    )  # has written nothing: the only existing conversation could still be its own
    killed = answer(real.kill())
    assert (killed["conversation"]["id"], killed["resumable"]) == (None, False)
    reason = (
        f"it could be {one}, but another agent of its kind runs in its folder; none was recorded"
    )
    assert killed["warnings"] == [f"ambiguous_conversation: {reason}"]


def test_last_words_decide_between_two(real: Real) -> None:
    told_by(BANNER, "sole-candidate")
    one, two = talked(real), talked(real, "other")
    for name, mine in (("acme", one), ("other", two)):
        stopped = answer(real.stop(name))
        assert (stopped["conversation"]["id"], stopped["conversation"]["source"]) == (
            mine,
            "exit-banner",
        )
        assert (stopped["resumable"], stopped["warnings"]) == (True, [])


def test_last_words_that_the_terminal_wrapped_are_read_whole(real: Real) -> None:
    told_by(BANNER)
    mine = talked(real)
    real.tmux("resize-window", "-t", "=acme:", "-x", "60")
    assert answer(real.stop())["conversation"]["id"] == mine


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize("command", ["{demo}; sh -i", "sh -c '{demo}; sh -i; true'; true"])
def test_the_banner_is_read_below_wrapper_shells(real: Real, command: str, foreign: bool) -> None:
    """The row is ours, or another tool's with nothing but the pane's pid, command and folder."""
    told_by(BANNER)
    real.start(command=["sh", "-c", command.format(demo=shlex.join(DEMO))])
    real.say("hello")
    mine = conversations(real)
    if foreign:
        pane = {"pid": real.pid(), "cmd": "sh", "cwd": str(real.folder)}
        row = {"name": "acme", "status": "running", "agent": "demo", "tmux_server": real.socket}
        real.registry.write_text(json.dumps({"tmux_sessions": [{**row, "pane": pane}]}))
    assert real.list()[0]["live"] == "alive"
    real.submit("/exit")
    until("the shell alone", lambda: real.list()[0]["live"] == "agent_gone")
    stopped = answer(real.stop())
    assert (stopped["stopped_by"], stopped["resumable"]) == ("already_gone", True)
    assert {stopped["conversation"]["id"]} == mine


def test_last_words_make_a_purge_certain(real: Real) -> None:
    told_by(BANNER, "sole-candidate")
    mine, other = talked(real), talked(real, "other")
    assert answer(purged(real))["outcome"] == "terminated"
    assert conversations(real) == {other}
    assert mine != other


def test_a_guess_is_never_purged(real: Real) -> None:
    told_by("sole-candidate")
    mine = talked(real)
    result = purged(real)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.AMBIGUOUS_CONVERSATION
    ]
    assert (conversations(real), "acme" in real.sessions()) == ({mine}, True)


def test_without_last_words_the_session_is_ended_and_the_guess_is_kept(real: Real) -> None:
    """A purge started because the banner would name the conversation; instead came the hangup."""
    told_by({**BANNER, "pattern": "never said (?P<id>{id})"}, "sole-candidate")
    mine = talked(real)
    result = purged(real)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.AMBIGUOUS_CONVERSATION
    ]
    row = real.row()
    assert (row["status"], row["termination_mode"], row["resumable"]) == (
        "stopped",
        "graceful",
        True,
    )
    assert (conversations(real), "acme" in real.sessions()) == ({mine}, False)


ROSTER = {
    "file": "roster.json",
    "entries": "workers",
    "pid": "pid",
    "started": "start",
    "end": ["demo", "stop", "{id}"],
}


def in_the_background(real: Real, conversation: str) -> None:
    """Let another process of the user continue it."""
    worker = real.bystander()
    start = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[19]
    entry = {"pid": worker, "start": start, "resumed": conversation}
    (real.store / "roster.json").write_text(json.dumps({"workers": {"w1": entry}}))


def test_a_conversation_that_continues_is_reported_with_what_ends_it(real: Real) -> None:
    told_by(
        {"kind": "pidfile", "path": "sessions/{pid}.json", "id": "sessionId"}, background=ROSTER
    )
    in_the_background(real, talked(real))
    (warning,) = answer(real.stop())["warnings"]
    assert warning.startswith("goes_on: the conversation continues in the background session w1 (")
    assert warning.endswith("); end it with: demo stop w1")


def test_a_conversation_that_continues_is_not_purged(real: Real) -> None:
    told_by(
        {"kind": "pidfile", "path": "sessions/{pid}.json", "id": "sessionId"}, background=ROSTER
    )
    mine = talked(real)
    in_the_background(real, mine)
    result = purged(real)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.CONVERSATION_IN_USE
    ]
    assert (conversations(real), "quiet" in real.sessions()) == ({mine}, True)
    assert real.row()["termination_mode"] == "graceful"


# A conversation that its agent moved to the background, under another ID

MOVING = {
    **ROSTER,
    "conversation": "own",
    "source": "took.over",
    "parents": ["launched_by"],
    "attach": ["demo", "attach", "{id}"],
    "end": ["sh", "-c", "kill -9 $(cat ~/.tmuxreap-demo/{id}.pid)"],
}
GONE_ON = {"moved": '^{"continued": ?"(?P<id>[^"]+)"'}
PIDFILE = {"kind": "pidfile", "path": "sessions/{pid}.json", "id": "sessionId"}
AFTER = "22222222-6d0c-4f63-9b53-1d5f0c6f2a11"


def moved(real: Real, *, on_disk: bool) -> tuple[str, int]:
    """Let the agent move its conversation, as one key press does in a real one. Return the old ID,
    and the pid of the session in the background."""
    pidfile = {**PIDFILE, "started": "procStart", "parked": "parked"}
    told_by(pidfile, "launch", background=MOVING, goes_on=GONE_ON)
    old = talked(real)
    place = real.store / "conversations" / f"{old}.jsonl"
    if on_disk:
        (place.parent / f"{AFTER}.jsonl").write_text(place.read_text() + '{"role": "user"}\n')
    with place.open("a") as file:
        file.write(json.dumps({"continued": AFTER}) + "\n")
    worker = listed(real, {"own": AFTER, "took": {"over": str(place)}})
    file = real.store / "sessions" / f"{real.pid()}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "parked": "w1"}))
    return old, worker


def listed(real: Real, entry: dict[str, object]) -> int:
    worker = real.bystander()
    start = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[19]
    workers = {"w1": {"pid": worker, "start": start, **entry}}
    (real.store / "roster.json").write_text(json.dumps({"workers": workers}))
    (real.store / "w1.pid").write_text(str(worker))
    return worker


def end(worker: int) -> None:
    os.kill(worker, 9)
    until("the end of the session in the background", lambda: not alive(worker))


def warned(item: dict[str, Any]) -> list[str]:
    return [str(warning).partition(":")[0] for warning in item["warnings"]]


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_conversation_that_was_moved_is_ended_and_recorded_under_its_new_id(
    real: Real, verb: str
) -> None:
    old, worker = moved(real, on_disk=True)
    (warning,) = answer(real.stop(dry_run=True))["warnings"]
    for words in ("conversation_forked", old, AFTER, "demo attach w1"):
        assert words in warning
    result = answer(real.stop() if verb == "stop" else real.kill())
    assert (result["conversation"]["id"], result["resumable"]) == (AFTER, True)
    assert (result["error"], warned(result), alive(worker)) == (None, [], False)
    assert result["rungs"][0]["name"] == "daemon"
    assert real.row()["demo_conversation_id_own"] == AFTER
    resumed = real.resume()
    assert (resumed.get("error"), resumed["conversation_id"]) == (None, AFTER)


def test_a_copy_left_behind_counts_once_nobody_is_in_the_new_one(real: Real) -> None:
    old, worker = moved(real, on_disk=False)
    planned = answer(real.stop(dry_run=True))
    assert (warned(planned), planned["resumable"]) == (["conversation_forked"], False)
    result = answer(real.stop())
    assert (result["conversation"]["id"], result["resumable"]) == (old, True)
    assert (warned(result), alive(worker)) == ([], False)
    assert real.resume()["conversation_id"] == old  # nothing was ever said in the new one


def test_a_draft_is_kept_before_the_session_ends_in_the_background(real: Real) -> None:
    """The agent's own command clears what is half-typed in the view of the session."""
    moved(real, on_disk=True)
    real.keys("acme", "-l", "half a thought")
    real.shows("acme", "> half a thought")
    result = answer(real.stop())
    assert result["rungs"][0]["name"] == "daemon"
    assert result["draft"]["chars"] == len("half a thought")


def test_a_worker_that_its_daemon_keeps_leaves_the_pane_alone(real: Real) -> None:
    old, worker = moved(real, on_disk=False)
    (real.store / "w1.pid").write_text("no pid")
    result = answer(real.stop())
    assert (result["outcome"], result["error"]["code"]) == ("survived", "still_running")
    assert (result["resumable"], alive(worker), real.row()["status"]) == (False, True, "running")
    assert "acme" in real.sessions()
    assert old


def test_list_and_show_name_the_one_that_lives(real: Real) -> None:
    old, _ = moved(real, on_disk=True)
    assert real.list()[0]["drift"] == "moved"
    assert (real.show()["drift"], real.show()["locators"][0]["id"]) == ("moved", AFTER)
    with real.app() as app:
        (told,) = list_sessions.run(app, list_sessions.ListRequest()).warnings
        drifts = reconcile.run(app).as_json()["drifts"]
    assert told.startswith(f"conversation_forked: acme's agent continued {old} as {AFTER}")
    assert [(it["name"], it["drift"]) for it in drifts] == [("acme", "moved")]
    assert real.row()["demo_conversation_id_own"] == AFTER
    assert real.list()[0]["drift"] is None


def test_a_session_that_a_tool_launched_is_no_part_of_the_conversation(real: Real) -> None:
    told_by(PIDFILE, background=MOVING)
    mine = talked(real)
    listed(real, {"own": AFTER, "launched_by": mine})
    assert warned(answer(real.stop(dry_run=True))) == ["children_running"]
    result = answer(purged(real))
    assert (result["outcome"], warned(result)) == ("terminated", ["children_running"])


def test_a_process_of_a_session_in_the_background_is_not_adopted(real: Real) -> None:
    """It answers with the agent's own commands for it."""
    told_by(PIDFILE, background=MOVING)
    talked(real)
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as worker:
        start = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()[19]
        workers = {"w1": {"pid": worker.pid, "start": start, "own": AFTER}}
        (real.store / "roster.json").write_text(json.dumps({"workers": workers}))
        with real.app() as app:
            request = adopt.AdoptRequest("worker", "demo", pid=worker.pid)
            refused = real.fails(lambda: adopt.run(app, request))
        worker.kill()
    assert f"the process {worker.pid} is of the background session w1" in refused.message
    assert refused.hint == "tmuxreap adopt worker --background demo:w1"
