"""Asks many hosts at the same time, so many at once; one that hangs holds up nobody but itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

AT_ONCE = 32


def all_at_once(works: Sequence[Callable[[], T]], at_once: int = AT_ONCE) -> list[T]:
    """The answers in the order of the works; the first error is raised when all have answered."""
    todo: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[tuple[int, T | BaseException]] = SimpleQueue()
    for number in range(len(works)):
        todo.put(number)

    def work() -> None:
        while not todo.empty():
            try:
                number = todo.get_nowait()
            except Exception:  # noqa: BLE001 - another was quicker
                return
            try:
                done.put((number, works[number]()))
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                done.put((number, error))

    for _ in range(min(at_once, len(works))):
        threading.Thread(target=work, daemon=True).start()
    found = dict(done.get() for _ in works)
    for one in found.values():
        if isinstance(one, BaseException):
            raise one
    return [one for _, one in sorted(found.items()) if not isinstance(one, BaseException)]
