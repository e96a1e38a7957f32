"""Owns agents.yaml: reads the package's file, merges the user's over it, and finds the profile of
an agent, a session or a program."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path

from tmuxreap.agents import blocks as yamlblocks
from tmuxreap.agents import build
from tmuxreap.agents.blocks import Block, Misplaced, Unreadable
from tmuxreap.agents.profiles import Carriers, Profile, Spare
from tmuxreap.agents.programs import program_names
from tmuxreap.core.cache import CacheEntry, Recall, cache_entry, cache_stamp, cached_value
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen, replace

READING = "profiles"
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
            block = self._blocks[name].only(build.BLOCK_KEYS)
            self._made[name] = build.profile(name, self._with_inherited(block))
        return self._made[name]

    @cached_property
    def by_program(self) -> Mapping[str, Sequence[str]]:
        """The agents that each program may be; found without building profiles."""
        agents = defaultdict[str, list[str]](list)
        for agent, block in self._blocks.items():
            for program in block.words("process"):
                agents[program].append(agent)
        return agents

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
        agents = set(chain.from_iterable(self.agents.by_program.get(name, ()) for name in names))
        return [name for name in self.agents if name in agents] if agents else []


def load_profiles(
    user_file: Path | None,
    recall: Recall = lambda what, stamp: None,
    keep: Callable[[CacheEntry | None], None] = lambda reading: None,
) -> Profiles:
    """Load the profiles. `recall` and `keep`: a cache of the parsed files."""
    if user_file is None or not user_file.exists():
        return _built_in(_stamp(BUILT_IN))
    files = (user_file, BUILT_IN)
    stamp = _stamp(*files)
    cached = cached_value(recall, READING, stamp)
    if cached is not None:
        return _profiles(Block(cached, validated=True))
    ours, data = _ours(_stamp(BUILT_IN)), _with_theirs(stamp, user_file)
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


# Once for each state of the files: a server serves many requests.
@lru_cache(maxsize=2)
def _built_in(state: str) -> Profiles:
    return _profiles(Block(_ours(state), validated=True))


@lru_cache(maxsize=2)
def _with_theirs(_state: str, user_file: Path) -> dict[str, object]:
    return yamlblocks.merged(_ours(_stamp(BUILT_IN)), _read(user_file))


@lru_cache(maxsize=2)
def _ours(_state: str) -> dict[str, object]:
    """Return our file as parsed by `scripts/vocabulary`, since YAML takes ten times as long. If the
    file has changed since, parse it."""
    try:
        parsed: dict[str, dict[str, object]] = json.loads(PARSED.read_text("utf-8"))
        return parsed[checksum(BUILT_IN)]
    except (OSError, ValueError, KeyError):
        return _read(BUILT_IN)


def _read(file: Path) -> dict[str, object]:
    try:
        return yamlblocks.read(file)
    except Unreadable as error:
        raise _invalid_profiles(f"{file}: {error}") from None


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
    common = data.inner("common").only(("spare", "carriers", "nested"))
    agents = _Agents(data.blocks("agents"))
    return Profiles(agents, build.spares(common), build.carriers(common))
