"""Owns a bounded queue of what a watch reports, and the threads that deliver it, so that a slow or
blocked reader delays nothing.

`put` never blocks: without room the item is dropped, and the number of drops is reported."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

ROOM = 1000


class Outlet(Generic[T]):
    def __init__(
        self, work: Callable[[T], None], lost: Callable[[int], T], *, threads: int = 1
    ) -> None:
        self._work = work
        self._lost_as = lost
        self._lost = 0
        self._waiting: deque[T] = deque()
        self._at_work = 0
        self._spare = threads
        self._changed = threading.Condition()

    def put(self, item: T) -> None:
        with self._changed:
            if len(self._waiting) >= ROOM:
                self._lost += 1
                return
            self._tell_lost()
            self._waiting.append(item)
            if self._spare:
                self._spare -= 1
                threading.Thread(target=self._carry, daemon=True).start()
            self._changed.notify()

    def drain(self, timeout_s: float) -> bool:
        """Wait until everything is delivered, at most this long."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._waiting or self._at_work), timeout_s)

    def _tell_lost(self) -> None:
        if self._lost:
            self._waiting.append(self._lost_as(self._lost))
            self._lost = 0

    def _carry(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                item = self._waiting.popleft()
                if not self._waiting:
                    self._tell_lost()
                self._at_work += 1
            try:
                self._work(item)
            finally:
                with self._changed:
                    self._at_work -= 1
                    self._changed.notify_all()
