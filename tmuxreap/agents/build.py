"""Builds the profile of an agent from its block, and says what is wrong in one. Reads no file, and
asks no daemon."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tmuxreap.agents.blocks import Block, Misplaced
from tmuxreap.agents.profiles import (
    LOCATOR_NEEDS,
    LOCATORS,
    UUID,
    Background,
    Flags,
    Folder,
    GoesOn,
    Hooks,
    Key,
    KeyStep,
    Locator,
    OwnDaemon,
    OwnServer,
    Pause,
    Profile,
    Prompt,
    ServerCall,
    Text,
    Transport,
)
from tmuxreap.agents.programs import Carrier, Carriers, Spare
from tmuxreap.agents.screens import MARKS, State, Tall

BLOCK_KEYS = (
    *("about", "like", "verified", "process", "command", "launch", "resume", "flags", "screens"),
    *("keys", "editor", "prompt", "leave_s", "spare", "mates", "store", "conversation", "hooks"),
    "background",
)
TALK_KEYS = (
    *("id", "artifact", "message", "query", "candidates", "folder", "folder_file", "identity"),
    *("locators", "purge", "shared", "delete", "goes_on"),
)
KEYS = [name[: -len("_keys")] for name in Profile.__match_args__ if name.endswith("_keys")]
MINUTE_S = 60.0


def profile(name: str, data: Block) -> Profile:
    """Build the profile of an agent from its block; raise Misplaced for what is not allowed."""
    keys = data.inner("keys").only((*KEYS, "turn_again", "deny_again"))
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
        deny_again=keys.switch("deny_again", default=False),
        editor_file=editor.text("file"),
        editor_set=editor.pattern("set"),
        prompt=_prompt(data.inner("prompt")),
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
        background=background_of(data.inner("background")),
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
    if data.data:
        return Tall(int(data.number("rows", 0)), data.number("share", 0))
    return None


def _prompt(data: Block) -> Prompt:
    data.only(Prompt.__match_args__)
    whole = data.switch("whole", default=False)
    command = data.pattern("command")
    return Prompt(whole, data.pattern("placeholder"), command or Prompt().command)


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
        elif isinstance(step, Mapping) and set(step) == {"wait"}:
            seconds = Block(step, (*data.path, key)).number("wait", 0.0)
            steps.append(Pause(seconds, whole=True))
        else:
            raise data.bad(key, f"{step!r} is not a key, a pause, a wait or a text")
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
            raise block.bad(key, "no group (?P<id>...) says where the ID is")
    block.words("flags")
    return Locator(kind, {str(key): value for key, value in block.data.items() if key != "kind"})


def _inside_store(data: Block, key: str) -> tuple[str, ...]:
    """Check that path patterns stay in the store. Shared files, which are only read, may lie next
    to it."""
    patterns = data.words(key)
    for pattern in patterns:
        if key == "shared":
            within = pattern.removeprefix("../")
        else:
            within = pattern
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
        moved=data.pattern("moved"),
        began=data.pattern("began"),
        ended=data.pattern("ended"),
        mark=data.text("mark"),
    )


def _hooks(data: Block) -> Hooks | None:
    if not data.data:
        return None
    data.only(Hooks.__match_args__)
    file = data.text("file")
    events = data.words("events")
    if not file or not events or not data.inner("entry").data:
        raise data.bad("file", "hooks need their file, their events and their entry")
    data.check_in_store("file")
    named = data.switch("named", default=True)
    return Hooks(file, events, data.inner("entry").data, data.inner("base").data, named)


def background_of(data: Block) -> Background | None:
    if not data.data:
        return None
    data.only(Background.__match_args__)
    file = data.text("file") or ""
    entries = data.text("entries") or ""
    end = data.words("end")
    server = None
    if data.inner("server").data:
        server = _server(data.inner("server"))
    elif not file or not entries or not end:
        raise data.bad("file", "background sessions need their file, its entries, and their end")
    for key in ("file", "state_file"):
        data.check_in_store(key)
    default = Background(file, entries, end)
    unused = data.inner("unused").data
    return Background(
        file=file,
        entries=entries,
        end=end,
        server=server,
        attach=data.words("attach"),
        id=data.pattern("id") or default.id,
        daemon=data.text("daemon"),
        pid=data.text("pid") or default.pid,
        started=data.text("started") or default.started,
        agent_pid=data.text("agent_pid"),
        agent_started=data.text("agent_started"),
        conversation=data.text("conversation"),
        source=data.text("source"),
        parents=data.words("parents"),
        folder=data.text("folder"),
        flags=data.text("flags"),
        began=data.text("began"),
        unused={str(key): str(word) for key, word in unused.items()},
        state_file=data.text("state_file"),
        state=data.text("state") or default.state,
        ended=data.words("ended"),
        respawn_s=data.number("respawn_s", 0.0),
        record=_record(data.inner("record")),
    )


def _record(data: Block) -> OwnDaemon | None:
    if not data.data:
        return None
    data.only(OwnDaemon.__match_args__)
    file = data.text("file")
    programs = tuple(_spare(block, "a daemon") for block in data.entries("programs", "program"))
    if not file or not programs:
        raise data.bad("file", "a daemon is told by its programs, and by the file that records it")
    data.check_in_store("file")
    folder = None
    place = data.inner("folder").only(Folder.__match_args__)
    if place.data:
        folder = Folder(place.text("variable"), place.text("default"), place.text("under") or "")
    return OwnDaemon(
        programs=programs,
        file=file,
        folder=folder,
        pid=data.text("pid") or "pid",
        started=data.text("started"),
        mend=data.words("mend"),
    )


def _server(data: Block) -> OwnServer:
    data.only(OwnServer.__match_args__)
    listed = _call(data, "list")
    entry = _call(data, "entry")
    end = _call(data, "end")
    by_hand = data.text("by_hand")
    if listed is None or entry is None or end is None or not by_hand:
        raise data.bad("list", "a server needs the calls list, entry and end, and by_hand")
    transport = _transport(data)
    socket = data.text("socket")
    if transport is Transport.SOCKET and not socket:
        raise data.bad("socket", "this transport needs the socket's place in the store")
    data.check_in_store("socket")
    return OwnServer(
        transport=transport,
        program=_program(data),
        list=listed,
        entry=entry,
        end=end,
        by_hand=by_hand,
        socket=socket,
        hello=_call(data, "hello"),
        password=data.text("password"),
        user=data.text("user"),
        login=data.text("login") or "",
        folders=data.text("folders"),
        entries=data.text("entries"),
        inner=data.text("inner"),
        working=data.words("working"),
        asks=data.text("asks"),
        waiting=tuple(_calls(data, "waiting")),
        waiting_id=data.text("waiting_id"),
        waiting_for=data.text("waiting_for"),
        turn=_call(data, "turn"),
        turn_id=data.text("turn_id"),
    )


def _transport(data: Block) -> Transport:
    word = data.text("transport") or ""
    if word not in set(Transport):
        known = ", ".join(Transport)
        raise data.bad("transport", f"{word!r} is no way to reach a server; known are {known}")
    return Transport(word)


def _program(data: Block) -> Spare:
    return _spare(data.inner("program"), "a server")


def _spare(block: Block, what: str) -> Spare:
    block.only(("program", "arguments"))
    program = block.text("program")
    arguments = block.pattern("arguments")
    if not program or arguments is None:
        raise block.bad("program", f"{what} is told by its program and its arguments")
    return Spare(program, arguments)


def _call(data: Block, key: str) -> ServerCall | None:
    """Return a call: its name alone, or with a mapping of what it is given."""
    value = data.data.get(key)
    if value is None:
        return None
    return _call_of(value, data, key)


def _calls(data: Block, key: str) -> list[ServerCall]:
    return [_call_of(value, data, key) for value in data.list(key)]


def _call_of(value: object, data: Block, key: str) -> ServerCall:
    if isinstance(value, str):
        return ServerCall(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, parameters),) = value.items()
        if isinstance(parameters, Mapping):
            return ServerCall(str(name), {str(word): given for word, given in parameters.items()})
    raise data.bad(key, f"{value!r} is no call: a name, or a name with what it is given")
