"""Owns the parameters of the command line as plain data, declared under `verbs`, and a parser of
plain lines. Help and all other lines are left to typer, which `program` builds from the same data:
to import it takes a third of the time of a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tmuxreap.core.values import NOTHING, field, frozen, replace

Text: TypeAlias = str | None
Number: TypeAlias = int | None
Words: TypeAlias = list[str] | None
Targets: TypeAlias = tuple[str, ...]


class Done(Exception):  # noqa: N818 - not an error
    """The command is done, and the program exits with this status."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


@frozen
class Parameter:
    """A flag, or without flags an argument; `name` is that of the function's parameter, by default
    the flag's."""

    kind: object
    flags: tuple[str, ...]
    metavar: str | None
    about: str | None
    default: object  # NOTHING if it is required
    details: Mapping[str, object] = field(default_factory=dict)  # for typer alone
    name: str = ""


@frozen
class Command:
    call: Callable[..., None]
    parameters: tuple[Parameter, ...]
    about: str | None

    @property
    def defaults(self) -> dict[str, object]:
        return {one.name: one.default for one in self.parameters}


def flag(usage: str, about: str) -> Any:
    """Declare a flag without a value, as in `--quiet -q`."""
    flags = tuple(usage.split())
    return Parameter(bool, flags, None, about, default=False, name=_name_of(flags[0]))


def text(usage: str, about: str, default: str | None = None) -> Any:
    """Declare a flag with a value, as in `--cwd DIR`."""
    return _valued(str, usage, about, default)


def number(usage: str, about: str, default: int | None = None, **details: object) -> Any:
    return _valued(int, usage, about, default, **details)


def words(usage: str, about: str) -> Any:
    """Declare a flag that may be given several times."""
    return _valued(list[str], usage, about, None)


def _valued(kind: Any, usage: str, about: str, default: object, **details: object) -> Parameter:
    flag, _, metavar = usage.partition(" ")
    kind = kind | None if default is None else kind
    return Parameter(kind, (flag,), metavar, about, default, details, _name_of(flag))


def _name_of(flag: str) -> str:
    return flag[2:].replace("-", "_")


def argument(
    metavar: str | None = None,
    about: str | None = None,
    kind: object = str,
    default: object = NOTHING,
) -> Any:
    """Declare an argument, by default a required word."""
    return Parameter(kind, (), metavar, about, default)


def arguments(metavar: str, about: str) -> Any:
    return Parameter(Words, (), metavar, about, None)


TARGETS = arguments(
    "TARGETS",
    "NAME, 'PATTERN*', tag:X, agent:A, task:ID, tree:NAME, pid:N, all, or - for names on stdin.",
)
DRY_RUN = flag("--dry-run", "Show what would happen without doing it.")
YES = flag("--yes -y", "Do not ask for confirmation.")


def parameters_of(function: Callable[..., object]) -> Iterator[Parameter]:
    """Yield what a verb's function declares as the defaults of its parameters."""
    declared: tuple[Parameter, ...] = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for name, one in zip(names[len(names) - len(declared) :], declared, strict=True):
        yield replace(one, name=name)


def read(parameters: Sequence[Parameter], line: Sequence[str]) -> dict[str, object] | None:
    """Parse a plain line with the same result as typer: flags in full, each once, values without a
    leading dash. Return None for any other line, and for every mistake."""
    flags: dict[str, Parameter] = {}
    for one in parameters:
        flags.update(dict.fromkeys(one.flags, one))
    given: dict[str, list[str]] = {}
    names: list[str] = []
    rest = iter(line)
    for word in rest:
        if word[:1] != "-":
            names.append(word)
        elif word not in flags:
            return None
        else:
            one = flags[word]
            given.setdefault(one.name, []).append("" if one.kind is bool else next(rest, "-"))
    for one in parameters:
        if not one.flags and names:
            given[one.name] = names if one.kind == Words else names[:1]
            names = [] if one.kind == Words else names[1:]
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
    if one.kind == Words:
        return given
    if len(given) == 1 and one.kind in (str, Text):
        return given[0]
    countable = len(given) == 1 and one.kind in (int, Number) and "min" not in one.details
    return int(given[0]) if countable and given[0].isdecimal() and len(given[0]) < 10 else NOTHING
