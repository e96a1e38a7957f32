"""Owns agents.yaml: reads the package's file, merges the user's over it, checks each block and
builds its profile."""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

from tmuxreap.agents import blocks as yamlblocks
from tmuxreap.agents.blocks import Block, Misplaced, Unreadable
from tmuxreap.agents.profiles import (
    LOCATORS,
    UUID,
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
from tmuxreap.agents.programs import program_names
from tmuxreap.agents.screens import MARKS, State, Tall
from tmuxreap.agents.spared import Carrier, Carriers
from tmuxreap.core.cache import CacheEntry, Recall, cache_entry, cache_stamp, cached_value
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import field, frozen, replace

LOCATOR_NEEDS = {
    "pidfile": ("path", "id"),
    "open-file": ("path",),
    "exit-banner": ("pattern",),
    "argv": ("flags",),
}
READING = "profiles"
BUILT_IN = Path(__file__).with_name("agents.yaml")
PARSED = BUILT_IN.with_suffix(".json")  # the parsed file, under its checksum
BLOCK_KEYS = (
    "about",
    "like",
    "verified",
    "process",
    "command",
    "launch",
    "resume",
    "flags",
    "screens",
    "keys",
    "editor",
    "leave_s",
    "spare",
    "mates",
    "store",
    "conversation",
    "hooks",
)
TALK_KEYS = (
    "id",
    "artifact",
    "message",
    "query",
    "candidates",
    "folder",
    "folder_file",
    "identity",
    "locators",
    "purge",
    "shared",
    "delete",
    "goes_on",
)
HOOK_KEYS = ("file", "events", "entry", "base", "named")
MINUTE_S = 60.0


class _Agents(Mapping[str, Profile]):
    """The profiles by name, each built from its block on first use: a stop needs one of a dozen,
    and compiling patterns is slow."""

    def __init__(self, blocks: Mapping[str, Block]) -> None:
        self._blocks = blocks
        self._made: dict[str, Profile] = {}

    def __getitem__(self, name: str) -> Profile:
        if name not in self._made:
            self._made[name] = _profile(
                name, self._with_inherited(self._blocks[name].only(BLOCK_KEYS))
            )
        return self._made[name]

    def programs(self) -> Iterator[tuple[str, str]]:
        """Yield each program with the agent that it may be, without building profiles."""
        for agent, block in self._blocks.items():
            for program in block.words("process"):
                yield program, agent

    def check_blocks_unlike(self, known: Mapping[str, Block]) -> None:
        """Build the profiles of all blocks that differ from `known`, to check them."""
        for name, block in self._blocks.items():
            if name not in known or block.data != known[name].data:
                _ = self[name]

    def _with_inherited(self, block: Block) -> Block:
        """Return the block with the keys of the agent that it is `like`, except for its program and
        the claim that it was verified."""
        like = block.text("like")
        if like is None:
            return block
        if like not in self._blocks or "like" in self._blocks[like].data:
            raise block.bad("like", f"{like!r} is no agent with a block of its own")
        under = {**self._blocks[like].data, "process": None, "verified": None}
        return replace(block, data=yamlblocks.merged(under, block.data))

    def __contains__(self, name: object) -> bool:
        return name in self._blocks

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)


