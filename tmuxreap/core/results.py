"""What a command answers, as values: one envelope for scripts, and the results in it. Decides and
prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tmuxreap.core.answers.base import Problem, failure_of, plain_json, problem_of
from tmuxreap.core.errors import Code, Exit, Failure, shared_exit
from tmuxreap.core.times import iso
from tmuxreap.core.values import field, frozen

if TYPE_CHECKING:
    from tmuxreap.core.answers.sessions import Session

SCHEMA = "tmuxreap/1"


def megabytes(size: int) -> float:
    """As answers tell memory."""
    return round(size / (1024 * 1024), 1)


class Item(Protocol):
    """One result in the envelope."""

    @property
    def name(self) -> str: ...

    @property
    def error(self) -> Problem | None: ...

    def as_json(self) -> dict[str, object]: ...


def failure_in(item: Item) -> Failure | None:
    """What this target failed for, with its exit status."""
    return failure_of(item.error)


@frozen
class RemoteResult:
    """A result of another host, as it was told. `shown`: the same as a value of ours, where people
    see a table."""

    name: str
    host: str
    facts: Mapping[str, object]
    lines: tuple[str, ...] = ()  # for people
    error: Problem | None = None
    shown: Session | None = None

    @property
    def target(self) -> str:
        return f"{self.name}@{self.host}"

    def as_json(self) -> dict[str, object]:
        return {**self.facts, "host": self.host, "target": self.target}


@frozen
class Result:
    """The whole answer of a command."""

    command: str
    registry: str | None
    at: float
    results: Sequence[Item] = ()
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    greeting: str | None = None  # for people, where there is no result
    status: Exit = Exit.OK  # where nothing failed: the answer itself may be no
    summed: bool = False  # `status` is the whole verdict already
    others: tuple[Failure, ...] = ()  # of no single result: what other hosts could not do

    @property
    def exit(self) -> Exit:
        if self.failure is not None:
            return self.failure.code.exit
        if self.summed:
            return self.status
        codes = [Code.of(item.error.code) for item in self.results if item.error is not None]
        return Exit.INTERRUPTED if Code.INTERRUPTED in codes else shared_exit(codes) or self.status

    def as_json(self) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "command": self.command,
            "ok": self.exit is Exit.OK,
            "exit_code": int(self.exit),
            "registry": self.registry,
            "timestamp": iso(self.at),
            "results": [item.as_json() for item in self.results],
            "warnings": list(self.warnings),
            "error": plain_json(problem_of(self.failure)),
            **{name: plain_json(value) for name, value in self.more.items()},
        }
