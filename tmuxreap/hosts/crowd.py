"""Calls functions in a limited number of threads. Never lets a hanging host delay another."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

THREADS = 32


def call_in_threads(functions: Sequence[Callable[[], T]], threads: int = THREADS) -> list[T]:
    """Call all functions and return their results in order; when all are done, raise the first
    error."""
    futures: list[Future[T]] = [Future() for _ in functions]
    todo: SimpleQueue[tuple[Future[T], Callable[[], T]]] = SimpleQueue()
    for pair in zip(futures, functions, strict=True):
        todo.put(pair)

    def work() -> None:
        with contextlib.suppress(Empty):
            while True:
                _call(*todo.get_nowait())

    for _ in range(min(threads, len(functions))):
        threading.Thread(target=work, daemon=True).start()  # an executor's would be joined at exit
    wait(futures)
    return [future.result() for future in futures]


def _call(future: Future[T], function: Callable[[], T]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001 - raised again by the caller
        future.set_exception(error)
