"""A command's answer as values: the envelope for scripts, and the results in it. Never decides or
prints anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.core.answers.base import Item as Item
from tmuxreap.core.answers.base import failure_of, plain_json, problem_of
from tmuxreap.core.errors import Code, Exit, Failure, shared_exit
from tmuxreap.core.times import iso
from tmuxreap.core.values import field, frozen

SCHEMA = "tmuxreap/1"


def megabytes(size: int) -> float:
    """Convert bytes to megabytes as answers report them."""
    return round(size / (1024 * 1024), 1)


def failure_in(item: Item) -> Failure | None:
    """Return the failure of this target, with its exit status."""
    return failure_of(item.error)


@frozen
class Result:
    """A command's whole answer."""

    command: str
    registry: str | None
    at: float
    results: Sequence[Item] = ()
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    greeting: str | None = None  # printed for users instead of an empty table
    remark: str | None = None  # printed for users next to the results
    status: Exit = Exit.OK  # the exit status if no result failed
    summed: bool = False  # `status` is final: the results are not consulted
    others: tuple[Failure, ...] = ()  # failures of whole hosts, which belong to no single result

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
