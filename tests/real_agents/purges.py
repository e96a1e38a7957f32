"""`stop --purge-conversation` on each real agent: it ends, what it kept of that conversation goes
or is named, another's in the same folder is taken up afterwards as if nothing had been; and a guess
is refused before a key is sent."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench
from tests.real_agents.cases import talk
from tests.real_agents.jobs import Job
from tests.real_agents.setups import SETUPS
from tests.real_agents.stops import conversation_holds
from tmuxreap.agents.screens import State

RIVAL, OTHER = "rival", "please remember the green kettle"
PURGE = ("stop", NAME, "--purge-conversation", "--yes")
OWN_COMMAND = "the agent's own command: "


def jobs() -> Iterator[Job]:
    for agent in SETUPS:
        yield Job(agent, "purge", _played)


def _played(bench: Bench) -> str:
    bench.start()
    talk(bench)
    if bench.setup.certain_from != 1:
        _refused(bench)
        item = bench.reap("stop", NAME)
        assert item["resumable"] is bench.setup.remembers, item["conversation"]
        assert not bench.setup.remembers or conversation_holds(item, MESSAGE), item["conversation"]
    if bench.setup.certain_from is None:
        return "refused"
    if bench.setup.certain_from != 1:
        _taken_up(bench)
    return _purged(bench)


def _refused(bench: Bench) -> None:
    """Which conversation is its own is a guess: no key is sent, and no file is gone."""
    before, shown, files = _processes(bench), bench.screen(), _of(bench, MESSAGE)
    (item,) = bench.answer(*PURGE)["results"]
    assert item["error"] and item["error"]["code"] == "ambiguous_conversation", item
    assert item["purged"] == [], item
    assert (_processes(bench), bench.screen()) == (before, shown), bench.screen()
    assert files <= _of(bench, MESSAGE), files


def _taken_up(bench: Bench) -> None:
    bench.reap("resume", bench.name)
    bench.resize()
    bench.until("the empty prompt, after the resume", lambda: bench.seen().state is State.IDLE)
    bench.settle(3.0)


def _purged(bench: Bench) -> str:
    """While another is in the same folder, in a conversation of its own."""
    bench.name = RIVAL
    bench.start()
    talk(bench, OTHER)
    own, others = _processes(bench, NAME), _processes(bench, RIVAL)
    (item,) = bench.answer(*PURGE)["results"]
    assert item["error"] is None, item
    number = item["conversation"]["id"]
    row = bench.row(NAME)
    ended = (row["status"], row["termination_mode"], row["resumable"])
    assert ended == ("terminated", "purge", False), row
    assert item["outcome"] == "terminated", item
    assert not own & set(bench.left()), f"it lives: {own & set(bench.left())}"
    assert others <= set(bench.left()), "the other one was ended"
    assert not [path for path in item["purged"] if Path(path).exists()], item["purged"]
    assert not _named(bench, number), f"not deleted: {_named(bench, number)}"
    untold = _of(bench, number) - set(item["left"])
    assert not untold, f"it is spoken of in {untold}, and left is {item['left']}"
    by_command = _by_its_command(bench, item)
    _goes_on(bench, number)
    told = [f"{item['duration_ms'] / 1000:.2f} s", f"{len(item['purged'])} deleted"]
    return ", ".join([*told, *by_command])


def _by_its_command(bench: Bench, item: dict[str, Any]) -> list[str]:
    """What the answer names for the rest does it."""
    named = [one for one in item["left"] if one.startswith(OWN_COMMAND)]
    for one in named:
        words = one.removeprefix(OWN_COMMAND).split()
        done = subprocess.run(
            [str(bench.program), *words[1:]],
            env=bench.environ,
            cwd=bench.place.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{one}: {done.stdout}{done.stderr}"
        assert not _messages(bench, item), f"{one}: {done.stdout}{done.stderr}"
    return ["the rest by its own command"] if named else []


def _messages(bench: Bench, item: dict[str, Any]) -> bool:
    """In a database that all its conversations share."""
    profile, conversation = bench.profile, item["conversation"]
    if not profile.query:
        return False
    with contextlib.closing(sqlite3.connect(conversation["path"])) as books:
        return books.execute(profile.query, (conversation["id"],)).fetchone() is not None


def _goes_on(bench: Bench, number: str) -> None:
    """The other conversation, from its store."""
    item = bench.reap("stop", RIVAL)
    assert item["resumable"] and item["conversation"]["id"] != number, item["conversation"]
    _taken_up(bench)
    asked = len(bench.model.asked)
    bench.say(AGAIN)
    bench.until("both its messages", lambda: _both(bench.model.asked[asked:]))
    assert not any(MESSAGE in one for one in bench.model.asked[asked:]), "they were mixed"


def _both(requests: list[str]) -> bool:
    return any(OTHER in one and AGAIN in one for one in requests)


def _processes(bench: Bench, name: str = NAME) -> set[int]:
    return {one["pid"] for one in bench.reap("show", name)["processes"]}


def _files(bench: Bench) -> Iterator[Path]:
    for top in (bench.place.home, bench.place.project):
        for path in top.rglob("*"):
            if path.is_file() and not path.is_symlink():
                yield path


def _named(bench: Bench, number: str) -> list[str]:
    """Files and folders of that conversation alone, by their names."""
    return [str(path) for path in bench.place.home.rglob("*") if number in path.name]


def _of(bench: Bench, words: str) -> set[str]:
    """Files in which that stands."""
    return {str(path) for path in _files(bench) if words.encode() in _bytes(path)}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # one that lives writes and deletes
        return b""
