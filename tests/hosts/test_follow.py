"""`watch` and `events --follow` over hosts: they only read, with or without a remote watch, and the
remote process ends with its listener."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any
from unittest.mock import Mock

import pytest

from tests.hosts.conftest import PROGRAM, Fleet
from tests.real import until
from tmuxreap.hosts.file import Host
from tmuxreap.hosts.talk import EndedError
from tmuxreap.hosts.wire import Line, Say, WireRequest
from tmuxreap.interfaces.remote import near


class Listener:
    """A long-running verb, with its output so far."""

    def __init__(self, fleet: Fleet, *words: str) -> None:
        self.process = fleet.begin(*words, "--json")
        self.events: list[dict[str, Any]] = []
        self.talk: list[str] = []
        self.readers: list[threading.Thread] = []
        for stream, take in (
            (self.process.stdout, self._take),
            (self.process.stderr, self.talk.append),
        ):
            reader = threading.Thread(target=_read, args=(stream, take), daemon=True)
            reader.start()
            self.readers.append(reader)

    def _take(self, line: str) -> None:
        data = json.loads(line)
        if "results" not in data:  # after an interrupt, the last line is an envelope
            self.events.append(data)

    def has(self, name: str, event: str) -> bool:
        return any((one["name"], one.get("event")) == (name, event) for one in self.events)

    def leave(self, number: signal.Signals = signal.SIGINT) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(30)
        for reader in self.readers:
            reader.join(30)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _read(stream: Any, take: Callable[[str], Any]) -> None:
    for line in stream:
        take(line)


@contextlib.contextmanager
def listening(fleet: Fleet, *words: str) -> Iterator[Listener]:
    listener = Listener(fleet, *words)
    try:
        yield listener
    finally:
        listener.leave()


def remote_processes(fleet: Fleet, host: str, word: str) -> list[int]:
    """Return the host's processes whose command line ends with this word."""
    home = f"HOME={fleet.home(host)}".encode()
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")[:-1]
            if words[-1:] == [word.encode()] and home in (path / "environ").read_bytes():
                pids.append(int(path.name))
    return pids


@pytest.fixture
def living(fleet: Fleet) -> Iterator[Fleet]:
    """An agent running on host `a`."""
    started = fleet.run("start", "live", "--agent", "demo", "--host", "a", "--yes", "--json")
    assert started.exit == 0, started
    yield fleet
    environ = {**os.environ, "TMUX_TMPDIR": f"{fleet.home('a')}/t"}
    subprocess.run(["tmux", "kill-server"], env=environ, capture_output=True, check=False)


def test_a_death_is_reported_where_no_watch_runs_and_nothing_is_written(living: Fleet) -> None:
    pid = living.rows("a")["live"]["pane"]["pid"]
    with listening(living, "watch", "--host", "a,b") as listener:
        until("the far looks", lambda: len(remote_processes(living, "a", "at")) == 1)
        until("what is dead already", lambda: listener.has("web", "dead"))
        before = living.registry("a").read_bytes()
        os.kill(pid, signal.SIGKILL)
        until("the death", lambda: listener.has("live", "dead"))
        assert living.registry("a").read_bytes() == before
    (only,) = [one for one in listener.events if one["name"] == "live" and one["event"] == "dead"]
    assert (only["host"], only["target"]) == ("a", "live@a")
    assert {one["host"] for one in listener.events} == {"a", "b"}


def ends(listener: Listener) -> list[dict[str, Any]]:
    """Return its events, except for its start, which may have been a moment ago."""
    return [one for one in listener.events if one["name"] == "live" and one["event"] != "started"]


