"""Words that a person has typed into a dialog of each real agent, when it is ended: they are kept,
or named as lost, and never given as an answer."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench
from tests.real_agents.cases import talk
from tests.real_agents.jobs import Job
from tests.real_agents.mock_model import ASK, TOOL
from tests.real_agents.states import WATCHED_S
from tests.real_agents.stops import conversation_holds, lost, resumed
from tmuxreap.agents.screens import State

ASKED = "Which colour shall the teapot have?"
WORDS = "violet, if you please"
LONG = (
    "violet please, but neither too loud nor too pale, and with a handle that is made of a wood"
    " which does not burn, a lid that does not fall off when it is tilted, and a spout that does"
    " not drip"
)
DRAWN_S = 1.0  # some count the seconds in their dialog: its screen never settles
CHOICES = [
    {"label": "Blue", "description": "Like the sky."},
    {"label": "Red", "description": "Like a rose."},
]
CHOICE = {"question": ASKED, "header": "Colour", "options": CHOICES}
ONE_CHOICE = {**CHOICE, "multiSelect": False}
SHOWN = [{**choice, "preview": "a teapot"} for choice in CHOICES]
SHOWN_CHOICE = {**ONE_CHOICE, "options": SHOWN}
OF_A_FORM = {
    "properties": {"colour": {"type": "string", "title": "Colour", "enum": ["Blue", "Red"]}}
}


@dataclass(frozen=True, slots=True)
class Field:
    """Where a person can type in a dialog."""

    keys: tuple[str, ...] = ()  # from the dialog to the field
    tool: str = ""  # that asks; without one it is the dialog before a command
    given: dict[str, Any] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # keys before the prompt
    plan: str = ""  # where it tells its model to keep the plan that the tool asks about: a pattern
    cut: bool = False  # the screen shows a part of a long answer
    deaf: bool = False  # to the keys that leave from everywhere else


FIELDS: dict[str, dict[str, Field]] = {
    "claude": {
        "question": Field(
            ("Down", "Down"), "AskUserQuestion", {"questions": [ONE_CHOICE]}, cut=True
        ),
        "command": Field(("Tab",), cut=True),
        "question, notes": Field(
            ("n",), "AskUserQuestion", {"questions": [SHOWN_CHOICE]}, cut=True
        ),
        "plan": Field(
            ("Down", "Down"),
            "ExitPlanMode",
            before=("BTab", "BTab"),
            plan=r"your plan at (/\S+\.md)",
        ),
    },
    "codex": {
        "question": Field(
            ("Down", "Down", "Tab"),
            "request_user_input",
            {"questions": [{"id": "colour", **CHOICE}]},
            before=("BTab",),
        )
    },
    "gemini": {
        "question": Field(
            ("Down", "Down"), "ask_user", {"questions": [{**ONE_CHOICE, "type": "choice"}]}
        ),
        "question, text": Field(
            (), "ask_user", {"questions": [{"question": ASKED, "header": "Colour", "type": "text"}]}
        ),
    },
    "qwen": {
        "question": Field(("Down", "Down"), "ask_user_question", {"questions": [ONE_CHOICE]}),
        "question, many": Field(
            ("Down", "Down"), "ask_user_question", {"questions": [{**CHOICE, "multiSelect": True}]}
        ),
    },
    "opencode": {
        "question": Field(("Down", "Down", "Enter"), "question", {"questions": [CHOICE]}),
        "question, many": Field(
            ("Down", "Down", "Enter"), "question", {"questions": [{**CHOICE, "multiple": True}]}
        ),
    },
    "kilo": {
        "question": Field(("Down", "Down", "Enter"), "question", {"questions": [CHOICE]}),
        "command": Field(("Right", "Right", "Enter"), cut=True),
    },
    "copilot": {
        "question": Field(
            ("Down", "Down"), "ask_user", {"message": ASKED, "requestedSchema": OF_A_FORM}
        ),
        "question, text": Field(
            (),
            "ask_user",
            {
                "message": ASKED,
                "requestedSchema": {
                    "properties": {"colour": {"type": "string", "title": "Colour"}}
                },
            },
        ),
        "command": Field(("Down", "Down"), cut=True),
    },
    "hermes": {
        "question": Field(
            ("Down", "Down", "Enter"), "clarify", {"question": ASKED, "choices": ["Blue", "Red"]}
        ),
        "question, text": Field((), "clarify", {"question": ASKED}),
        "command": Field(),
    },
    "grok": {"command": Field(("Down", "Down", "Down", "Enter"), cut=True)},
    "cn": {
        "question": Field(
            (), "AskQuestion", {"question": ASKED, "options": ["Blue", "Red"]}, deaf=True
        ),
    },
}


def brought(bench: Bench, where: Field, words: str) -> None:
    """One message, and words in the field of a dialog."""
    bench.model.question = (where.tool, where.given)
    bench.start()
    talk(bench)
    for key in where.before:
        bench.keys(key)
        bench.settle()
    if where.plan:
        _keep_a_plan(bench, where.plan)
    bench.say(f"{ASK if where.tool else TOOL} please")
    bench.becomes(State.DIALOG, "the dialog")
    time.sleep(DRAWN_S)
    for key in where.keys:
        bench.keys(key)
        time.sleep(DRAWN_S)
    assert not bench.seen().draft, f"what it shows in the empty field is a draft: {bench.seen()}"
    bench.type(words)
    bench.until("the words", lambda: bench.seen().draft)
    time.sleep(DRAWN_S)


def _keep_a_plan(bench: Bench, pattern: str) -> None:
    """It asks about none that is not in its file, which only its model is told of."""
    talk(bench, AGAIN)
    told = next(filter(None, (re.search(pattern, one) for one in reversed(bench.model.asked))))
    Path(told[1]).parent.mkdir(parents=True, exist_ok=True)
    Path(told[1]).write_text("# The teapot\n\n1. Paint it.\n2. Let it dry.\n")


def _typed(bench: Bench, *, where: Field, verb: str, words: str) -> str:
    brought(bench, where, words)
    asked = len(bench.model.asked)
    item = bench.reap(verb, NAME)
    time.sleep(1.0)
    said = "\n".join(bench.drafts())
    later = "".join(bench.model.asked[asked:])
    assert words[:20] not in later and "/exit" not in later, "it was given as an answer"
    assert not bench.proof.exists(), "the tool was approved"
    assert words in said or lost(item), f"it is lost in silence: {said!r}"
    assert words in said or where.cut or len(words) > len(WORDS), f"kept of it: {said!r}"
    by = "hangup" if where.deaf else "exit_keys"
    assert verb == "kill" or item["stopped_by"] == by, f"by {item['stopped_by']}: {item['rungs']}"
    if item["resumable"]:
        assert conversation_holds(item, MESSAGE), item["conversation"]
        resumed(bench)
    return "draft_lost" if lost(item) else "kept"


def _interrupted(bench: Bench, *, where: Field) -> str:
    """The dialog is closed and the words are kept; or it gets no key, and they stay in it."""
    brought(bench, where, WORDS)
    asked = len(bench.model.asked)
    item = bench.answer("interrupt", NAME)["results"][0]
    if where.deaf or not bench.setup.denies:
        assert (item["outcome"], item["error"]["code"]) == ("refused", "not_interruptible"), item
        assert bench.seen().draft, bench.screen()
        return "refused"
    assert item["outcome"] == "interrupted", item
    assert WORDS in "\n".join(bench.drafts()) or lost(item), "they are lost in silence"
    time.sleep(WATCHED_S)
    assert bench.reap("interrupt", NAME)["outcome"] == "already_idle", bench.screen()
    assert not bench.turns(asked), "the model was asked to go on"
    assert not bench.proof.exists(), "the tool was approved"
    if bench.reap("stop", NAME)["resumable"]:
        resumed(bench)
    return "interrupted, draft_lost" if lost(item) else "interrupted"


def jobs() -> Iterator[Job]:
    for agent, fields in FIELDS.items():
        for name, where in fields.items():
            yield Job(
                agent, f"words, {name}", partial(_typed, where=where, verb="stop", words=WORDS)
            )
        name, where = next(iter(fields.items()))
        yield Job(agent, "words, interrupted", partial(_interrupted, where=where))
        yield Job(agent, "words, killed", partial(_typed, where=where, verb="kill", words=WORDS))
        yield Job(agent, "long words", partial(_typed, where=where, verb="stop", words=LONG))
