"""Owns the parameters of the command line as plain data, declared under `verbs`, and a parser of
plain lines. Help and all other lines are left to typer, which `program` builds from the same data:
to import it takes a third of the time of a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tmuxreap.core.values import NOTHING, frozen

WORD, NUMBER, WORDS = (str, str | None), (int, int | None), list[str] | None


class Done(Exception):  # noqa: N818 - not an error
    """The command is done, and the program exits with this status."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


class Spec:
    """The flags of a parameter, and what the help says about it."""

    __slots__ = ("details", "flags")

    def __init__(self, *flags: str, **details: Any) -> None:
        self.flags, self.details = flags, details


class Option(Spec):
    __slots__ = ()


class Argument(Spec):
    __slots__ = ()


@frozen
class Parameter:
    name: str
    kind: object
    spec: Spec
    default: object = NOTHING


@frozen
class Command:
    call: Callable[..., None]
    parameters: tuple[Parameter, ...]
    about: str | None


def parameters_of(function: Callable[..., None]) -> Iterator[Parameter]:
    """Yield the parameters like `inspect`, whose import takes as long as all the verbs' flags."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults: tuple[object, ...] = function.__defaults__ or ()
    required = len(names) - len(defaults)
    for name, default in zip(names, (*[NOTHING] * required, *defaults), strict=True):
        kind = eval(function.__annotations__[name], function.__globals__)  # noqa: S307 - our own annotations
        yield parameter(name, kind, default)


def parameter(name: str, kind: Any, default: object) -> Parameter:
    """Return a parameter; without a description it is a positional one, for our own programs."""
    spec = getattr(kind, "__metadata__", (Argument(),))[0]
    return Parameter(name, getattr(kind, "__origin__", kind), spec, default)


def read(parameters: Sequence[Parameter], words: Sequence[str]) -> dict[str, object] | None:
    """Parse a plain line with the same result as typer: flags in full, each once, values without a
    leading dash. Return None for any other line, and for every mistake."""
    flags: dict[str, Parameter] = {}
    for one in parameters:
        flags.update(dict.fromkeys(one.spec.flags, one))
    given: dict[str, list[str]] = {}
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if word[:1] != "-":
            names.append(word)
        elif word not in flags:
            return None
        else:
            one = flags[word]
            given.setdefault(one.name, []).append("" if one.kind is bool else next(rest, "-"))
    for one in parameters:
        if isinstance(one.spec, Argument) and names:
            given[one.name] = names if one.kind == WORDS else names[:1]
            names = [] if one.kind == WORDS else names[1:]
    values = {one.name: _value(one, given.get(one.name)) for one in parameters}
    return None if names or any(value is NOTHING for value in values.values()) else values


def _value(one: Parameter, given: list[str] | None) -> object:
    """Return the parameter's value, NOTHING if it is not plain."""
    if given is None:
        return one.default
    if one.kind is bool:
        return True
    if any(word[:1] == "-" for word in given):
        return NOTHING
    if one.kind == WORDS:
        return given
    if len(given) == 1 and one.kind in WORD:
        return given[0]
    number = len(given) == 1 and one.kind in NUMBER and "min" not in one.spec.details
    return int(given[0]) if number and given[0].isdecimal() and len(given[0]) < 10 else NOTHING
