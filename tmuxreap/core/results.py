"""What a command answers, as values: one envelope for scripts, and the results in it. Decides and
prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tmuxreap.core.errors import Code, Exit, Failure, shared_exit
from tmuxreap.core.times import iso
from tmuxreap.core.values import field, frozen

SCHEMA = "tmuxreap/1"


def megabytes(size: int) -> float:
    """As answers tell memory."""
    return round(size / (1024 * 1024), 1)


class Item(Protocol):
    """One result in the envelope."""

    @property
    def failure(self) -> Failure | None: ...

    def as_json(self) -> dict[str, object]: ...


@frozen
class PlainResult:
    """A result that is its facts: a forgotten row, an event, a target that is not there."""

    name: str
    facts: Mapping[str, object]
    failure: Failure | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            **self.facts,
            "error": self.failure.as_json() if self.failure else None,
        }


@frozen
class RemoteResult:
    """A result of another host, as it was told. `shown`: the same as a value of ours, where people
    see a table."""

    name: str
    host: str
    facts: Mapping[str, object]
    lines: tuple[str, ...] = ()  # for people
    failure: Failure | None = None
    shown: Item | None = None

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
        codes = [item.failure.code for item in self.results if item.failure is not None]
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
            "error": self.failure.as_json() if self.failure else None,
            **self.more,
        }
