"""Calls functions in a limited number of threads. Never lets a hanging host delay another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

AT_ONCE = 32


def all_at_once(works: Sequence[Callable[[], T]], at_once: int = AT_ONCE) -> list[T]:
    """Call all functions and return their results in order; when all are done, raise the first
    error."""
    todo: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[tuple[int, T | BaseException]] = SimpleQueue()
    for number in range(len(works)):
        todo.put(number)

    def work() -> None:
        while not todo.empty():
            try:
                number = todo.get_nowait()
            except Exception:  # noqa: BLE001 - another thread was faster
                return
            try:
                done.put((number, works[number]()))
            except BaseException as error:  # noqa: BLE001 - raised again by the caller
                done.put((number, error))

    for _ in range(min(at_once, len(works))):
        threading.Thread(target=work, daemon=True).start()
    results = dict(done.get() for _ in works)
    for one in results.values():
        if isinstance(one, BaseException):
            raise one
    return [one for _, one in sorted(results.items()) if not isinstance(one, BaseException)]
