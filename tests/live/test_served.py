"""Sessions that an agent's own server runs while they are at work: listed, adopted, ended by its
own call, and proven by its own answer."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests import served, stub_server
from tests.background import ONE, TWO, said
from tests.real import PATIENCE_S, Real, answer, until
from tests.served import Server
from tmuxreap.agents.conversations import lists
from tmuxreap.commands import adopt, attach, interrupt, stop
from tmuxreap.commands import list as listing
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import EndVerb
from tmuxreap.core.ports import Processes
from tmuxreap.core.results import Result
from tmuxreap.ending.policy import Policy
from tmuxreap.system.processes.linux import LinuxProcesses

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may be busy: a server that answers is waited for."""
    monkeypatch.setattr("tmuxreap.agents.conversations.lists.ANSWER_S", PATIENCE_S)


@pytest.fixture(params=["http", "socket"])
def server(real: Real, request: pytest.FixtureRequest) -> Iterator[Server]:
    found = Server(real, request.param)
    yield found
    found.kill()


@pytest.fixture
def http(real: Real) -> Iterator[Server]:
    found = Server(real, "http")
    yield found
    found.kill()


@pytest.fixture
def locked(real: Real) -> Iterator[Server]:
    found = Server(real, "http", DEMO_PASSWORD="open sesame")
    yield found
    found.kill()


def adopted(real: Real, seat: str = "demo:s1", name: str = "acme") -> dict[str, Any]:
    with real.app() as app:
        return answer(adopt.run(app, adopt.AdoptRequest(name, background=seat)))


def listed(real: Real, *targets: str, tree: bool = False) -> Result:
    with real.app() as app:
        return listing.run(app, listing.ListRequest(targets, tree=tree))


def test_work_of_a_server_is_listed_and_adopted(real: Real, server: Server) -> None:
    said(real)
    server.begin()
    (told,) = listed(real).more["unregistered"]
    assert told["command"] == "tmuxreap adopt demo-s1 --background demo:s1"
    adopted(real)
    row = real.row()
    assert (row["terminal"], row["pane"]["id"]) == ("background", "s1")
    assert row["demo_conversation_id_own"] == ONE
    (one,) = real.list()
    assert (one["live"], one["state"], one["seat"]) == ("alive", "working", "demo:s1")
    assert (one["conversation_id"], one["pid"], one["drift"]) == (ONE, None, None)
    assert listed(real).more["unregistered"] == []


def test_an_idle_server_conversation_is_not_a_session(real: Real, server: Server) -> None:
    server.begin(type="idle")
    assert listed(real).more["unregistered"] == []


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_work_at_a_server_is_ended_by_a_call_and_the_server_continues(
    real: Real, server: Server, verb: str
) -> None:
    said(real)
    server.begin()
    server.mode(slow_s=0.3)
    adopted(real)
    result = answer(real.stop() if verb == "stop" else real.kill())
    assert (result["error"], result["stopped_by"]) == (None, "daemon")
    assert (server.working(), server.process.poll()) == ([], None)
    assert (result["conversation"]["id"], result["resumable"]) == (ONE, True)
    assert real.row()["status"] == "stopped"
    assert answer(real.stop())["outcome"] == "already_stopped"


def test_work_that_continues_is_not_called_gone(real: Real, server: Server) -> None:
    """Nor is the server signalled."""
    server.begin()
    server.mode(deaf=True)
    adopted(real)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tmuxreap.ending.plan.DAEMON_WAIT_S", 0.5)
        result = answer(real.stop())
    assert (result["outcome"], result["error"]["code"]) == ("survived", "still_running")
    assert result["error"]["hint"].endswith(", and Escape")
    assert (server.process.poll(), real.row()["status"]) == (None, "running")


def test_the_question_of_work_at_a_server_is_listed(real: Real, server: Server) -> None:
    waits = {"http": {"asks": "may I?"}, "socket": {"flags": ["may I?"]}}
    server.begin(**waits[server.transport])
    adopted(real)
    (one,) = real.list()
    assert (one["state"], one["waiting_for"]) == ("waiting", "may I?")


def test_a_session_without_work_is_found_dead(real: Real, server: Server) -> None:
    said(real)
    server.begin()
    adopted(real)
    server.end()
    with real.app() as app:
        drifts = reconcile.run(app).as_json()["drifts"]
    assert [(it["name"], it["drift"]) for it in drifts] == [("acme", "dead")]
    assert (real.row()["status"], real.row()["resumable"]) == ("terminated", True)


