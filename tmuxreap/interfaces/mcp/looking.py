"""Owns the tools that only look: list, show, events, doctor, wait. Never changes anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from tmuxreap.commands import wait
from tmuxreap.commands.watch.waiting import Waiter, Woken
from tmuxreap.core.answers import Listed
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Result, fields_of
from tmuxreap.interfaces.mcp.arguments import Arguments, Names, Seconds, Targets
from tmuxreap.sessions.context import Context

LONGEST_S = 25.0  # of a wait: clients give up on a call after a minute
EXIT_CHECK_S = 0.5  # how soon a waiting call notices that the server has to exit
MOST = 1000
SHOWN = frozenset(fields_of(Listed)) - {"name"}
Limit = Annotated[int, Field(ge=1, le=MOST, description="At most so many.")]
StatusWord = Literal["running", "stopped", "terminated", "all"]
UntilWord = Literal["idle", "waiting", "working", "limited", "gone", "ended"]
SortWord = Literal["name", "status", "live", "agent", "idle", "memory", "server"]


class ListSessions(Arguments):
    """List sessions: state, whether alive, idle time, conversation. Only running ones, unless
    targets or status say otherwise."""

    verb = "list"
    targets: Names = Field([], description="As in show_session. None: all.")
    status: StatusWord | None = Field(None, description="Only those.")
    live: bool = Field(False, description="Only those whose agent is alive.")
    sort: SortWord | None = Field(None, description="The order.")
    limit: Limit = 50
    fields: list[str] = Field([], description="Only these, as [state, cwd]. None: all.")

    def words(self) -> dict[str, object]:
        unknown = next((name for name in self.fields if name not in SHOWN | {"name"}), None)
        if unknown is not None:
            reason = f"could not list: there is no field {unknown!r}"
            raise Failure(Code.USAGE, reason, f"there are: {', '.join(sorted(SHOWN))}")
        status = self.status or ("all" if self.targets else "running")
        return {**super().words(), "status": None if status == "all" else status}

    def trimmed(self, answer: dict[str, Any]) -> dict[str, Any]:
        kept = _limited(answer, self.limit, "sessions")
        if self.fields:
            wanted = {"name", "error", "host", "target", *self.fields}
            kept["results"] = [
                {key: entry[key] for key in entry if key in wanted} for entry in kept["results"]
            ]
        return kept


def _limited(
    answer: Mapping[str, Any], limit: int, what: str, *, last: bool = False
) -> dict[str, Any]:
    results = answer["results"]
    if len(results) <= limit:
        return dict(answer)
    warning = f"{limit} of {len(results)} {what} are told: raise limit, or ask for fewer"
    kept = results[-limit:] if last else results[:limit]
    return {**answer, "warnings": [*answer["warnings"], warning], "results": kept}


class ShowSession(Arguments):
    """Show everything known about sessions: processes, screen, conversation."""

    verb = "show"
    targets: Targets


class Events(Arguments):
    """Show what happened: starts, ends with reasons, drafts that were kept. The newest last."""

    verb = "events"
    targets: Names = Field([], description="Names. None: of all.")
    since: Seconds | None = Field(None, description="Only the last so many seconds.")
    limit: Limit = 50

    def trimmed(self, answer: dict[str, Any]) -> dict[str, Any]:
        return _limited(answer, self.limit, "events", last=True)


class Doctor(Arguments):
    """Check the setup: tmux, registry, ledger, agents, hooks. Each problem with its fix."""

    verb = "doctor"


class WaitSession(Arguments):
    """Wait until all (or any) of the sessions reach a state, end, or are gone. Answers within 25 s;
    on timed_out call again."""

    verb = "wait"
    targets: Targets
    until: UntilWord = Field(description="waiting: for a person; gone: no process left.")
    anyone: bool = Field(False, alias="any", description="One is enough.")
    timeout: Seconds = Field(LONGEST_S, description="Seconds; 25 at most are waited.")

    def run(self, context: Context) -> Result:
        request = wait.WaitRequest(
            tuple(self.targets), wait.Until(self.until), self.anyone, self._timeout_s
        )
        with wait.event_waiter(context, InterruptibleWaiter) as waiter:
            return wait.run(context, request, waiter)

    def words(self) -> dict[str, object]:
        return {**super().words(), "timeout": f"{self._timeout_s:g}"}

    @property
    def _timeout_s(self) -> float:
        return min(self.timeout, LONGEST_S)


class InterruptibleWaiter(Waiter):
    """A waiter that notices when the server has to exit."""

    def wait(self, processes: Iterable[ProcessId], timeout_s: float) -> Woken:
        awaited, left_s = frozenset(processes), timeout_s
        while True:
            self._processes.wait((), 0.0)  # raises if the server has to exit
            woken = super().wait(awaited, min(left_s, EXIT_CHECK_S))
            left_s -= EXIT_CHECK_S
            if woken.gone or woken.changed or left_s <= 0:
                return woken