def test_a_death_settled_by_a_remote_watch_is_reported_once(living: Fleet) -> None:
    pid = living.rows("a")["live"]["pane"]["pid"]
    with (
        listening(living, "watch", "--registry", str(living.registry("a"))) as own,
        listening(living, "watch", "--host", "a") as listener,
    ):
        until("what is dead already", lambda: own.has("web", "dead"))
        until("the far looks", lambda: bool(remote_processes(living, "a", "at")))
        until("its news", lambda: bool(listener.events))
        os.kill(pid, signal.SIGKILL)
        until("the death", lambda: bool(ends(listener)))
        until("the row", lambda: living.rows("a")["live"]["status"] == "terminated")
        marker = living.run("forget", "web@a", "--yes", "--json")
        assert marker.exit == 0
        until("what came after", lambda: listener.has("web", "forgotten"))
    assert len(ends(listener)) == 1


def test_a_death_that_is_settled_there_much_later_is_reported_once(living: Fleet) -> None:
    """As by a watch there that was suspended, or is slow on a busy machine."""
    pid = living.rows("a")["live"]["pane"]["pid"]
    with listening(living, "watch", "--host", "a") as listener:
        until("what is dead already", lambda: listener.has("web", "dead"))
        os.kill(pid, signal.SIGKILL)
        until("the death", lambda: listener.has("live", "dead"))
        assert living.run("reconcile", "--host", "a", "--yes", "--json").exit == 0
        assert living.rows("a")["live"]["status"] == "terminated"
        assert living.run("forget", "web@a", "--yes", "--json").exit == 0
        until("what came after", lambda: listener.has("web", "forgotten"))
    assert len(ends(listener)) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_remote_process_ends_with_its_listener(fleet: Fleet, number: signal.Signals) -> None:
    with listening(fleet, "events", "--follow", "--host", "b") as listener:
        until("the far side", lambda: bool(remote_processes(fleet, "b", "at")))
        listener.leave(number)
    until("its end", lambda: not remote_processes(fleet, "b", "at"))


def test_a_host_that_went_away_is_reported_and_tried_again(fleet: Fleet) -> None:
    home, tried = fleet.home("b"), fleet.folder / "tried"
    text = f'[ -e {tried} ] || {{ touch {tried}; exit 255; }}; HOME={home} exec "$@"'
    fleet.configure({"b": {"via": [fleet.script("engine", text)], "program": str(PROGRAM)}})
    assert fleet.run("stop", "db", "--registry", str(fleet.registry("b"))).exit == 0
    with listening(fleet, "events", "--follow", "--host", "b") as listener:
        until("its history", lambda: bool(listener.events))
    assert "trying again in 1 s" in "".join(listener.talk)
    assert (listener.events[0]["name"], listener.events[0]["kind"]) == ("db", "stopped")


def test_watch_over_hosts_refuses_exec_reap_and_notify(fleet: Fleet) -> None:
    for flag in (["--exec", "true"], ["--reap", "idle"], ["--notify"]):
        result = fleet.run("watch", "--host", "a", *flag, "--json")
        assert (result.exit, result.json["error"]["code"]) == (2, "usage")


def test_a_line_without_an_item_is_skipped() -> None:
    lines = [
        Line(Say.ITEM, {"item": "text"}),
        Line(Say.BEAT, {"item": {"name": "beat"}}),
        Line(Say.ITEM, {"item": {"name": "a"}}),
        Line(Say.ANSWER, {}),
    ]
    talk = Mock(line=Mock(side_effect=lines))
    items = near._items(talk)
    assert next(items) == {"name": "a"}
    with pytest.raises(EndedError):
        next(items)
    talk.send.assert_called_once_with("")


def test_a_host_that_floods_is_read_no_faster_than_it_is_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(near, "MOST", 5)
    queue: Queue[near.News] = Queue(near.MOST)
    item = {"name": "a", "kind": "state"}
    endless = iter(lambda: item, None)
    monkeypatch.setattr(near, "_items", lambda talk: endless)
    monkeypatch.setattr(near, "connected", lambda *_: contextlib.nullcontext(Mock()))
    work = (Host("north"), WireRequest("1", "events"), Mock(), queue)
    threading.Thread(target=near._listen, args=work, daemon=True).start()
    for _ in range(3):
        assert len(list(near._batch(queue))) <= near.MOST + 1