def test_a_session_without_its_server_is_gone(real: Real, server: Server) -> None:
    server.begin()
    adopted(real)
    server.kill()
    assert real.list()[0]["live"] == "gone"


def test_a_server_that_does_not_answer_is_unknown(real: Real, server: Server) -> None:
    server.begin()
    adopted(real)
    server.process.send_signal(signal.SIGSTOP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tmuxreap.agents.conversations.lists.ANSWER_S", 0.3)
        assert real.list()[0]["live"] == "unknown"
        assert real.fails(lambda: adopted(real, "demo:s2", "b")).code.text == "tmux_unreachable"
        assert answer(real.stop())["error"]["code"] == "tmux_unreachable"
    assert real.row()["status"] == "running"
    server.process.send_signal(signal.SIGCONT)


def test_servers_that_hang_are_waited_for_at_the_same_time(real: Real, server: Server) -> None:
    """And once in a look: by all of its rows, and by the search for those without one."""
    for number in ("s1", "s2", "s3"):
        server.begin(number, own=f"{number[1]}{ONE[1:]}")
        adopted(real, f"demo:{number}", number)
    others = [server.open() for _ in range(2 if server.transport == "http" else 0)]
    if others:
        until("their ports", lambda: all(_listens(one.pid) for one in others))
    for process in (server.process, *others):
        process.send_signal(signal.SIGSTOP)
    asked: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tmuxreap.agents.conversations.lists.ANSWER_S", HANGS_S)
        patch.setattr("tmuxreap.agents.conversations.lists.Asked", _noted(asked))
        for tree in (False, True):
            asked.clear()
            found = listed(real, tree=tree).results
            assert [it.live for it in found] == ["unknown"] * 3  # type: ignore[attr-defined]
            assert len(asked) == 1 + len(others)
            assert max(asked) - min(asked) < HANGS_S
    for process in (server.process, *others):
        process.send_signal(signal.SIGCONT)
    for process in others:
        process.kill()
        process.wait()


HANGS_S = 1.0


def _listens(pid: int) -> bool:
    processes = LinuxProcesses()
    process = processes.identify(pid)
    return process is not None and bool(processes.listens(process))


def _noted(asked: list[float]) -> type[lists.Asked]:
    """Return what asks a server, and notes when."""

    class Noted(lists.Asked):
        def __init__(self, host: lists.Serving, processes: Processes, limit_s: float) -> None:
            asked.append(time.monotonic())
            super().__init__(host, processes, limit_s)

    return Noted


def test_an_answer_that_is_no_list_is_no_session(real: Real, http: Server) -> None:
    http.begin()
    for page in ("words", [{"s1": "busy"}], 7, {"../../etc": {"type": "busy"}}):
        http.mode(page=page)
        assert listed(real).more["unregistered"] == []


def test_only_folders_with_work_are_asked_for(real: Real, http: Server) -> None:
    """Any other would be opened by the question."""
    query = "select directory from work where began >= :since_ms or changed >= :recent_ms"
    served.told_as("http", {"artifact": "all.db", "query": "select 1"}, folders=query)
    now = time.time() * 1000
    with closing(sqlite3.connect(http.store / "all.db")) as database, database:
        database.execute("create table work (directory text, began real, changed real)")
        rows = [("/long/ago", 0, 0), ("/now", now + 60_000, 0), ("/just/now", 0, now)]
        database.executemany("insert into work values (?, ?, ?)", rows)
    http.begin(directory="/now")
    (told,) = listed(real).more["unregistered"]
    assert told["name"] == "demo-s1"
    asked = {it["asked"] for it in http.asked() if "/session/status" in it["asked"]}
    wanted = {"%2Fnow", "%2Fjust%2Fnow"}
    assert asked == {f"GET /session/status?directory={one}" for one in wanted}


def test_a_look_starts_no_server(real: Real, server: Server) -> None:
    server.begin()
    adopted(real)
    server.kill()
    real.list()
    real.show()
    answer(real.stop())
    folder = f"{real.folder}/demo-server".encode()
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout
    assert folder not in left


# Whom a password is told


def test_the_password_of_the_server_itself_opens_it(real: Real, locked: Server) -> None:
    locked.begin()
    adopted(real)
    assert answer(real.stop())["error"] is None
    secret = base64.b64encode(b"demo:open sesame").decode()
    assert {it["login"] for it in locked.asked()} == {f"Basic {secret}"}


def test_the_password_is_kept_nowhere(real: Real, locked: Server) -> None:
    locked.begin()
    told = [adopted(real), *real.list(), real.show(), answer(real.stop())]
    kept = [real.registry.read_bytes(), json.dumps(told).encode()]
    with closing(sqlite3.connect(real.registry.with_suffix(".db"))) as books:
        kept.append("\n".join(books.iterdump()).encode())
    assert [one for one in kept if b"sesame" in one] == []


def test_a_program_of_another_name_is_not_asked(real: Real, http: Server) -> None:
    """It listens, and has the right words in its command line."""
    http.begin()
    http.kill()
    other = real.folder / "other-server"
    other.symlink_to(os.path.realpath(sys.executable))
    (http.store / "port").unlink()
    (http.store / "asked.jsonl").unlink(missing_ok=True)
    process = subprocess.Popen([str(other), served.STUB, "http"], cwd=real.folder)
    until("its port", (http.store / "port").exists)
    assert listed(real).more["unregistered"] == []
    assert http.asked() == []
    process.kill()
    process.wait()


def test_a_socket_of_another_program_is_not_asked(real: Real, http: Server) -> None:
    """Its place in the store says nothing of who listens there."""
    served.told_as("socket")
    other = real.folder / "other-server"
    other.symlink_to(os.path.realpath(sys.executable))
    process = subprocess.Popen([str(other), served.STUB, "socket"], cwd=real.folder)
    until("its socket", (http.store / stub_server.SOCKET.name).exists)
    http.begin()
    assert listed(real).more["unregistered"] == []
    assert http.asked() == []
    process.kill()
    process.wait()


def test_a_server_of_another_store_is_not_asked(real: Real, http: Server) -> None:
    http.begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMUXREAP_DEMO_HOME", str(real.folder / "another"))
        patch.setenv("HOME", str(real.folder))
        (real.folder / ".tmuxreap-demo").mkdir()
        (real.folder / "another").mkdir()
        assert listed(real).more["unregistered"] == []
    assert http.asked() == []


def test_a_socket_that_nobody_listens_on_is_no_server(real: Real) -> None:
    server = Server(real, "socket")
    server.begin()
    server.kill()
    assert stub_server.SOCKET.name in os.listdir(server.store)
    assert listed(real).more["unregistered"] == []


# What a row in a pane has to do with it


def test_the_end_of_a_pane_ends_what_its_server_does_for_it(real: Real, server: Server) -> None:
    real.start()
    real.say("hello")
    server.begin(own=real.session_file()["sessionId"])
    result = answer(real.kill())
    assert (result["error"], server.working()) == (None, [])
    assert [rung["name"] for rung in result["rungs"]][-1] == "daemon"
    assert [it for it in result["warnings"] if it.startswith("goes_on")] == []


def test_a_pane_whose_server_continues_has_not_ended(real: Real, server: Server) -> None:
    real.start()
    real.say("hello")
    server.begin(own=real.session_file()["sessionId"])
    server.mode(deaf=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tmuxreap.ending.plan.DAEMON_WAIT_S", 0.5)
        result = answer(real.stop())
    assert (result["outcome"], result["error"]["code"]) == ("survived", "still_running")
    assert real.row()["status"] == "running"
    server.mode()
    assert answer(real.stop())["error"] is None
    assert (server.working(), real.row()["status"]) == ([], "stopped")


def test_the_plan_names_what_its_server_does(real: Real, server: Server) -> None:
    real.start()
    real.say("hello")
    server.begin(own=real.session_file()["sessionId"])
    planned = answer(real.kill(dry_run=True))
    assert [rung["name"] for rung in planned["plan"]["rungs"]][-1] == "daemon"
    assert server.working() == ["s1"]


def test_a_row_whose_pane_is_gone_follows_what_its_server_does(real: Real, server: Server) -> None:
    real.start()
    real.say("hello")
    server.begin(own=real.session_file()["sessionId"])
    real.tmux("kill-session", "-t", "=acme")
    until("the end of its agent", lambda: real.list()[0]["drift"] == "moved")
    with real.app() as app:
        reconcile.run(app)
    assert (real.row()["terminal"], real.row()["pane"]["id"]) == ("background", "s1")
    assert answer(real.stop())["stopped_by"] == "daemon"
    assert server.working() == []


def test_work_that_an_agent_there_may_show_is_listed_once(real: Real, server: Server) -> None:
    real.start()
    server.begin(own=TWO)
    assert listed(real).more["unregistered"] == []
    answer(real.kill())
    assert [it["name"] for it in listed(real).more["unregistered"]] == ["demo-s1"]


def test_a_child_stands_below_its_row(real: Real, server: Server) -> None:
    real.start()
    server.begin("s2", own=TWO, launched_by=real.session_file()["sessionId"])
    told = [(it.name, it.seat) for it in listed(real, tree=True).results]  # type: ignore[attr-defined]
    assert told == [("acme", "%0"), ("acme/s2", "demo:s2")]
    real.say("hello")
    (warning,) = answer(real.stop())["warnings"]
    assert warning.startswith("children_running: it launched the background session s2")
    assert server.working() == ["s2"]
    policy = Policy(EndVerb.STOP, "reaped")
    request = reap.ReapRequest(kinds=(Kind.ORPHAN,), policy=policy, yes=True)
    with real.app() as app:
        kept = reap.run(app, request).more["kept"]
    assert [one.name for one in kept] == ["acme/s2"]
    assert answer(real.stop("acme/s2"))["error"] is None
    assert server.working() == []


def test_a_copy_of_its_conversation_stands_below_its_row(real: Real, server: Server) -> None:
    """As a fork that goes on when its pane has ended."""
    real.start()
    real.say("hello")
    server.begin("s2", own=TWO, copied=real.session_file()["sessionId"])
    told = [(it.name, it.seat) for it in listed(real, tree=True).results]  # type: ignore[attr-defined]
    assert told == [("acme", "%0"), ("acme/s2", "demo:s2")]
    (warning,) = answer(real.kill())["warnings"]
    assert warning.startswith(f"conversation_forked: a copy of it continues as {TWO} in")
    assert warning.endswith("end it with: tmuxreap stop acme/s2")
    result = listed(real, tree=True)
    assert [it.name for it in result.results] == ["acme", "acme/s2"]  # type: ignore[attr-defined]
    assert result.more["unregistered"] == []
    assert answer(real.stop("acme/s2"))["error"] is None
    assert server.working() == []


def test_all_work_of_a_folder_is_adopted_and_ended_at_once(real: Real, server: Server) -> None:
    for number in ("s1", "s2", "s3"):
        server.begin(number, own=f"{number[1]}{ONE[1:]}")
    with real.app() as app:
        adopt.run_all(app, adopt.AdoptAllRequest(yes=True))
    assert list(real.rows()) == ["demo-s1", "demo-s2", "demo-s3"]
    policy = Policy(EndVerb.STOP, "manual_stop")
    with real.app() as app:
        items = stop.run(app, stop.EndRequest(("all",), policy, yes=True)).results
    assert [it.error for it in items] == [None] * 3
    assert server.working() == []


def test_work_at_a_server_is_shown_by_the_agents_own_command(real: Real, http: Server) -> None:
    http.begin()
    adopted(real)
    with real.app() as app:
        words = attach.run(app, "acme")
    assert words is not None
    port = (http.store / "port").read_text()
    assert words[-2:] == ("s1", f"http://127.0.0.1:{port}")


def test_work_at_a_server_is_interrupted_by_a_call_and_not_by_a_key(
    real: Real, server: Server
) -> None:
    """Idle it runs nothing: its row ends with its turn."""
    said(real)
    server.begin()
    adopted(real)
    with real.app() as app:
        item = answer(interrupt.run(app, interrupt.InterruptRequest(("acme",))))
    assert (item["outcome"], item["keys"], item["error"]) == ("interrupted", [], None)
    assert (server.working(), server.process.poll()) == ([], None)
    assert (real.row()["status"], real.list()[0]["live"]) == ("running", "gone")


def test_an_interrupt_that_ends_no_turn_is_reported_as_failed(real: Real, server: Server) -> None:
    server.begin()
    server.mode(deaf=True)
    adopted(real)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tmuxreap.ending.ladder.turns.TURN_ENDS_S", 0.5)
        with real.app() as app:
            item = answer(interrupt.run(app, interrupt.InterruptRequest(("acme",))))
    assert (item["outcome"], item["error"]["code"]) == ("failed", "still_running")


def test_an_interrupt_names_sub_agents_that_continue(real: Real, server: Server) -> None:
    server.begin()
    server.begin("s2", own=TWO, launched_by=ONE)
    adopted(real)
    with real.app() as app:
        item = answer(interrupt.run(app, interrupt.InterruptRequest(("acme",))))
    assert item["outcome"] == "interrupted"
    (warning,) = item["warnings"]
    assert warning.startswith("children_running: it launched the background session s2")
    assert server.working() == ["s2"]


def test_an_interrupt_is_shown_before_it_is_done(real: Real, server: Server) -> None:
    server.begin()
    adopted(real)
    with real.app() as app:
        request = interrupt.InterruptRequest(("acme",), dry_run=True)
        item = answer(interrupt.run(app, request))
    assert (item["outcome"], item["state"], server.working()) == ("planned", "working", ["s1"])
