"""Reads the user's defaults: config.yaml, and the environment variables that override it. What is
wrong in the file is named: a misspelt key would silently have no effect.

Never writes the file."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tmuxreap.agents import blocks
from tmuxreap.agents.blocks import Block, Misplaced, Unreadable
from tmuxreap.core.defaults import BUILT_IN, SECRETS, VARIABLES, Value
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.times import parse_duration
from tmuxreap.core.values import frozen
from tmuxreap.system import own_files
from tmuxreap.system.environment import Settings
from tmuxreap.system.own_files import Fault, NotUsed

YES = ("1", "true", "yes", "on")
NO = ("0", "false", "no", "off")


@frozen
class Given:
    """A default that the user set; `place`: the variable, or the file with the line."""

    value: Value
    source: str
    place: str


def read_given(settings: Settings) -> dict[str, Given]:
    """Return the defaults that are set, by their keys. Raise a Failure for an invalid one."""
    given, faults = read_usable(settings)
    if faults:
        raise faults[0].failure
    return given


def read_usable(settings: Settings) -> tuple[dict[str, Given], tuple[Fault, ...]]:
    """Return the defaults that can be used, and what is wrong in the file. A wrong one counts as it
    was last read well, else it is left out. Raise a Failure for an invalid variable."""
    file = settings.config_file
    given: dict[str, Given] = {}
    faults: tuple[Fault, ...] = ()
    if file is not None:
        given, faults = _of_file(file, settings)
    return {**given, **_of_environment(settings.environ)}, faults


def _of_environment(environ: Mapping[str, str]) -> dict[str, Given]:
    given: dict[str, Given] = {}
    for key, name in VARIABLES.items():
        if environ.get(name):
            try:
                given[key] = Given(_read(key, environ[name]), "environment", name)
            except ValueError as error:
                raise _invalid(
                    f"${name}", str(error), f"unset {name}, or give it a value that is one"
                ) from None
    return given


def _of_file(file: Path, settings: Settings) -> tuple[dict[str, Given], tuple[Fault, ...]]:
    folder = settings.state_folder
    text = ""
    last = own_files.recall(file, folder, settings.uid)
    try:
        text = own_files.read_own(file, settings.uid)
        top = Block(blocks.parsed(text))
    except (NotUsed, Unreadable) as error:
        text = error.text if isinstance(error, NotUsed) else text
        hint = error.hint if isinstance(error, NotUsed) else ""
        fault = _fault(file, "", str(error), text, remembered=last is not None, hint=hint)
        return _remembered(file, last or {}), (fault,)
    values, faults = _values(file, text, top, last or {})
    given = {**_remembered(file, values), **_placed(file, text, top, values, faults)}
    if values != last:
        own_files.remember(file, folder, values)
    return given, faults


def _fault(
    file: Path, key: str, reason: str, text: str, *, remembered: bool, hint: str = ""
) -> Fault:
    message = f"could not read the defaults in {file}: {reason}"
    hint = hint or f"edit {file}; docs/configuration.md lists the keys"
    return Fault(key, message, hint, text, remembered=remembered)


def _remembered(file: Path, values: Mapping[str, object]) -> dict[str, Given]:
    """Return defaults as they were last read well; what they mean is checked as in the file."""
    given = {}
    for key, value in values.items():
        with contextlib.suppress(Misplaced, ValueError):
            if key in BUILT_IN:
                read = _value(Block({_name(key): value}), key)
                given[key] = Given(read, "file", f"{file}, as last read")
    return given


def _placed(
    file: Path, text: str, top: Block, values: Mapping[str, object], faults: Sequence[Fault]
) -> dict[str, Given]:
    """Return the defaults that are right in the file, each with its line."""
    wrong = {fault.part for fault in faults}
    given = {}
    for key in values:
        if key in wrong or _block_of(top, key) is None:
            continue
        where = (blocks.place(text, tuple(key.split(".")), of_key=True) or "").partition(",")[0]
        place = f"{file}, {where}" if where else str(file)
        given[key] = Given(_value(_inside(top, key), key), "file", place)
    return given


def _values(
    file: Path, text: str, top: Block, last: Mapping[str, object]
) -> tuple[dict[str, object], tuple[Fault, ...]]:
    """Return the right values as they stand in the file, and what is wrong in it."""
    values: dict[str, object] = {}
    faults: list[Fault] = []

    def fault(error: Misplaced, key: str, value: object) -> None:
        where = blocks.place(text, error.path, of_key=True) or ""
        reason = f"{where}{'.'.join(error.path)}: {error.reason}"
        said = f"{key}: {value!r}"
        faults.append(_fault(file, key, reason, said, remembered=key in last))

    known = tuple(dict.fromkeys(key.partition(".")[0] for key in BUILT_IN))
    for key, value in top.data.items():
        if key not in known:
            reason = f"{key!r} is not known here; known are {', '.join(known)}"
            fault(top.bad(str(key), reason), str(key), value)
    inner = tuple(_name(key) for key in BUILT_IN if "." in key)
    try:
        reap = top.inner("reap")
    except Misplaced as error:
        fault(error, "reap", top.data["reap"])
        top = Block({**top.data, "reap": {}})
        reap = Block({})
    for key, value in reap.data.items():
        if key not in inner:
            reason = f"{key!r} is not known here; known are {', '.join(inner)}"
            fault(reap.bad(str(key), reason), f"reap.{key}", value)
    for key in BUILT_IN:
        block = _block_of(top, key)
        if block is None:
            continue
        try:
            _value(block, key)
            values[key] = block.data[_name(key)]
        except Misplaced as error:
            fault(error, key, block.data[_name(key)])
            if key in last:
                values[key] = last[key]
    if any(fault.part == "reap" for fault in faults):
        values.update({key: last[key] for key in last if key.startswith("reap.")})
    return values, tuple(faults)


def _block_of(top: Block, key: str) -> Block | None:
    """Return the block that holds this key; None where the key is not set."""
    try:
        block = _inside(top, key)
    except Misplaced:
        return None
    return None if block.data.get(_name(key)) is None else block


def _inside(top: Block, key: str) -> Block:
    return top.inner("reap") if "." in key else top


def _name(key: str) -> str:
    return key.rpartition(".")[2]


def _value(block: Block, key: str) -> Value:
    if key == SECRETS:
        return _patterns(block)
    try:
        return _read(key, block.data[_name(key)])
    except ValueError as error:
        raise block.bad(_name(key), str(error)) from None


def _patterns(block: Block) -> tuple[str, ...]:
    for place, pattern in enumerate(block.patterns(SECRETS)):
        if pattern.search("") is not None:
            path = (*block.path, SECRETS, str(place))
            raise Misplaced(path, f"{pattern.pattern!r} matches nothing at all, and so everywhere")
    return block.words(SECRETS)


def _word(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"expected a word, not {value!r}")
    return value


def _span(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"expected a duration, not {value!r}")
    return parse_duration(str(value))


def _truth(value: object) -> bool:
    word = str(value).lower()
    if word not in (*YES, *NO):
        raise ValueError(f"expected true or false, not {value!r}")
    return word in YES


READERS: dict[type, Callable[[object], Value]] = {str: _word, float: _span, bool: _truth}


def _read(key: str, value: object) -> Value:
    """Return a value of this key: of the type of the built-in one."""
    return READERS[type(BUILT_IN[key])](value)


def _invalid(what: str, reason: str, hint: str) -> Failure:
    return Failure(Code.CONFIG_INVALID, f"could not read the defaults in {what}: {reason}", hint)


def compiled(patterns: object) -> tuple[re.Pattern[str], ...]:
    """Compile the user's own patterns for secrets."""
    if isinstance(patterns, tuple):
        return tuple(re.compile(it, re.MULTILINE) for it in patterns)
    return ()
