"""Each kind of answer has a text form."""

from __future__ import annotations

import pytest

from tmuxreap.core.answers import (
    Agent,
    Awaited,
    Change,
    Default,
    Event,
    Launched,
    Protected,
    Session,
    Shown,
)
from tmuxreap.core.results import Item, LocatorAnswer, Problem
from tmuxreap.core.text import Style
from tmuxreap.core.verbs import ALL
from tmuxreap.interfaces.text.formatters import FORMATTERS, item_lines

UNKNOWN = Problem("session_not_registered", "could not find a", "tmuxreap list")


def test_every_kind_of_answer_has_a_formatter() -> None:
    kinds = {verb.result for verb in ALL if verb.result} - {Change}
    assert kinds <= set(FORMATTERS)


@pytest.mark.parametrize("item", [Session("a", error=UNKNOWN), Shown("a", error=UNKNOWN)])
def test_a_missing_target_prints_only_its_error(item: Item) -> None:
    assert list(item_lines(item, Style())) == []


@pytest.mark.parametrize(
    ("item", "lines"),
    [
        (Launched("a", command="demo --resume 1", cwd="/"), ["demo --resume 1"]),
        (
            Launched("a", "demo", outcome="planned", pane_id="%1", pid=7, cwd="/p"),
            ["a: planned: demo, pane %1 (pid 7), in /p"],
        ),
        (Protected("a", keep=True), ["a: protected, as before"]),
        (
            Event("a", 1, "T", "state", {"state": "waiting", "before": "idle"}),
            ["T  a  state  (idle -> waiting)"],
        ),
        (
            Event("a", 1, "T", "killed", {"reason": "killed", "state": "dialog"}),
            ["T  a  killed  (killed, at a dialog)"],
        ),
        (
            Event("a", 1, "T", "stopped", {"reason": "manual_stop", "set": "evening"}),
            ["T  a  stopped  (manual_stop, set evening)"],
        ),
        (Awaited("a", "idle", reached=True, waited_ms=3), ["a: idle, after 3 ms"]),
        (Awaited("a", error=UNKNOWN), []),
        (Default("grace", 90.0, "built-in"), ["grace               1m 30s  built-in"]),
        (Default("secrets", (), "file", "f"), ["secrets             none  file (f)"]),
        (
            Agent("demo", "A stand-in", resume="demo --resume"),
            ["demo          A stand-in", "              can: resume; verified: no"],
        ),
    ],
)
def test_each_answer_is_printed_as_text(item: Item, lines: list[str]) -> None:
    assert list(item_lines(item, Style())) == lines


def test_a_conversation_without_a_file_is_named_where_it_was_found() -> None:
    found = [
        LocatorAnswer("c-1", "pidfile"),
        LocatorAnswer("c-1", "registry", "/store/c-1.jsonl"),
        LocatorAnswer("c-1", "registry", "/store/c-1.jsonl", exists=True),
    ]
    shown = list(item_lines(Shown("a", locators=tuple(found)), Style()))
    assert [" ".join(line.split()) for line in shown[-3:]] == [
        "found by pidfile, c-1 is in no file",
        "found by registry, in /store/c-1.jsonl, not on disk",
        "found by registry, in /store/c-1.jsonl",
    ]