@frozen
class Profiles:
    agents: _Agents
    common_spare: tuple[Spare, ...]
    carriers: Carriers
    _known: dict[str, list[str]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def _programs(self) -> Mapping[str, Sequence[str]]:
        """The agents that each program may be; built once."""
        if not self._known:
            for program, agent in self.agents.programs():
                self._known.setdefault(program, []).append(agent)
        return self._known

    def of(self, agent: str | None) -> Profile | None:
        return self.agents.get(agent) if agent else None

    def by_name_suffix(self, session: str) -> str | None:
        """Return the agent named by the last word of a session: `acme-creator-claude` is claude."""
        last = session.rsplit("-", 1)[-1]
        return last if last in self.agents else None

    def by_command(self, words: Sequence[str]) -> str | None:
        return next(iter(self.by_programs(program_names(words, "", None))), None)

    def by_programs(self, names: Iterable[str]) -> list[str]:
        """Return the agents whose programs have one of these names, in the order of the file."""
        agents = set(chain.from_iterable(self._programs.get(name, ()) for name in names))
        return [name for name in self.agents if name in agents] if agents else []


def load_profiles(
    user_file: Path | None,
    recall: Recall = lambda what, stamp: None,
    keep: Callable[[CacheEntry | None], None] = lambda reading: None,
) -> Profiles:
    """Load the profiles. `recall` and `keep`: a cache of the parsed files."""
    if user_file is None or not user_file.exists():
        return _profiles(Block(_read(_stamp(BUILT_IN), (BUILT_IN,)), validated=True))
    files = (user_file, BUILT_IN)
    stamp = _stamp(*files)
    cached = cached_value(recall, READING, stamp)
    if cached is not None:
        return _profiles(Block(cached, validated=True))
    data, ours = _read(stamp, files), _read(_stamp(BUILT_IN), (BUILT_IN,))
    try:
        profiles = _profiles(Block(data))
        # Every verb reports an invalid block, not only those that use it; ours are all valid.
        profiles.agents.check_blocks_unlike(Block(ours).blocks("agents"))
    except Misplaced as error:
        raise _invalid_profiles(_place_error(error, files)) from None
    keep(cache_entry(READING, stamp, data))
    return profiles


def _stamp(*files: Path) -> str:
    return cache_stamp(*chain.from_iterable(map(_file_state, files)))


def _file_state(file: Path) -> tuple[object, ...]:
    status = file.stat()
    return str(file), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=4)
def _read(_state: str, files: Sequence[Path]) -> dict[str, object]:
    """Read and merge the files, once for each of their states: a server serves many requests."""
    file, *under = files
    try:
        data = _read_built_in() if file == BUILT_IN else yamlblocks.read(file)
    except Unreadable as error:
        raise _invalid_profiles(f"{file}: {error}") from None
    return yamlblocks.merged(_read(_stamp(*under), tuple(under)), data) if under else data


def _read_built_in() -> dict[str, object]:
    """Return our file as parsed by `scripts/vocabulary`, since YAML takes ten times as long. If the
    file has changed since, parse it."""
    try:
        parsed: dict[str, dict[str, object]] = json.loads(PARSED.read_text("utf-8"))
        return parsed[checksum(BUILT_IN)]
    except (OSError, ValueError, KeyError):
        return yamlblocks.read(BUILT_IN)


def checksum(file: Path) -> str:
    return f"{zlib.crc32(file.read_bytes()):08x}"


def _place_error(error: Misplaced, files: Sequence[Path]) -> str:
    """Return the message with the place of the error; the user's file is searched first."""
    for file in files:
        place = yamlblocks.place(file, error.path)
        if place is not None:
            return f"{file}: {place}{'.'.join(error.path)}: {error.reason}"
    return f"{files[0]}: {'.'.join(error.path)}: {error.reason}"


def _invalid_profiles(reason: str) -> Failure:
    return Failure(
        Code.USAGE, f"could not read the agents' profiles: {reason}", "fix the block and try again"
    )


def _profiles(data: Block) -> Profiles:
    data.only(("common", "agents"))
    agents = data.blocks("agents")
    common = data.inner("common").only(("spare", "carriers", "nested"))
    return Profiles(
        agents=_Agents(agents),
        common_spare=_spares(common),
        carriers=_carriers(common),
    )


