"""What comes bit by bit: events and changes, as an iterator that any thread may read and close.

Owns one thread for each stream: the ledger belongs to one thread, and `next` may be called in
another one each time."""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Generic, TypeVar

from tmuxreap.core.answers.base import read
from tmuxreap.core.errors import Failure
from tmuxreap.interfaces.python.errors import error_of

T = TypeVar("T")
Tell = Callable[[Mapping[str, object]], None]


class Ending:
    """The wish to end, and how the work is woken up to hear it."""

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self._asked = threading.Event()

    def ask(self) -> None:
        self._asked.set()
        self.wake()

    def goes_on(self) -> bool:
        return not self._asked.is_set()


class Stream(Generic[T], Iterator[T]):
    """Yields what comes, until it is closed: by `close`, by `with`, or when nobody holds it."""

    def __init__(self, kind: type[T], work: Callable[[Tell, Ending], None]) -> None:
        self._kind = kind
        self._come: queue.SimpleQueue[Mapping[str, object] | BaseException | None] = (
            queue.SimpleQueue()
        )
        self._ending = Ending()
        words = (work, self._come, self._ending)
        self._thread = threading.Thread(target=_run, args=words, name="tmuxreap", daemon=True)
        self._thread.start()
        weakref.finalize(self, self._ending.ask)

    def __iter__(self) -> Stream[T]:
        return self

    def __next__(self) -> T:
        """Wait for the next one. What went wrong in the work is raised here."""
        come = self._come.get()
        if isinstance(come, Mapping):
            return read(self._kind, come)
        self._come.put(None)  # whoever asks again is told the same
        if isinstance(come, Failure):
            raise error_of(come)
        if come is not None:
            raise come
        raise StopIteration

    def close(self) -> None:
        """End it; whoever waits for the next one hears that there is none."""
        self._ending.ask()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _run(
    work: Callable[[Tell, Ending], None],
    come: queue.SimpleQueue[Mapping[str, object] | BaseException | None],
    ending: Ending,
) -> None:
    """Not a method: a thread that held the stream would keep it alive."""
    end: BaseException | None = None
    try:
        with contextlib.suppress(StopIteration):
            work(come.put, ending)
    except BaseException as error:  # noqa: BLE001 - told to whoever reads
        end = error
    come.put(end)
