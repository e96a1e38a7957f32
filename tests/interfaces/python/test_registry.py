"""`import tmuxreap` for Python programs: typed answers, error classes, any thread, no output."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import filelock
import libtmux
import pytest

import tmuxreap
from tests.real import Real
from tests.schemas import troubles
from tmuxreap.interfaces.python import watching

DEMO = (sys.executable, "-m", "tmuxreap.demo_agent")


@pytest.fixture
def opened(registry: Path) -> tmuxreap.Registry:
    registry.write_text("""tmux_sessions:
  - name: shop
    status: running
    agent: demo
    pane: {pid: 4194305, cmd: python, cwd: /}
  - name: old
    status: stopped
    agent: demo
    stopped_at: "2026-11-18T09:12:33Z"
    stop_reason: manual_stop
""")
    return tmuxreap.open_registry()


@pytest.fixture
def live(real: Real, monkeypatch: pytest.MonkeyPatch) -> tmuxreap.Registry:
    monkeypatch.delenv("TMUXREAP_REGISTRY", raising=False)
    return tmuxreap.open_registry(real.folder / ".hermes" / "agent-sessions.yaml", create=True)


def start(registry: tmuxreap.Registry, socket: str, name: str = "shop") -> tmuxreap.Session:
    return registry.start(name, agent="demo", command=DEMO, server=socket, confirm=0.05)


def test_the_nearest_registry_is_opened(opened: tmuxreap.Registry, registry: Path) -> None:
    assert opened.path == registry
    assert [one.name for one in opened.sessions()] == ["shop", "old"]


def test_a_missing_registry_is_an_error_with_its_code(registry: Path) -> None:
    with pytest.raises(tmuxreap.RegistryError) as raised:
        tmuxreap.open_registry()
    assert raised.value.code == "registry_not_found"
    assert raised.value.hint


def test_a_registry_is_created_on_request(registry: Path) -> None:
    assert tmuxreap.open_registry(create=True).sessions() == []
    assert registry.stat().st_mode & 0o777 == 0o600


def test_a_session_has_the_fields_of_json(opened: tmuxreap.Registry) -> None:
    session = opened.session("old")
    assert isinstance(session, tmuxreap.Session)
    assert (session.status, session.stop_reason, session.alive) == ("stopped", "manual_stop", False)


def test_an_unknown_name_raises_not_found(opened: tmuxreap.Registry) -> None:
    with pytest.raises(tmuxreap.NotFoundError) as raised:
        opened.session("nobody")
    assert raised.value.code == "session_not_registered"


def test_an_ending_names_its_error_and_raises_it_on_demand(opened: tmuxreap.Registry) -> None:
    ending = opened.stop("nobody")
    assert not ending.ok
    assert ending.error is not None
    assert ending.error.code == "session_not_registered"
    with pytest.raises(tmuxreap.NotFoundError) as raised:
        opened.stop(["old", "nobody"], check=True)
    assert [one.outcome for one in raised.value.results] == ["already_stopped", "failed"]  # type: ignore[attr-defined]


def test_a_broken_registry_is_in_each_ending(opened: tmuxreap.Registry) -> None:
    opened.path.write_text("tmux_sessions: [")
    ending = opened.stop("shop")
    assert ending.error is not None
    assert ending.error.code == "registry_invalid"
    with pytest.raises(tmuxreap.RegistryError):
        opened.stop("shop", check=True)


def test_a_word_for_several_needs_a_list(opened: tmuxreap.Registry) -> None:
    with pytest.raises(tmuxreap.UsageError):
        opened.stop("all")
    assert [one.outcome for one in opened.stop(["all"])] == ["stopped"]


def test_a_set_is_named_at_the_end_and_resumed_by_name(opened: tmuxreap.Registry) -> None:
    (ended,) = opened.stop(["all"], set="evening")
    assert ended.set == "evening"
    with pytest.raises(tmuxreap.Error) as refused:  # its conversation was never captured
        opened.resume(set="evening")
    assert refused.value.code == "not_resumable"
    with pytest.raises(tmuxreap.NotFoundError):
        opened.resume(set="noon")
    with pytest.raises(tmuxreap.UsageError):
        opened.stop("shop", check=True, set="last")


def test_an_unknown_option_is_a_mistake(opened: tmuxreap.Registry) -> None:
    with pytest.raises(TypeError, match="resaon"):
        opened.stop("shop", resaon="typo")  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        opened.stop(3)  # type: ignore[call-overload]


def test_reap_and_reconcile_tell_what_they_found(opened: tmuxreap.Registry) -> None:
    assert opened.reap(idle=True) == []
    done = opened.reconcile(dry_run=True)
    assert [(drift.name, drift.drift) for drift in done.drifts] == [("shop", "dead")]
    assert opened.reconcile().actions[0].action == "recorded as ended"
    assert [event.kind for event in opened.events("shop")] == ["dead"]


@pytest.mark.live
def test_a_start_records_when_a_watch_brings_it_back(
    live: tmuxreap.Registry, tmux_socket: str
) -> None:
    words = {"agent": "demo", "command": DEMO, "server": tmux_socket, "confirm": 0.05}
    with pytest.raises(tmuxreap.Error, match="restart"):
        live.start("shop", **words, restart="sometimes")
    shop = live.start("shop", **words, restart="on-failure", restart_limit="2/1m")
    assert shop.restart == "on-failure"
    assert "restart_limit: 2/1m" in live.path.read_text()
    live.kill("shop", check=True)


def test_the_python_interface_prints_nothing(
    opened: tmuxreap.Registry, capfd: pytest.CaptureFixture[str]
) -> None:
    opened.stop("shop")
    opened.reconcile()
    assert capfd.readouterr() == ("", "")


def test_signals_stay_the_programs_own(
    opened: tmuxreap.Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: object) -> None:
        raise AssertionError("a handler was set")

    monkeypatch.setattr(signal, "signal", touched)
    assert opened.stop("shop").outcome == "stopped"


@pytest.mark.live
def test_an_interruption_stays_a_keyboard_interrupt(
    live: tmuxreap.Registry, tmux_socket: str
) -> None:
    """The command line reports what was done; in a program Ctrl-C interrupts the program."""
    command = (*DEMO, "--exit-delay", "30")
    live.start("shop", agent="demo", command=command, server=tmux_socket, confirm=0.05)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        live.stop("shop", keys_timeout=30)
    assert live.session("shop").status == "running"
    assert live.kill("shop", check=True, grace=0).outcome == "killed"


def test_a_change_is_as_its_schema_says(
    opened: tmuxreap.Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_it_is(kind: type, come: object) -> object:
        return come

    monkeypatch.setattr(watching, "read", as_it_is)
    with opened.watch(settle=True) as changes:
        assert not troubles(next(changes), "watch")  # type: ignore[arg-type]


def test_a_registry_may_be_used_from_threads_and_asyncio(opened: tmuxreap.Registry) -> None:
    async def both() -> list[tmuxreap.Ending]:
        names = ("shop", "old")
        return await asyncio.gather(*(asyncio.to_thread(opened.stop, name) for name in names))

    assert [one.outcome for one in asyncio.run(both())] == ["stopped", "already_stopped"]


def test_an_open_registry_stays_small(opened: tmuxreap.Registry) -> None:
    opened.sessions()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        opened.sessions()
    assert len(os.listdir("/proc/self/fd")) <= before


# The lock


def test_the_lock_is_the_one_that_commands_take(opened: tmuxreap.Registry) -> None:
    lock = opened.lock()
    assert isinstance(lock, filelock.BaseFileLock)
    other = filelock.FileLock(f"{opened.path}.lock")
    with lock, pytest.raises(filelock.Timeout):
        other.acquire(timeout=0)
    with other, pytest.raises(filelock.Timeout):
        opened.lock(timeout=0).acquire()


def test_the_lock_is_reentrant_even_for_another_registry_object(opened: tmuxreap.Registry) -> None:
    with opened.lock(), opened.lock(), tmuxreap.open_registry(opened.path).lock():
        assert opened.lock().lock_counter == 3


def test_a_gone_session_is_recorded_inside_the_lock(opened: tmuxreap.Registry) -> None:
    with opened.lock(timeout=1):
        ending = opened.stop("shop")
        assert ending.outcome == "stopped"
        assert opened.session("shop").status == "stopped"


@pytest.mark.live
def test_no_call_waits_for_processes_inside_the_lock(
    live: tmuxreap.Registry, tmux_socket: str
) -> None:
    start(live, tmux_socket)
    with live.lock():
        for call in (live.stop, live.kill, live.resume):
            with pytest.raises(tmuxreap.LockHeld):
                call("shop")
        with pytest.raises(tmuxreap.LockHeld):
            live.start("other", agent="demo")
        assert live.session("shop").alive
    assert live.stop("shop", check=True).outcome == "stopped"


def test_another_threads_lock_is_waited_for(opened: tmuxreap.Registry) -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with opened.lock():
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    threading.Timer(0.1, release.set).start()
    assert opened.stop("shop").outcome == "stopped"
    assert release.is_set()
    holder.join()


# libtmux


@pytest.mark.live
def test_a_session_becomes_a_libtmux_session_by_its_ids(
    live: tmuxreap.Registry, tmux_socket: str
) -> None:
    session = start(live, tmux_socket)
    theirs = session.libtmux()
    assert isinstance(theirs, libtmux.Session)
    assert theirs.session_name == "shop"
    assert session.libtmux_pane().pane_id == session.pane_id
    theirs.rename_session("renamed")
    assert live.session(theirs).name == "shop"
    theirs.rename_session("shop")
    assert live.stop(session.libtmux_pane(), check=True).name == "shop"
    with pytest.raises(tmuxreap.NotFoundError):
        session.libtmux()


@pytest.mark.live
def test_objects_of_libtmux_are_targets_on_their_own_server(
    live: tmuxreap.Registry, tmux_socket: str
) -> None:
    start(live, tmux_socket)
    theirs = libtmux.Server(socket_path=tmux_socket).sessions[0]
    elsewhere = libtmux.Server(socket_path=f"{tmux_socket}2")
    stranger = elsewhere.new_session("shop", window_command="sleep 100")
    try:
        assert stranger.session_id == theirs.session_id
        ending = live.stop(stranger)
        assert ending.error is not None
        assert ending.error.code == "session_not_registered"
        assert live.stop(theirs).outcome == "stopped"
        assert elsewhere.has_session("shop")
    finally:
        elsewhere.kill()


# Streams


@pytest.mark.live
def test_watch_reports_and_writes_nothing(live: tmuxreap.Registry, tmux_socket: str) -> None:
    session = start(live, tmux_socket)
    before = live.path.read_bytes()
    with live.watch() as changes:
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        assert next(change for change in changes if change.event == "dead").name == "shop"
    assert live.path.read_bytes() == before
    assert list(changes) == []
    with live.watch(settle=True) as changes:
        assert next(change for change in changes if change.event == "dead").name == "shop"
    assert live.session("shop").status == "terminated"


def test_a_stream_ends_when_nobody_holds_it(opened: tmuxreap.Registry) -> None:
    before = threading.active_count()
    stream = opened.watch()
    assert next(stream).drift == "dead"
    del stream
    until = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_stream_raises_what_went_wrong(opened: tmuxreap.Registry) -> None:
    opened.path.write_text("tmux_sessions: [")
    with pytest.raises(tmuxreap.RegistryError):
        next(opened.watch())


def test_events_are_followed_from_any_thread(opened: tmuxreap.Registry) -> None:
    opened.stop("shop")

    async def first() -> tmuxreap.Event:
        with opened.follow("shop") as events:
            return await asyncio.to_thread(next, events)

    assert asyncio.run(first()).kind == "stopped"


@pytest.mark.live
def test_wait_returns_when_a_state_is_reached(live: tmuxreap.Registry, tmux_socket: str) -> None:
    start(live, tmux_socket)
    (idle,) = live.wait("shop", until="idle", timeout=60)
    assert (idle.name, idle.state, idle.reached) == ("shop", "idle", True)
    with pytest.raises(tmuxreap.EndingError) as raised:
        live.wait("shop", until="gone", timeout="0.1")
    assert raised.value.code == "timed_out"
    with live.lock(), pytest.raises(tmuxreap.LockHeld):
        live.wait("shop", until="gone")
    with pytest.raises(tmuxreap.UsageError):
        live.wait("shop", until="done")
    live.kill("shop", check=True)
    assert live.wait("shop", until="ended")[0].reached


# Costs


def loaded(code: str) -> set[str]:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys\nbefore=set(sys.modules)\n{code}\nprint(*(set(sys.modules)-before))",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(told.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded("import tmuxreap\ntmuxreap.__version__") == {"tmuxreap"}


def test_reading_loads_neither_libtmux_nor_filelock(opened: tmuxreap.Registry) -> None:
    code = f"import tmuxreap\ntmuxreap.open_registry({str(opened.path)!r})"
    heavy = {"libtmux", "filelock", "typer", "pydantic"}
    assert not loaded(f"{code}.sessions()") & heavy
    assert loaded(f"{code}.stop('shop')") & heavy == {"filelock"}


def test_a_module_without_that_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = tmuxreap.nothing  # type: ignore[attr-defined]


@pytest.mark.live
def test_interrupt_ends_a_turn(live: tmuxreap.Registry, tmux_socket: str) -> None:
    start(live, tmux_socket)
    (idle,) = live.interrupt("shop")
    assert (idle.name, idle.outcome, idle.state) == ("shop", "already_idle", "idle")
    with live.lock(), pytest.raises(tmuxreap.LockHeld):
        live.interrupt("shop")
    live.stop("shop", check=True)
    with pytest.raises(tmuxreap.EndingError) as raised:
        live.interrupt("shop")
    assert raised.value.code == "gone"


@pytest.mark.live
def test_send_sends_a_prompt(live: tmuxreap.Registry, tmux_socket: str) -> None:
    start(live, tmux_socket)
    sent = live.send("shop", "two\nlines", when_idle=20)
    assert (sent.name, sent.outcome, sent.submitted) == ("shop", "sent", True)
    with pytest.raises(tmuxreap.Error) as mistake:
        live.send("shop", "/exit")
    assert mistake.value.code == "usage"
    with live.lock(), pytest.raises(tmuxreap.LockHeld):
        live.send("shop", "go on")
    live.stop("shop", check=True)
    with pytest.raises(tmuxreap.EndingError) as raised:
        live.send("shop", "go on")
    assert raised.value.code == "gone"


def test_an_invalid_variable_hinders_no_call(
    opened: tmuxreap.Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUXREAP_GRACE", "soon")
    assert [one.name for one in opened.sessions()] == ["shop", "old"]