def _profile(name: str, data: Block) -> Profile:
    keys = data.inner("keys").only(
        (
            "idle",
            "safe",
            "again",
            "interrupt",
            "turn",
            "deny",
            "unqueue",
            "clear",
            "unstash",
            "setup",
            "editor",
        )
    )
    store = data.inner("store").only(("variable", "under", "default"))
    talk = data.inner("conversation").only(TALK_KEYS)
    flags = data.inner("flags").only(("alone", "many", "prompt"))
    editor = data.inner("editor").only(("file", "set"))
    id_pattern = talk.pattern("id")
    return Profile(
        name=name,
        about=data.text("about") or "",
        verified=data.text("verified"),
        process=data.words("process"),
        command=tuple(word.replace("{python}", sys.executable) for word in data.words("command")),
        launch=data.words("launch"),
        resume=data.words("resume"),
        flags=Flags(flags.words("alone"), flags.words("many"), flags.words("prompt")),
        screens=_screens(data.inner("screens")),
        marks=_patterns(data.inner("screens"), MARKS),
        tall=_tall(data.inner("screens").inner("tall")),
        idle_keys=_keys(keys, "idle"),
        safe_keys=_keys(keys, "safe"),
        again_keys=_keys(keys, "again"),
        interrupt_keys=_keys(keys, "interrupt"),
        turn_keys=_keys(keys, "turn") or _keys(keys, "interrupt"),
        deny_keys=_keys(keys, "deny") if keys.data.get("deny") is not None else None,
        unqueue_keys=_keys(keys, "unqueue"),
        clear_keys=_keys(keys, "clear"),
        unstash_keys=_keys(keys, "unstash"),
        setup_keys=_keys(keys, "setup"),
        editor_keys=_keys(keys, "editor"),
        editor_file=editor.text("file"),
        editor_set=editor.pattern("set"),
        leave_s=data.number("leave_s", 3.0),
        spare=_spares(data),
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


def _screens(data: Block) -> dict[State, re.Pattern[str]]:
    words = [state.value for state in State]
    data.only([*words, *MARKS, "tall"])
    return {State(word): pattern for word, pattern in _patterns(data, words).items()}


def _tall(data: Block) -> Tall | None:
    data.only(("rows", "share"))
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


def _spares(data: Block) -> tuple[Spare, ...]:
    spares: list[Spare] = []
    for block in data.entries("spare", "program"):
        block.only(("program", "arguments", "command"))
        program = block.text("program")
        if not program:
            raise Misplaced(block.path, "a program that is spared needs a name")
        spares.append(Spare(program, block.pattern("arguments"), block.pattern("command")))
    return tuple(spares)


def _carriers(data: Block) -> Carriers:
    listed: list[Carrier] = []
    for block in data.entries("carriers", "program"):
        block.only(("program", "arguments", "beyond"))
        program = block.text("program")
        if not program:
            raise Misplaced(block.path, "a program that carries another needs a name")
        listed.append(
            Carrier(program, block.pattern("arguments"), block.data.get("beyond") is True)
        )
    nested = data.inner("nested").only(("programs", "screens"))
    return Carriers(tuple(listed), frozenset(nested.words("programs")), nested.patterns("screens"))


def _goes_on(data: Block) -> GoesOn | None:
    if not data.data:
        return None
    data.only(("end", "roster", "entries", "pid", "started", "began", "ended", "mark"))
    return GoesOn(
        end=data.text("end") or "",
        roster=data.text("roster"),
        entries=data.text("entries") or "",
        pid=data.text("pid") or "pid",
        started=data.text("started") or "started",
        began=data.pattern("began"),
        ended=data.pattern("ended"),
        mark=data.text("mark"),
    )


def _hooks(data: Block) -> Hooks | None:
    if not data.data:
        return None
    data.only(HOOK_KEYS)
    file, events = data.text("file"), data.words("events")
    if not file or not events or not data.inner("entry").data:
        raise data.bad("file", "hooks need their file, their events and their entry")
    if file.startswith(("/", "~")) or ".." in file.split("/"):
        raise data.bad("file", f"{file!r} does not lie in the store")
    named = data.data.get("named", True)
    if not isinstance(named, bool):
        raise data.bad("named", f"{named!r} is neither true nor false")
    return Hooks(file, events, data.inner("entry").data, data.inner("base").data, named)
