"""An answer as JSON, and back; and the parts that several kinds of answers have."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import as_dict, frozen

T = TypeVar("T")
AS_THEY_ARE = {str, int, float, bool, type(None)}


class Answer:
    """A result, or a part of one. Its fields are what is told."""

    __slots__ = ()
    RARE = frozenset[str]()  # left out where there is nothing to tell
    UNTOLD = frozenset[str]()  # for a terminal alone

    def as_json(self) -> dict[str, object]:
        """Tell it as `--json` does."""
        return as_json(self)


@frozen
class Problem(Answer):
    """Says what could not be done and why; `hint` is the next command to try."""

    code: str
    message: str
    hint: str


@frozen
class Process(Answer):
    """Names a process; `why` tells by which evidence it belongs to the session."""

    RARE = frozenset({"why", "started"})

    pid: int
    name: str
    why: str | None = None
    started: float | None = None


@frozen
class Draft(Answer):
    """Points to the event that keeps a half-typed prompt; people read its text, too."""

    UNTOLD = frozenset({"text"})

    chars: int
    event: int | None = None
    text: str = ""


def as_json(one: Answer) -> dict[str, object]:
    """Tell the fields, also of the values in them."""
    fields = as_dict(one)
    for name in one.RARE:
        if fields[name] is None:
            del fields[name]
    for name in one.UNTOLD:
        del fields[name]
    for name, value in fields.items():
        if value.__class__ not in AS_THEY_ARE:
            fields[name] = plain_json(value)
    return fields


def plain_json(value: object) -> object:
    """Make of a value what `json` can write."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain_json(one) for one in value]
    if isinstance(value, Mapping):
        return {name: plain_json(one) for name, one in value.items()}
    return value.as_json() if isinstance(value, Answer) else value


def fields_of(kind: type) -> dict[str, Any]:
    """Resolve the fields that are told, each with its type."""
    hints = get_type_hints(kind)
    untold = getattr(kind, "UNTOLD", ())
    return {name: hints[name] for name in kind.__fields__ if name not in untold}  # type: ignore[attr-defined]


def read(kind: type[T], data: Mapping[str, object]) -> T:
    """Make the value of this document; fields that the type does not know are left out."""
    fields = fields_of(kind)
    return kind(**{name: _value(fields[name], data[name]) for name in fields if name in data})


def _value(kind: Any, data: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        kinds = [_value_kind(one) for one in get_args(kind)]
        kind = next((one for one in kinds if one is not None), kind)
    if hasattr(kind, "__fields__") and isinstance(data, Mapping):
        return read(kind, data)
    if get_origin(kind) is tuple and isinstance(data, (list, tuple)):
        inner, _ = get_args(kind)
        return tuple(_value(inner, one) for one in data)
    return data


def _value_kind(kind: Any) -> Any:
    """Of the members of a union the one that is more than what JSON knows."""
    return kind if hasattr(kind, "__fields__") or get_origin(kind) is tuple else None


def problem_of(failure: Failure | None) -> Problem | None:
    """Tell a failure as answers do."""
    if failure is None:
        return None
    return Problem(failure.code.text, failure.message, failure.hint)


def failure_of(problem: Problem | None) -> Failure | None:
    """Make the failure again that an answer tells."""
    if problem is None:
        return None
    return Failure(Code.of(problem.code), problem.message, problem.hint)
