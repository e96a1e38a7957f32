"""Calls functions in a limited number of threads. Never lets a hanging host delay another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

THREADS = 32


def call_in_threads(functions: Sequence[Callable[[], T]], threads: int = THREADS) -> list[T]:
    """Call all functions and return their results in order; when all are done, raise the first
    error."""
    todo: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[tuple[int, T | BaseException]] = SimpleQueue()
    for number in range(len(functions)):
        todo.put(number)

    def work() -> None:
        while not todo.empty():
            try:
                number = todo.get_nowait()
            except Exception:  # noqa: BLE001 - another thread was faster
                return
            try:
                done.put((number, functions[number]()))
            except BaseException as error:  # noqa: BLE001 - raised again by the caller
                done.put((number, error))

    for _ in range(min(threads, len(functions))):
        threading.Thread(target=work, daemon=True).start()
    results = dict(done.get() for _ in functions)
    for result in results.values():
        if isinstance(result, BaseException):
            raise result
    return [
        result for _, result in sorted(results.items()) if not isinstance(result, BaseException)
    ]
