"""Owns agents.yaml: reads the package's file, merges the user's over it, checks each value, and
finds the profile of an agent, a session or a program. Never runs a program."""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmuxreap.agents import blocks as yamlblocks
from tmuxreap.agents.blocks import Block, Misplaced, Path_, Unreadable
from tmuxreap.agents.daemons import background_of
from tmuxreap.agents.profiles import (
    LOCATOR_NEEDS,
    LOCATORS,
    UUID,
    Background,
    Flags,
    GoesOn,
    Hooks,
    Key,
    KeyStep,
    Locator,
    Pause,
    Profile,
    Prompt,
    Text,
)
from tmuxreap.agents.programs import Carrier, Carriers, Spare, program_names
from tmuxreap.agents.screens import MARKS, State, Tall
from tmuxreap.core.cache import CacheEntry, Recall, cache_entry, cache_stamp, cached_value
from tmuxreap.core.values import frozen, replace
from tmuxreap.system import own_files
from tmuxreap.system.own_files import Fault

if TYPE_CHECKING:
    from tmuxreap.system.own_files import Fault  # late elsewhere: few users have such a file


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
        background=_background(data.inner("background")),
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


def _background(data: Block) -> Background | None:
    if not data.data:
        return None
    return background_of(data)


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


READING = "profiles"
EDIT = "correct the block; docs/agents.md and the head of agents.yaml say what may be in it"
BUILT_IN = Path(__file__).with_name("agents.yaml")
PARSED = BUILT_IN.with_suffix(".json")  # the parsed file, under its checksum


class _Agents(Mapping[str, Profile]):
    """The profiles by name, each built from its block on first use: a stop needs one of a dozen,
    and compiling patterns is slow."""

    def __init__(self, blocks: Mapping[str, Block]) -> None:
        self._blocks = blocks
        self._made: dict[str, Profile] = {}

    def __getitem__(self, name: str) -> Profile:
        if name not in self._made:
            block = self._blocks[name].only(BLOCK_KEYS)
            self._made[name] = profile(name, self._with_inherited(block))
        return self._made[name]

    @cached_property
    def by_program(self) -> Mapping[str, Sequence[str]]:
        """The agents that each program may be; found without building profiles."""
        agents = defaultdict[str, list[str]](list)
        for agent, block in self._blocks.items():
            for program in block.words("process"):
                agents[program].append(agent)
        return agents

    @cached_property
    def with_background(self) -> tuple[str, ...]:
        """The agents whose own daemons run sessions; found without building profiles."""
        return tuple(name for name, block in self._blocks.items() if self._has_background(block))

    def _has_background(self, block: Block) -> bool:
        under = self._blocks.get(str(block.data.get("like")))
        if "background" not in block.data and under is not None:
            block = under
        return bool(block.data.get("background"))

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
    faults: tuple[Fault, ...] = ()

    def check(self, agent: str | None) -> None:
        """Raise a Failure for an agent whose block is left out: it would be another program."""
        for fault in self.faults:
            if agent is not None and fault.part == agent and not fault.remembered:
                raise fault.failure

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
        agents: set[str] = set()
        for name in names:
            agents.update(self.agents.by_program.get(name, ()))
        if not agents:
            return []
        return [name for name in self.agents if name in agents]


def load_profiles(
    user_file: Path | None,
    recall: Recall = lambda what, stamp: None,
    keep: Callable[[CacheEntry | None], None] = lambda reading: None,
    state_folder: Path | None = None,
) -> Profiles:
    """Load the profiles. `recall` and `keep`: a cache of the parsed files. A block of the user's
    that is wrong counts as it was last read well, as `state_folder` remembers it, else it is left
    out; `faults` names it."""
    if user_file is None or not os.path.lexists(user_file):
        return _built_in(_stamp(BUILT_IN))
    stamp = _stamp(user_file, BUILT_IN)
    cached = cached_value(recall, READING, stamp)
    if cached is not None:
        return _profiles(Block(cached, validated=True))
    data, faults = _with_theirs(stamp, user_file, state_folder)
    if not faults:
        keep(cache_entry(READING, stamp, data))
    return replace(_profiles(Block(data)), faults=faults)


