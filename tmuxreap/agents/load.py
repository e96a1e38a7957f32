"""Owns agents.yaml: reads the package's file, merges the user's over it, and finds the profile
of an agent, a session or a program. Never runs a program."""

from __future__ import annotations

import json
import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from tmuxreap.agents import blocks as yamlblocks
from tmuxreap.agents.blocks import Block, Misplaced, Path_, Unreadable
from tmuxreap.agents.build import BLOCK_KEYS, carriers, profile, spares
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import Carriers, Spare, program_names
from tmuxreap.core.cache import CacheEntry, Recall, cache_entry, cache_stamp, cached_value
from tmuxreap.core.values import frozen, replace
from tmuxreap.system import own_files
from tmuxreap.system.own_files import Fault

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
        fault = _fault(user_file, not_used.reason, not_used.text, last, not_used.hint)
        return yamlblocks.merged(ours, last or {}), (fault,)
    except Unreadable as error:
        fault = _fault(user_file, str(error), text, last)
        return yamlblocks.merged(ours, last or {}), (fault,)
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
