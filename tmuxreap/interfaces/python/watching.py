"""Owns the waiting part of the Python interface: events, changes and awaited states.

Never changes anything, except `watch(settle=True)`, which does what the verb does."""

from __future__ import annotations

from pathlib import Path

from tmuxreap.core.answers import Awaited, Change, Event
from tmuxreap.core.results import Result
from tmuxreap.interfaces.python.calls import answers_of, check_free, context_of
from tmuxreap.interfaces.python.options import seconds, wanted_state
from tmuxreap.interfaces.python.streams import CloseRequest, Stream, Tell
from tmuxreap.interfaces.python.targets import Target, words_of
from tmuxreap.sessions.context import Context


class Watching:
    """The part of a registry that waits for what happens."""

    path: Path

    def events(self, *targets: Target, since: float | str | None = None) -> list[Event]:
        """Return what happened, oldest first; `since` in seconds, or text such as `"2h"`."""
        from tmuxreap.commands import events as verb

        def work(context: Context) -> Result:
            return verb.run(context, verb.EventsRequest(words_of(context, targets), seconds(since)))

        return answers_of(self.path, Event, work)

    def follow(self, *targets: Target, since: float | str | None = None) -> Stream[Event]:
        """Yield what happened, then new events, until the stream is closed."""
        from tmuxreap.commands import events as verb

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
        from tmuxreap.commands.watch.waiting import Waiter

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

        wanted, timeout_s = wanted_state(until), seconds(timeout)

        def work(context: Context) -> Result:
            check_free(self.path, "wait for sessions")
            words = words_of(context, targets)
            return verb.run(context, verb.WaitRequest(words, wanted, any_of, timeout_s))

        return answers_of(self.path, Awaited, work)
