"""Owns streams of events and changes: iterators that any thread may read and close.

Each has one thread for the work, because a ledger belongs to one thread, but `next` may be called
from any."""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeAlias, TypeVar

from tmuxreap.core.errors import Failure
from tmuxreap.core.results import read
from tmuxreap.interfaces.python.errors import error_of

T = TypeVar("T")
Tell = Callable[[Mapping[str, object]], None]
Items: TypeAlias = "queue.SimpleQueue[Mapping[str, object] | BaseException | None]"


class CloseRequest:
    """The request to end, and the way to wake up the work that should notice it."""

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self._asked = threading.Event()

    def ask(self) -> None:
        self._asked.set()
        self.wake()

    def is_open(self) -> bool:
        return not self._asked.is_set()


class Stream(Generic[T], Iterator[T]):
    """Yields items until it is closed: by `close`, by `with`, or when it is garbage collected."""

    def __init__(self, kind: type[T], work: Callable[[Tell, CloseRequest], None]) -> None:
        self._kind = kind
        self._items: Items = queue.SimpleQueue()
        self._ending = CloseRequest()
        words = (work, self._items, self._ending)
        self._thread = threading.Thread(target=_run, args=words, name="tmuxreap", daemon=True)
        self._thread.start()
        weakref.finalize(self, self._ending.ask)

    def __next__(self) -> T:
        """Wait for the next item. A failure of the work is raised here."""
        item = self._items.get()
        if isinstance(item, Mapping):
            return read(self._kind, item)
        self._items.put(None)  # so that every later call ends too
        if isinstance(item, Failure):
            raise error_of(item)
        if item is not None:
            raise item
        raise StopIteration

    def close(self) -> None:
        """End the stream; a waiting `next` then stops."""
        self._ending.ask()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run(work: Callable[[Tell, CloseRequest], None], items: Items, ending: CloseRequest) -> None:
    """Run the work. Not a method: a thread that holds the stream would keep it alive."""
    end: BaseException | None = None
    try:
        with contextlib.suppress(StopIteration):
            work(items.put, ending)
    except BaseException as error:  # noqa: BLE001 - raised by `next`
        end = error
    items.put(end)
