"""Owns what Python does to sessions: `stop`, `kill`, `restart`, `interrupt`, `send`, `reap`.

Turns options into a policy or a request; `commands` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from tmuxreap.commands.reap.verdicts import kinds_wanted
from tmuxreap.core.answers import Interrupted, Sent
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Ending, Restarted, Result
from tmuxreap.ending.policy import EndingOptions, make_policy
from tmuxreap.interfaces.python.calls import (
    Several,
    Target,
    answers_of,
    check_free,
    ender_of,
    listed,
    words_of,
)
from tmuxreap.interfaces.python.options import (
    KillOptions,
    StopOptions,
    options_of,
    seconds,
)
from tmuxreap.sessions.context import Context

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Stopping:
    """The part of a registry that ends sessions and turns."""

    path: Path

    @overload
    def stop(
        self, target: Target, /, *, check: bool = ..., **how: Unpack[StopOptions]
    ) -> Ending: ...
    @overload
    def stop(
        self, target: Several, /, *, check: bool = ..., **how: Unpack[StopOptions]
    ) -> list[Ending]: ...
    def stop(
        self, target: Target | Several, /, *, check: bool = False, **how: Unpack[StopOptions]
    ) -> Ending | list[Ending]:
        """Stop sessions properly: exit keys, hangup, SIGKILL; proven gone, captured, recorded.

        A failure is in the `error` of its result, and raised only with `check`.

        Options: `reason`, `keys_timeout`, `grace` and `after_turn` (seconds), `force=False` (never
        SIGKILL), `whole_session`, `pane_only`, `itself`, `cleanup`, `set` (a name for
        those that it ends), `purge_conversation` (with `yes`), `unregistered`, `dry_run`, `yes`."""
        return self._end(EndVerb.STOP, target, how, check)

    @overload
    def kill(
        self, target: Target, /, *, check: bool = ..., **how: Unpack[KillOptions]
    ) -> Ending: ...
    @overload
    def kill(
        self, target: Several, /, *, check: bool = ..., **how: Unpack[KillOptions]
    ) -> list[Ending]: ...
    def kill(
        self, target: Target | Several, /, *, check: bool = False, **how: Unpack[KillOptions]
    ) -> Ending | list[Ending]:
        """Kill sessions that hang: SIGTERM, then SIGKILL, no keys. Options as for `stop`, except
        `keys_timeout` and `after_turn`; also `task_status` (`failed`, `ready`, `cancelled`)."""
        return self._end(EndVerb.KILL, target, how, check)

    def interrupt(
        self, *targets: Target, dry_run: bool = False, yes: bool = False
    ) -> list[Interrupted]:
        """End the agents' current turn with their own key; the sessions keep running. Raises
        EndingError with the code `not_interruptible`, `own_session` or `gone`, and the answers in
        `results`."""
        from tmuxreap.commands import interrupt as verb

        def work(context: Context) -> Result:
            check_free(self.path, "interrupt agents")
            return verb.run(
                context, verb.InterruptRequest(words_of(context, targets), dry_run, yes)
            )

        return answers_of(self.path, Interrupted, work)

    def send(
        self,
        name: str,
        text: str,
        *,
        when_idle: float | str | None = None,
        confirm: float | str | None = None,
        dry_run: bool = False,
    ) -> Sent:
        """Give an idle agent one prompt; `when_idle`: wait so long for it. Raises EndingError with
        the code `not_idle` (nothing was typed) or `unconfirmed` (look before you send it again),
        and the answer in `results`."""
        from tmuxreap.commands import send as verb

        if confirm is None:
            confirm_s = verb.CONFIRM_S
        else:
            confirm_s = seconds(confirm) or 0.0
        request = verb.SendRequest(name, text, seconds(when_idle) or 0.0, confirm_s, dry_run)

        def work(context: Context) -> Result:
            check_free(self.path, f"send to {name}")
            return verb.run(context, request)

        return answers_of(self.path, Sent, work)[0]

    def restart(
        self,
        *targets: Target,
        when_idle: float | str | None = None,
        at_once: int = 1,
        dry_run: bool = False,
        yes: bool = False,
    ) -> list[Restarted]:
        """Restart agents in their own panes, in their conversations and with their drafts;
        `when_idle`: wait so long until each is idle. Raises EndingError with the code `not_idle`,
        `not_resumable`, `own_session`, `gone` or `start_failed`, and the answers in `results`."""
        from tmuxreap.commands import restart as verb

        def work(context: Context) -> Result:
            check_free(self.path, "restart agents")
            words = words_of(context, targets)
            idle_s = None if when_idle is None else seconds(when_idle)
            request = verb.RestartRequest(words, idle_s, at_once, dry_run=dry_run, yes=yes)
            return verb.run(context, request)

        return answers_of(self.path, Restarted, work)

    def reap(
        self,
        *,
        stalled: bool = False,
        idle: bool = False,
        expired: bool = False,
        orphans: bool = False,
        stalled_after: float | str | None = None,
        idle_after: float | str | None = None,
        grace: float | str | None = None,
        cleanup: bool | None = None,
        task_status: str = "failed",
        reason: str | None = None,
        set: str | None = None,  # noqa: A002 - named like the flag
        dry_run: bool = False,
        yes: bool = False,
        check: bool = False,
    ) -> list[Ending]:
        """End what evidence shows to be stalled, idle, past its ttl or left behind; without any of
        the four, all kinds. Without `yes` it only returns the plan."""
        from tmuxreap.commands.reap import reap as verb

        options = EndingOptions(
            reason, grace=grace, cleanup=cleanup, task_status=task_status, set_name=set
        )

        def work(context: Context) -> Result:
            request = verb.request_of(
                context,
                kinds_wanted(stalled, idle, expired, orphans),
                options,
                stalled_after=stalled_after,
                idle_after=idle_after,
                dry_run=dry_run,
                yes=yes,
            )
            return verb.run(context, request)

        return ender_of(self.path, work, (), check=check)

    def _end(
        self,
        verb: EndVerb,
        target: Target | Several,
        how: StopOptions | KillOptions,
        check: bool,
    ) -> Ending | list[Ending]:
        from tmuxreap.commands import stop

        options = options_of(verb, how)
        targets, several = listed(target)
        dry_run = how.get("dry_run", False)
        yes = how.get("yes", False)

        def work(context: Context) -> Result:
            policy = make_policy(verb, options, context.defaults)
            words = words_of(context, targets)
            return stop.run(context, stop.EndRequest(words, policy, dry_run, yes))

        ended = ender_of(self.path, work, targets, check=check)
        return ended if several else ended[0]