def _stamp(*files: Path) -> str:
    states: list[object] = []
    for file in files:
        states += _file_state(file)
    return cache_stamp(*states)


def _file_state(file: Path) -> tuple[object, ...]:
    try:
        status = file.stat()
    except OSError as error:
        return str(file), error.errno
    return str(file), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


# Once for each state of the files: a server serves many requests.
@lru_cache(maxsize=2)
def _built_in(state: str) -> Profiles:
    return _profiles(Block(_ours(state), validated=True))


@lru_cache(maxsize=2)
def _with_theirs(
    _state: str, user_file: Path, state_folder: Path | None
) -> tuple[dict[str, object], tuple[Fault, ...]]:
    """Return our blocks with those of the user's that can be used, and what cannot be."""
    ours = _ours(_stamp(BUILT_IN))
    uid = os.getuid()
    last = own_files.recall(user_file, state_folder, uid)
    try:
        text = own_files.read_own(user_file, uid)
        theirs, faults = _usable(user_file, text, yamlblocks.parsed(text), ours, last or {})
    except own_files.NotUsed as not_used:
        theirs = dict(last or {})
        faults = (_fault(user_file, not_used.reason, not_used.text, last, not_used.hint),)
    except Unreadable as error:
        theirs = dict(last or {})
        faults = (_fault(user_file, str(error), text, last),)
    if theirs != last:
        own_files.remember(user_file, state_folder, theirs)
    return yamlblocks.merged(ours, theirs), faults


def _fault(
    file: Path, reason: str, text: str, last: Mapping[str, object] | None, hint: str = ""
) -> Fault:
    message = f"could not read the agents' profiles: {file}: {reason}"
    return Fault("", message, hint or EDIT, text, remembered=last is not None)


def _usable(
    file: Path,
    text: str,
    theirs: dict[str, object],
    ours: Mapping[str, object],
    last: Mapping[str, object],
) -> tuple[dict[str, object], tuple[Fault, ...]]:
    """Replace each wrong block by the last good one, or leave it out."""
    faults: dict[Path_, Fault] = {}
    while True:
        try:
            profiles = _profiles(Block(yamlblocks.merged(ours, theirs)))
            profiles.agents.check_blocks_unlike(Block(ours).blocks("agents"))
        except Misplaced as error:
            # A block is replaced once, and then left out: this ends.
            path = yamlblocks.block_path(error.path, theirs)
            before = yamlblocks.at(last, path) if path not in faults else None
            block = yamlblocks.at(theirs, path)
            if block is None:  # no block of theirs is at this place: none of them is used
                return {}, (_fault(file, yamlblocks.place_error(error, file, text), text, None),)
            message = (
                f"could not read the agents' profiles: {yamlblocks.place_error(error, file, text)}"
            )
            first = faults.get(path)
            faults[path] = Fault(
                path[-1],
                first.message if first else message,
                EDIT,
                first.text if first else f"{path[-1]}: {block!r}",
                remembered=before is not None,
            )
            theirs = yamlblocks.with_block(theirs, path, before)
        else:
            return theirs, tuple(faults.values())


@lru_cache(maxsize=2)
def _ours(_state: str) -> dict[str, object]:
    """Return our file as parsed by `scripts/vocabulary`, since YAML takes ten times as long. If the
    file has changed since, parse it."""
    try:
        parsed: dict[str, dict[str, object]] = json.loads(PARSED.read_text("utf-8"))
        return parsed[checksum(BUILT_IN)]
    except (OSError, ValueError, KeyError):
        return yamlblocks.parsed(BUILT_IN.read_text("utf-8"))


def checksum(file: Path) -> str:
    return f"{zlib.crc32(file.read_bytes()):08x}"


def _profiles(data: Block) -> Profiles:
    data.only(("common", "agents"))
    common = data.inner("common").only(("spare", "carriers", "nested"))
    agents = _Agents(data.blocks("agents"))
    return Profiles(agents, spares(common), carriers(common))
