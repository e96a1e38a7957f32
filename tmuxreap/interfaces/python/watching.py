"""Owns the waiting part of the Python interface: awaited states, and streams of events and changes
that any thread may read and close. Never changes anything, except `watch(settle=True)`, which does
what the verb does."""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from tmuxreap.commands import events as verb
from tmuxreap.commands.watch.waiting import Waiter
from tmuxreap.core.answers import Awaited, Change, Event
from tmuxreap.core.errors import Failure
from tmuxreap.core.results import Result, read
from tmuxreap.interfaces.python.calls import Target, answers_of, check_free, context_of, words_of
from tmuxreap.interfaces.python.options import error_of, seconds, wanted_state
from tmuxreap.sessions.context import Context

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


class Watching:
    """The part of a registry that waits for what happens."""

    path: Path

    def events(self, *targets: Target, since: float | str | None = None) -> list[Event]:
        """Return what happened, oldest first; `since` in seconds, or text such as `"2h"`."""

        def work(context: Context) -> Result:
            return verb.run(context, verb.EventsRequest(words_of(context, targets), seconds(since)))

        return answers_of(self.path, Event, work)

    def follow(self, *targets: Target, since: float | str | None = None) -> Stream[Event]:
        """Yield what happened, then new events, until the stream is closed."""
        since_s = seconds(since)

        def work(tell: Tell, ending: CloseRequest) -> None:
            with context_of(self.path) as context:
                request = verb.EventsRequest(words_of(context, targets), since_s)
                for event in verb.follow(context, request, ending.is_open):
                    tell(event.as_json())

        return Stream(Event, work)

    def watch(self, *, settle: bool = False, interval: float | str = 10.0) -> Stream[Change]:
        """Yield each drift when it appears, until the stream is closed. Nothing is written unless
        `settle` is given: then what is certain is settled, as by `tmuxreap watch`."""
        from tmuxreap.commands.watch import watch as verb

        interval_s = max(seconds(interval) or 0.0, verb.LEAST_INTERVAL_S)

        def work(tell: Tell, ending: CloseRequest) -> None:
            with context_of(self.path, "watch") as context:
                context.registry.look()  # an unreadable registry is an error now
                waiter = Waiter(context.processes, context.registry.resolved, signals=False)
                ending.wake = waiter.ring
                if not ending.is_open():
                    waiter.ring()
                request = verb.WatchRequest(interval_s, settle=settle)
                verb.run(context, request, lambda change: tell(change.as_json()), waiter)

        return Stream(Change, work)

    def wait(
        self,
        *targets: Target,
        until: str,
        any_of: bool = False,
        timeout: float | str | None = None,
    ) -> list[Awaited]:
        """Wait until sessions are `idle`, `waiting`, `working`, `limited`, `gone` or `ended`: all
        of them, or with `any_of` one. Raises EndingError with the code `timed_out`, or `gone` if
        one died first, and the answers in `results`."""
        from tmuxreap.commands import wait as verb

        wanted = wanted_state(until)
        timeout_s = seconds(timeout)

        def work(context: Context) -> Result:
            check_free(self.path, "wait for sessions")
            words = words_of(context, targets)
            return verb.run(context, verb.WaitRequest(words, wanted, any_of, timeout_s))

        return answers_of(self.path, Awaited, work)
