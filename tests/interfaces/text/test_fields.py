"""What JSON tells, text tells too: each field of an answer changes its text, or is left out for a
reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Union, get_args, get_origin

import pytest

from tmuxreap.core import answers, results
from tmuxreap.core.results import (
    Author,
    Conversation,
    Draft,
    Item,
    LocatorAnswer,
    Problem,
    Process,
    Used,
    fields_of,
)
from tmuxreap.core.text import Style
from tmuxreap.core.values import as_dict
from tmuxreap.interfaces.text.formatters import item_lines

ALIVE = answers.Shown("a", status="running", live="alive", agent="demo", state="idle")
OVER = answers.Shown("a", status="stopped", live="gone", agent="demo", conversation_id="c1")
ENDED = results.Ending(
    "a", "stopped", agent="demo", stopped_by="exit_keys", conversation=Conversation("c1")
)
# Fields that people are not shown, and why.
LEFT_OUT: Mapping[type, Mapping[str, str]] = {
    answers.Shown: {"error": "it is printed as an error"},
    results.Ending: {
        "error": "it is printed as an error",
        "agent": "`show` tells it; the receipt is about the end",
        "pid": "it is gone; `also ended` names what else there was",
        "status": "the outcome says it, but for one that had ended before",
        "stop_reason": "the caller has just given it; `show` tells it",
        "termination_mode": "`show` tells it",
        "survivors": "they are named in the error",
        "resume_command": "the receipt has the shorter `tmuxreap resume NAME`",
        "task_id": "the caller knows it; `show` tells it",
        "ended_at": "now; `show` tells it",
        "grace_s": "the caller has given it",
        "set": "the sums of several name it, with the command that takes it up",
        "plan": "it is the text of a dry run, which has no end",
        "evidence": "only with a verdict, which `reap` has",
    },
}
OTHER: dict[type, object] = {
    str: "other",
    int: 7000,
    float: 7.5,
    bool: True,
    Used: Used(4711, "other", "because", 1.0, 2.0, 50.0, (8080,)),
    Process: Process(4711, "other", "because", 1.0),
    Conversation: Conversation("c2", "pidfile", "/c2.jsonl", True),
    Draft: Draft(5, 3, "other"),
    Problem: Problem("bug", "other", "hint"),
    LocatorAnswer: LocatorAnswer("c2", "pidfile", "/c2.jsonl", True, ("c3",)),
    Author: Author("ann", "vm", "cli", "b"),
    results.Rung: results.Rung("keys", 100, True, None),
}


def another(kind: Any) -> object:
    """Return a value of this kind that is no default."""
    if get_origin(kind) is Union or NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is tuple:
        return (another(get_args(kind)[0]),)
    if get_origin(kind) is not None or kind is Mapping:
        return {"reason": "other", "name": "a", "verb": "stop", "rungs": (), "processes": ()}
    return OTHER[kind]


def text(item: Item) -> list[str]:
    return list(item_lines(item, Style()))


def silent_fields(*items: Item) -> set[str]:
    """Return the fields that change the text of none of these."""
    silent = set()
    for name, kind in fields_of(type(items[0])).items():
        changed = [type(item)(**{**as_dict(item), name: another(kind)}) for item in items]
        if all(text(one) == text(item) for one, item in zip(changed, items, strict=True)):
            silent.add(name)
    return silent


@pytest.mark.parametrize("items", [(ALIVE, OVER), (ENDED,)], ids=["show", "receipt"])
def test_each_field_is_in_the_text_or_is_left_out_for_a_reason(items: tuple[Item, ...]) -> None:
    left_out = LEFT_OUT[type(items[0])]
    silent = silent_fields(*items)
    assert silent - set(left_out) == set(), "show it, or say why not"
    assert set(left_out) - silent == set(), "it is shown by now"
