"""Builds an agent's profile from its block in agents.yaml, and checks each value of it. Reads no
file."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tmuxreap.agents.blocks import Block, Misplaced
from tmuxreap.agents.profiles import (
    LOCATORS,
    UUID,
    Carrier,
    Carriers,
    Flags,
    GoesOn,
    Hooks,
    Key,
    KeyStep,
    Locator,
    Pause,
    Profile,
    Spare,
    Text,
)
from tmuxreap.agents.screens import MARKS, State, Tall

BLOCK_KEYS = (
    *("about", "like", "verified", "process", "command", "launch", "resume", "flags", "screens"),
    *("keys", "editor", "leave_s", "spare", "mates", "store", "conversation", "hooks"),
)
TALK_KEYS = (
    *("id", "artifact", "message", "query", "candidates", "folder", "folder_file", "identity"),
    *("locators", "purge", "shared", "delete", "goes_on"),
)
KEYS = [name[: -len("_keys")] for name in Profile.__match_args__ if name.endswith("_keys")]
LOCATOR_NEEDS = {
    "pidfile": ("path", "id"),
    "open-file": ("path",),
    "exit-banner": ("pattern",),
    "argv": ("flags",),
}
MINUTE_S = 60.0


def profile(name: str, data: Block) -> Profile:
    """Build the profile of an agent from its block; raise Misplaced for what is not allowed."""
    keys = data.inner("keys").only((*KEYS, "turn_again"))
    steps: dict[str, Any] = {f"{word}_keys": _keys(keys, word) for word in KEYS}
    steps["turn_keys"] = steps["turn_keys"] or steps["interrupt_keys"]
    if keys.data.get("deny") is None:
        steps["deny_keys"] = None
    screens = data.inner("screens")
    store = data.inner("store").only(("variable", "under", "default"))
    talk = data.inner("conversation").only(TALK_KEYS)
    flags = data.inner("flags").only(Flags.__match_args__)
    editor = data.inner("editor").only(("file", "set"))
    id_pattern = talk.pattern("id")
    return Profile(
        name=name,
        about=data.text("about") or "",
        verified=data.text("verified"),
        process=data.words("process"),
        command=_command(data.words("command")),
        launch=data.words("launch"),
        resume=data.words("resume"),
        flags=Flags(flags.words("alone"), flags.words("many"), flags.words("prompt")),
        screens=_screens(screens),
        marks=_patterns(screens, MARKS),
        tall=_tall(screens.inner("tall")),
        **steps,
        turn_again=keys.switch("turn_again", default=False),
        editor_file=editor.text("file"),
        editor_set=editor.pattern("set"),
        leave_s=data.number("leave_s", 3.0),
        spare=spares(data),
        mates=data.words("mates"),
        store_variable=store.text("variable"),
        store_default=store.text("default"),
        store_under=store.text("under") or "",
        id_pattern=id_pattern.pattern if id_pattern else UUID,
        artifact=talk.text("artifact"),
        message=talk.pattern("message"),
        query=talk.text("query"),
        candidates=talk.text("candidates"),
        folder=talk.pattern("folder"),
        folder_file=talk.text("folder_file"),
        identity=talk.pattern("identity"),
        locators=_locators(talk),
        purge=_inside_store(talk, "purge"),
        shared=_inside_store(talk, "shared"),
        delete=talk.words("delete"),
        goes_on=_goes_on(talk.inner("goes_on")),
        hooks=_hooks(data.inner("hooks")),
    )


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    """Put our interpreter in for `{python}`. As the program it imports nothing that lies in the
    folder where the agent works; Python 3.10 has no flag for that."""
    if words[:1] == ("{python}",) and sys.version_info >= (3, 11):
        words = ("{python}", "-P", *words[1:])
    return tuple(word.replace("{python}", sys.executable) for word in words)


def _screens(data: Block) -> dict[State, re.Pattern[str]]:
    words = [state.value for state in State]
    data.only((*words, *MARKS, "tall"))
    return {State(word): pattern for word, pattern in _patterns(data, words).items()}


def _tall(data: Block) -> Tall | None:
    data.only(Tall.__match_args__)
    return Tall(int(data.number("rows", 0)), data.number("share", 0)) if data.data else None


def _patterns(data: Block, words: Sequence[str]) -> dict[str, re.Pattern[str]]:
    return {word: pattern for word in words if (pattern := data.pattern(word))}


def _keys(data: Block, key: str) -> tuple[KeyStep, ...]:
    steps: list[KeyStep] = []
    for step in data.list(key):
        if isinstance(step, (int, float)) and 0 <= step < MINUTE_S:
            steps.append(Pause(float(step)))
        elif isinstance(step, str):
            steps.append(Key(step))
        elif isinstance(step, Mapping) and set(step) == {"text"}:
            steps.append(Text(str(step["text"])))
        else:
            raise data.bad(key, f"{step!r} is not a key, a pause or a text")
    return tuple(steps)


def _locators(data: Block) -> tuple[Locator, ...]:
    return tuple(_locator(block) for block in data.entries("locators", "kind"))


def _locator(block: Block) -> Locator:
    kind = block.text("kind") or ""
    if kind not in LOCATORS:
        raise block.bad("kind", f"{kind!r} is not a locator; known are {', '.join(LOCATORS)}")
    for key in LOCATOR_NEEDS.get(kind, ()):
        if key not in block.data:
            raise Misplaced(block.path, f"{kind} needs its {key}")
    for key in {"open-file": ("path",), "exit-banner": ("pattern",)}.get(kind, ()):
        pattern = block.pattern(key, UUID)
        if pattern is not None and "id" not in pattern.groupindex:
            raise block.bad(key, "no group (?P<id>...) says where in it the ID stands")
    block.words("flags")
    return Locator(kind, {str(key): value for key, value in block.data.items() if key != "kind"})


def _inside_store(data: Block, key: str) -> tuple[str, ...]:
    """Check that path patterns stay in the store. Shared files, which are only read, may lie next
    to it."""
    patterns = data.words(key)
    for pattern in patterns:
        within = pattern.removeprefix("../") if key == "shared" else pattern
        if within.startswith(("/", "~")) or ".." in within.split("/"):
            raise data.bad(key, f"{pattern!r} does not lie in the store")
        if key == "purge" and "{id}" not in pattern and "{id8}" not in pattern:
            raise data.bad(key, f"{pattern!r} names no {{id}}: it is not this conversation's alone")
    return patterns


def spares(data: Block) -> tuple[Spare, ...]:
    return tuple(
        Spare(
            program,
            block.pattern("arguments"),
            block.pattern("command"),
            block.data.get("private") is True,
        )
        for program, block in _programs(data, "spare", Spare.__match_args__, "is spared")
    )


def carriers(data: Block) -> Carriers:
    listed = tuple(
        Carrier(program, block.pattern("arguments"), block.data.get("beyond") is True)
        for program, block in _programs(data, "carriers", Carrier.__match_args__, "carries another")
    )
    nested = data.inner("nested").only(("programs", "screens"))
    return Carriers(listed, frozenset(nested.words("programs")), nested.patterns("screens"))


def _programs(
    data: Block, key: str, known: Collection[str], what: str
) -> Iterator[tuple[str, Block]]:
    """Yield the blocks about programs, each with its program's name."""
    for block in data.entries(key, "program"):
        program = block.only(known).text("program")
        if not program:
            raise Misplaced(block.path, f"a program that {what} needs a name")
        yield program, block


def _goes_on(data: Block) -> GoesOn | None:
    if not data.data:
        return None
    data.only(GoesOn.__match_args__)
    return GoesOn(
        end=data.text("end") or "",
        attach=data.text("attach") or "",
        roster=data.text("roster"),
        entries=data.text("entries") or "",
        pid=data.text("pid") or "pid",
        started=data.text("started") or "started",
        id=data.text("id"),
        source=data.text("source"),
        parents=data.words("parents"),
        moved=data.pattern("moved"),
        began=data.pattern("began"),
        ended=data.pattern("ended"),
        mark=data.text("mark"),
    )


def _hooks(data: Block) -> Hooks | None:
    if not data.data:
        return None
    data.only(Hooks.__match_args__)
    file, events = data.text("file"), data.words("events")
    if not file or not events or not data.inner("entry").data:
        raise data.bad("file", "hooks need their file, their events and their entry")
    if file.startswith(("/", "~")) or ".." in file.split("/"):
        raise data.bad("file", f"{file!r} does not lie in the store")
    named = data.switch("named", default=True)
    return Hooks(file, events, data.inner("entry").data, data.inner("base").data, named)
