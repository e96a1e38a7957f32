"""A few seconds of the soak, and proof that its checks work: each promise is broken once on
purpose."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.soak.__main__ import Soak
from tests.soak.deeds import Check
from tests.soak.work import command_line
from tests.soak.world import DEMO, MARK, Place, World, marked

pytestmark = pytest.mark.live
SECONDS = 3.0


@pytest.fixture
def soak(no_leftovers: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Soak]:
    mark = uuid.uuid4().hex
    world = World(Path(tempfile.mkdtemp(prefix="sk", dir="/tmp")), mark)
    for name, value in {**world.mine.environ, MARK: mark, "SHELL": "/bin/sh"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))
    try:
        world.begin()
        soak = Soak(world, seed=1, share=2.0)
        yield soak
        soak.end()
    finally:
        world.end()
        shutil.rmtree(world.folder, ignore_errors=True)


def run(soak: Soak, place: Place, *words: str) -> None:
    verb = soak.deeds.begin(place, *words)
    assert verb.process.wait() == 0, verb.said()
    verb.end()


def sql(place: Place, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(place.ledger, timeout=10)) as db, db:
        db.execute(statement)


def a_byte(soak: Soak, place: Place) -> None:
    place.registry.write_bytes(place.registry.read_bytes().replace(b"[1,  2]", b"[1, 2]"))


def a_neighbour(soak: Soak, place: Place) -> None:
    os.kill(soak.checks.neighbours[place.machine.home], signal.SIGKILL)


def a_key(soak: Soak, place: Place) -> None:
    place.machine.tmux("send-keys", "-t", "=quiet:", "x")
    until = time.monotonic() + 10
    while not place.machine.heard.read_bytes() and time.monotonic() < until:
        time.sleep(0.01)


def an_option(soak: Soak, place: Place) -> None:
    place.machine.tmux("set-option", "-g", "@mine", "lost")


def a_pane_option(soak: Soak, place: Place) -> None:
    place.machine.tmux("set-option", "-p", "-t", "=p0:", "remain-on-exit", "on")


def a_process(soak: Soak, place: Place) -> None:
    os.kill(soak.world.loose, signal.SIGKILL)


def an_event(place: Place, name: str, kind: str) -> None:
    into = "INSERT INTO events (at, timestamp, name, kind, data)"
    sql(place, f"{into} VALUES (1, '', '{name}', '{kind}', '{{}}')")


def a_restart_between_two_ends(place: Place) -> None:
    for kind in ("stopped", "restarted", "dead"):
        an_event(place, "p8", kind)


def an_end_twice(soak: Soak, place: Place) -> None:
    for _ in range(2):
        an_event(place, "p7", "dead")


def a_watch(soak: Soak, place: Place) -> None:
    soak.deeds.watches["p"].process.terminate()
    soak.deeds.watches["p"].process.wait()


def a_word_twice(soak: Soak, place: Place) -> None:
    with (soak.world.folder / "watch-p").open("a") as file:
        file.write('{"event": "dead"}\n' * 2)


def a_promise(soak: Soak, place: Place) -> None:
    """Add a row that claims to be resumable, with a conversation that never existed."""
    data = place.registry.read_bytes()
    place.registry.write_bytes(data.replace(b"tags: [soak]", b"resumable: true"))


def a_prompt_twice(soak: Soak, place: Place) -> None:
    line = json.dumps({"role": "user", "text": "prompt-0-"})
    folder = place.machine.home / ".tmuxreap-demo" / "conversations"
    folder.mkdir(exist_ok=True)
    (folder / "twice.jsonl").write_text(f"{line}\n{line}\n")


def a_session_of_the_daemon(soak: Soak, place: Place) -> None:
    seats = soak.deeds.seats[place.machine.home]
    seats.ended[seats.begin()] = "ps0"


def a_server_of_an_agent(soak: Soak, place: Place) -> None:
    seats = soak.deeds.seats[soak.world.far.home]
    seats.process.kill()
    seats.process.wait()


def a_field_of_another_tool(soak: Soak, place: Place) -> None:
    soak.deeds.counted["flow"] = -1, time.time()


BROKEN: dict[str, Callable[[Soak, Place], None]] = {
    "bytes of others changed": a_byte,
    "a key reached the neighbour": a_key,
    "the neighbour": a_neighbour,
    "options changed": an_option,
    "a pane option stayed": a_pane_option,
    "a process that nobody knew": a_process,
    "ended twice": an_end_twice,
    "watch ended by itself": a_watch,
    "watch told twice": a_word_twice,
    "is resumable": a_promise,
    "came more than once": a_prompt_twice,
    "that were stopped run again": a_session_of_the_daemon,
    "the daemon was ended": a_server_of_an_agent,
    "lost what another tool wrote": a_field_of_another_tool,
}


def untrue_answers(soak: Soak, place: Place) -> Iterator[str]:
    """Let the checks of answers see some that do not agree with what is there."""
    then: list[Check] = []

    def verb(*_: object, **more: Check) -> None:
        then.append(more["then"])

    really, soak.deeds.verb = soak.deeds.verb, verb  # type: ignore[method-assign]
    soak.deeds.do_send(place, "p0")
    soak.deeds._restart(place, ["p0"])
    soak.deeds.do_resume_set(place, "p0")
    soak.deeds.verb = really  # type: ignore[method-assign]
    told = {"name": "p0", "pid": os.getpid(), "conversation_id": "no-such", "error": None}
    for check, outcome in zip(then, ("sent", "restarted", "resumed"), strict=True):
        yield from check({"results": [{**told, "outcome": outcome}]})


def test_all_promises_hold_in_a_short_soak_and_a_broken_one_is_reported(soak: Soak) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        soak.deeds.step()
    place = soak.world.places[0]
    soak.deeds.all_done()
    a_restart_between_two_ends(place)
    assert soak.checks.all() == []

    killed = soak.deeds.begin(place, "kill", "p0", "--grace", "0")
    killed.process.wait()
    killed.end()
    run(soak, place, "start", "p0", "--agent", "demo", "--tag", "soak", "--", *DEMO)
    assert list(untrue_answers(soak, place)) == [
        "it was sent, and is there 0 times",
        f"p0 runs without its conversation no-such: {command_line(os.getpid())}",
        "p0 was resumed, and its ends had the sets set()",
    ]
    for break_it in BROKEN.values():
        break_it(soak, place)
    found = soak.checks.all()
    assert [what for what in BROKEN if not any(what in one for one in found)] == [], found
    assert marked(soak.world.mark)
