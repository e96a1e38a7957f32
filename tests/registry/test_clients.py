"""Many clients read and write one registry for a while; each answer is recorded with its times, and
all of them are those of one sequence of operations: no update is lost, and none is forgotten.

By `scripts/test-long` there are a hundred; more, or fewer: CLIENTS=30."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

import tmuxreap
from tests.command_line import Child, temporaries
from tests.command_line import tmuxreap as program
from tmuxreap.ledger.ledger import Ledger
from tmuxreap.registry.file import RegistryFile, RegistryLook, edited
from tmuxreap.system import lock

CLIENTS = int(os.environ.get("CLIENTS", "100" if "LONG" in os.environ else "6"))
EACH = 6  # operations of a client
NAMES = ("a", "b", "c", "d")
FIRST = "first"


@dataclass(frozen=True)
class Done:
    """One operation on one row: when, what its answer says was there, and what it wrote."""

    name: str
    began: float
    ended: float
    saw: str
    wrote: str | None = None


def write(path: Path, name: str, mine: str) -> Iterable[Done]:
    """Replace the reason of a row, and answer the one before."""
    saw = ""

    def replaced(look: RegistryLook) -> str:
        nonlocal saw
        row = look.named(name)
        assert row is not None
        saw = str(row.stop_reason)
        return edited(look, {name: {("stop_reason",): mine}})

    began = time.monotonic()
    RegistryFile(path).change(replaced)
    yield Done(name, began, time.monotonic(), saw, mine)


def read(rows: Callable[[], Iterable[tuple[str, str | None]]]) -> Iterable[Done]:
    began = time.monotonic()
    seen = list(rows())
    ended = time.monotonic()
    for name, reason in seen:
        yield Done(name, began, ended, str(reason))


def by_command(path: Path) -> Iterable[tuple[str, str | None]]:
    """Ask the program, as a script does."""
    answer = program("list", "--json", "--registry", str(path))
    assert answer.exit == 0, answer
    for row in answer.json["results"]:
        yield row["name"], row["stop_reason"]


def client(path: Path, number: int) -> Callable[[], int]:
    """Return the work of one client: it prints what it did."""

    def work() -> int:
        random = Random(number)
        registry = tmuxreap.open_registry(path)  # one that lives on, and may remember
        done: list[Done] = []
        for turn in range(EACH):
            how = random.random()
            if how < 0.5:
                done += write(path, random.choice(NAMES), f"{number}-{turn}")
            elif how < 0.6:
                done += read(lambda: by_command(path))
            else:
                done += read(lambda: [(one.name, one.stop_reason) for one in registry.sessions()])
        print(json.dumps([vars(one) for one in done]))
        return 0

    return work


def unordered(history: Sequence[Done]) -> list[str]:
    """Return what no sequence of these operations on one row explains. Each write says which it
    replaced: they are a chain, and each value holds from its write to the next one."""
    wrong = []
    after = {}
    for one in history:
        if one.wrote is not None:
            if one.saw in after:
                wrong.append(f"an update is lost: {one} and {after[one.saw]} replaced the same")
            after[one.saw] = one
    written = {one.wrote: one for one in history if one.wrote is not None}
    latest_begin = float("-inf")
    value: str | None = FIRST
    while value is not None and (one := after.pop(value, None)) is not None:
        if one.ended < latest_begin:
            wrong.append(f"{one} came after one that began when it had ended")
        latest_begin = max(latest_begin, one.began)
        value = one.wrote
    wrong += [f"it replaced what was never there: {one}" for one in after.values()]
    after = {one.saw: one for one in history if one.wrote is not None}
    for one in history:
        if one.wrote is not None:
            continue
        source, overwritten = written.get(one.saw), after.get(one.saw)
        if source is None and one.saw != FIRST:
            wrong.append(f"nobody wrote it: {one}")
        elif source is not None and source.began > one.ended:
            wrong.append(f"it was read before it was written: {one}")
        elif overwritten is not None and overwritten.ended < one.began:
            wrong.append(f"a stale answer: {one}, and {overwritten} had ended")
    return wrong


@pytest.mark.long
def test_answers_of_many_clients_are_those_of_one_sequence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(
        f"  # of {name}\n  - name: {name}\n    status: stopped\n    stop_reason: {FIRST}\n"
        for name in NAMES
    )
    path = tmp_path / "rows.yaml"
    path.write_text(f"tmux_sessions:\n{rows}")
    monkeypatch.setattr(lock, "WAIT_S", 280.0)
    monkeypatch.setattr(Ledger, "busy_s", 280.0)
    children = [Child(client(path, number)) for number in range(CLIENTS)]
    history: list[Done] = []
    for child in children:
        answer = child.answer()
        assert answer.exit == 0, answer.err
        history += [Done(**one) for one in json.loads(answer.out)]
    assert len(history) > CLIENTS * EACH
    for name in NAMES:
        assert unordered([one for one in history if one.name == name]) == []
    kept = re.sub("stop_reason: .*", f"stop_reason: {FIRST}", path.read_text())
    assert kept == f"tmux_sessions:\n{rows}"
    assert temporaries(tmp_path) == []


def test_a_lost_update_and_a_stale_answer_are_seen() -> None:
    first, second = Done("a", 0, 1, FIRST, "1"), Done("a", 2, 3, "1", "2")
    assert unordered([first, second, Done("a", 2.5, 4, "1"), Done("a", 4, 5, "2")]) == []
    assert "an update is lost" in unordered([first, Done("a", 2, 3, FIRST, "2")])[0]
    assert "a stale answer" in unordered([first, second, Done("a", 4, 5, "1")])[0]
    assert "before it was written" in unordered([first, Done("a", -2, -1, "1")])[0]
    assert "nobody wrote it" in unordered([first, Done("a", 4, 5, "odd")])[0]
    assert "never there" in unordered([first, Done("a", 2, 3, "odd", "2")])[0]
    late = Done("a", 0, 1, "2", "1"), Done("a", 2, 3, FIRST, "2")
    assert "came after one that began" in unordered(late)[0]
