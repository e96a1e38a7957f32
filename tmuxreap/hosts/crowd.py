"""Calls functions in a limited number of threads. Never lets a hanging host delay another."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

T = TypeVar("T")

THREADS = 32


class CutShort(KeyboardInterrupt):
    """Interrupted while some had not answered."""

    def __init__(self, answers: Sequence[object]) -> None:
        super().__init__()
        self.answers = answers  # in the order of the calls; None for those without one


def call_in_threads(functions: Sequence[Callable[[], T]], threads: int = THREADS) -> list[T]:
    """Call all functions and return their results in order; when all are done, raise the first
    error."""
    return cast("list[T]", call_until(functions, threads, lambda _: False))


def call_until(
    functions: Sequence[Callable[[], T]], threads: int, enough: Callable[[T], bool]
) -> list[T | None]:
    """Call the functions until all are done, or one result is enough: None stands for those that
    were not waited for. When all are done, raise the first error."""
    futures: list[Future[T]] = [Future() for _ in functions]
    todo: SimpleQueue[tuple[Future[T], Callable[[], T]]] = SimpleQueue()
    for pair in zip(futures, functions, strict=True):
        todo.put(pair)
    over = threading.Event()

    def work() -> None:
        with contextlib.suppress(Empty):
            while not over.is_set():
                _call(*todo.get_nowait())

    for _ in range(min(threads, len(functions))):
        threading.Thread(target=work, daemon=True).start()  # an executor's would be joined at exit
    try:
        for future in as_completed(futures):
            if future.exception() is None and enough(future.result()):
                break
        else:
            return [future.result() for future in futures]
    except KeyboardInterrupt:
        heard: list[T | None] = [_answer_of(one) for one in futures]
        raise CutShort(heard) from None
    finally:
        over.set()
    return [_answer_of(one) for one in futures]


def _answer_of(future: Future[T]) -> T | None:
    done = future.done() and future.exception() is None
    return future.result() if done else None


def _call(future: Future[T], function: Callable[[], T]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001 - raised again by the caller
        future.set_exception(error)
