"""Reads the user's defaults: config.yaml, and the environment variables that override it. Strict: a
misspelt key would silently have no effect. Imported only if one of them exists.

Knows no built-in default, and never writes the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tmuxreap.agents import blocks
from tmuxreap.agents.blocks import Block, Misplaced, Unreadable
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.times import parse_duration
from tmuxreap.core.values import frozen
from tmuxreap.system.environment import DEFAULTS, Settings

SECRETS = "secrets"
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

Value = str | float | bool | tuple[str, ...]


@frozen
class Given:
    """A default that the user set; `place`: the variable, or the file with the line."""

    value: Value
    source: str
    place: str


def read_given(settings: Settings) -> dict[str, Given]:
    """Return the defaults that are set, by their keys. Raise a Failure for an invalid one."""
    file = settings.config_file
    return {**(_of_file(file) if file is not None else {}), **_of_environment(settings.environ)}


def _of_environment(environ: Mapping[str, str]) -> dict[str, Given]:
    given: dict[str, Given] = {}
    for key, name in DEFAULTS.items():
        if environ.get(name):
            try:
                given[key] = Given(READERS[key](environ[name]), "environment", name)
            except ValueError as error:
                raise _invalid(
                    f"${name}", str(error), f"unset {name}, or give it a value that is one"
                ) from None
    return given


def _of_file(file: Path) -> dict[str, Given]:
    hint = f"edit {file}; docs/configuration.md shows what stands there"
    try:
        if not file.is_file():  # reading a pipe would block
            raise Unreadable("it is no file")
        return {
            key: _given(file, key, value)
            for key, value in _values(Block(blocks.read(file))).items()
        }
    except Unreadable as error:
        raise _invalid(str(file), str(error), hint) from None
    except Misplaced as error:
        where = blocks.place(file, error.path, of_key=True) or ""
        raise _invalid(str(file), f"{where}{'.'.join(error.path)}: {error.reason}", hint) from None


def _given(file: Path, key: str, value: Value) -> Given:
    where = (blocks.place(file, tuple(key.split(".")), of_key=True) or "").partition(",")[0]
    return Given(value, "file", f"{file}, {where}" if where else str(file))


def _values(top: Block) -> dict[str, Value]:
    inner = [key.partition(".")[2] for key in READERS if "." in key]
    reap = (
        top.only(tuple(dict.fromkeys(key.partition(".")[0] for key in READERS)))
        .inner("reap")
        .only(inner)
    )
    values: dict[str, Value] = {}
    for key, read in READERS.items():
        block, name = (reap, key.partition(".")[2]) if "." in key else (top, key)
        if block.data.get(name) is not None:
            values[key] = _patterns(block) if key == SECRETS else _read(block, name, read)
    return values


def _read(block: Block, name: str, read: Callable[[object], Value]) -> Value:
    try:
        return read(block.data[name])
    except ValueError as error:
        raise block.bad(name, str(error)) from None


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


def _only_in_the_file(value: object) -> Value:
    raise ValueError("that stands in the file alone")


READERS: dict[str, Callable[[object], Value]] = {
    "server": _word,
    "reason": _word,
    "grace": _span,
    "reap.stalled_after": _span,
    "reap.idle_after": _span,
    "reap.grace": _span,
    "cleanup": _truth,
    "retention": _span,
    SECRETS: _only_in_the_file,
}


def _invalid(what: str, reason: str, hint: str) -> Failure:
    return Failure(Code.CONFIG_INVALID, f"could not read the defaults in {what}: {reason}", hint)


def compiled(patterns: object) -> tuple[re.Pattern[str], ...]:
    """Compile the user's own patterns for secrets."""
    return (
        tuple(re.compile(it, re.MULTILINE) for it in patterns)
        if isinstance(patterns, tuple)
        else ()
    )
