"""The popup's requests to the program: the same functions as the verbs, each call with its own
context, so that any thread may call. Never draws."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tmuxreap.commands import adopt, resume, start, stop
from tmuxreap.commands import list as listing
from tmuxreap.commands.reconcile.drift import DriftKind
from tmuxreap.commands.reconcile.reconcile import settle
from tmuxreap.core.answers import Drift, Session
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Live, Row, Server, Status, SwitchClient, Verb
from tmuxreap.core.results import Result
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.plan import REASONS, Policy
from tmuxreap.hosts.file import read_hosts
from tmuxreap.interfaces.popup import far
from tmuxreap.interfaces.popup.choices import choices_path
from tmuxreap.interfaces.remote.near import attach_command
from tmuxreap.interfaces.text.progress import Progress
from tmuxreap.registry.targets import RESERVED
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.look import sight_of

T = TypeVar("T")
ON_A_SERVER = (Live.ALIVE, Live.AGENT_GONE)


@frozen
class Client:
    """The tmux client that the popup was opened in; without a name, tmux's current client."""

    socket: str
    name: str | None


@frozen
class Seen:
    """One look at everything, and the screen of the selected session."""

    sessions: tuple[Session, ...] = ()
    screen: str = ""
    why: str = ""  # how the selected session differs from the registry
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None


class Desk:
    def __init__(self, new_app: Callable[..., Context], client: Client | None = None) -> None:
        self._new_app = new_app
        self._client = client

    def look(self, chosen: str | None) -> Seen:
        seen = self._result_or_failure(lambda context: _look(context, chosen))
        return Seen(failure=seen) if isinstance(seen, Failure) else seen

    def end(self, host: str, verb: Verb | None, names: Sequence[str], progress: Progress) -> Result:
        """End sessions of a host, "" for this machine, or resume them without a verb; the caller
        has already asked for confirmation."""

        def work(context: Context) -> Result:
            if host:
                _check_exact([name.rpartition("@")[0] for name in names])
                return far.end(context, verb, names)
            _check_exact(names)
            targets = tuple(names)
            if verb is None:
                return resume.run(context, resume.ResumeRequest(targets))
            policy = Policy(verb, REASONS[verb])
            return stop.run(context, stop.EndRequest(targets, policy, yes=True))

        return self._answer(verb.value if verb else "resume", work, progress)

    def adopt(self, names: Sequence[str]) -> Result:
        """Register these agents' sessions."""
        request = adopt.AdoptAllRequest(yes=True, only=frozenset(names))
        return self._answer("adopt", lambda context: adopt.run_all(context, request))

    def start(self, name: str, agent: str, folder: str) -> Result:
        request = start.StartRequest(name, agent or None, folder or None)
        return self._answer("start", lambda context: start.run(context, request))

    def agents(self) -> list[str]:
        """Return the agents that are installed on this machine."""
        return self._run(start.installed)

    def choices_file(self) -> Path | None:
        return self._run(
            lambda context: choices_path(context.settings.environ, context.settings.home)
        )

    # Of other hosts

    def hosts(self) -> tuple[str, ...] | Failure:
        """Return the hosts listed in hosts.yaml."""

        def work(context: Context) -> tuple[str, ...]:
            listed = read_hosts(context.settings)
            if listed.found:
                return tuple(listed.found)
            reason = f"could not show other hosts: none is listed in {listed.path or 'hosts.yaml'}"
            raise Failure(Code.USAGE, reason, "docs/hosts.md says how one is listed")

        return self._result_or_failure(work)

    def look_at_host(self, host: str, before: far.HostAnswer) -> far.HostAnswer:
        return self._run(lambda context: far.look(context, host, before))

    def remote_screen(self, target: str) -> str:
        screen = self._result_or_failure(lambda context: far.screen(context, target))
        return "" if isinstance(screen, Failure) else screen

    def attach_command(self, target: str) -> tuple[str, ...] | Failure | None:
        return self._result_or_failure(lambda context: attach_command(context, target))

    def jump(self, name: str) -> Result:
        """Switch the client to the session, if it is still the one that was seen."""

        def work(context: Context) -> Result:
            _jump(context, name, self._client)
            return context.result("jump")

        return self._answer("jump", work)

    def _run(self, work: Callable[[Context], T], progress: Progress | None = None) -> T:
        context = self._new_app(progress=progress)
        try:
            return work(context)
        finally:
            context.close()

    def _result_or_failure(self, work: Callable[[Context], T]) -> T | Failure:
        try:
            return self._run(work)
        except Failure as failure:
            return failure

    def _answer(
        self, command: str, work: Callable[[Context], Result], progress: Progress | None = None
    ) -> Result:
        def answered(context: Context) -> Result:
            try:
                return work(context)
            except Failure as failure:
                return context.result(command, failure=failure)

        return self._run(answered, progress)


def _look(context: Context, chosen: str | None) -> Seen:
    result = listing.run(context, listing.ListRequest())
    sessions = [item for item in result.results if isinstance(item, Session)]
    sessions += [_unregistered(one) for one in _listed(result.more.get("unregistered"))]
    selected = next((one for one in sessions if one.name == chosen), None)
    screen = _screen(context, selected) if selected else ""
    return Seen(tuple(sessions), screen, _why(context, selected), result.warnings)


def silent_progress() -> Progress:
    """Return a progress that is read, not drawn: `at` has the rung of each session."""
    return Progress(io.StringIO(), time.monotonic, live=True)


UNREGISTERED = DriftKind.UNREGISTERED.value


def _listed(found: object) -> list[dict[str, str]]:
    return found if isinstance(found, list) else []


def _unregistered(one: Mapping[str, str]) -> Session:
    """Return an agent's session without a row, for the table."""
    session = Session(one["name"], one["agent"], Status.RUNNING, Live.ALIVE)
    return replace(session, drift=UNREGISTERED)


def _why(context: Context, one: Session | None) -> str:
    """Say why the row differs from reality, and what fixes it."""
    if one is None or one.drift is None:
        return ""
    if one.drift == UNREGISTERED:
        return "an agent runs in it and it is not registered: + registers it"
    drifts = settle(context, dry_run=True, only=frozenset({one.name})).result.results
    drift = next((item for item in drifts if isinstance(item, Drift)), None)
    if drift is None:
        return ""
    fix = "reconcile records it" if drift.settled else f"hint: {drift.hint}"
    return f"{drift.drift}: {drift.evidence}; {fix}"


def _check_exact(names: Sequence[str]) -> None:
    reserved = next((name for name in names if name in RESERVED), None)
    if reserved is not None:
        reason = f"could not choose {reserved!r}: as a target it means more than that session"
        raise Failure(Code.ROW_INVALID, reason, "rename the row")


def _row(context: Context, name: str) -> Row:
    row = context.registry.look().named(name)
    if row is None:
        reason = f"could not find {name!r}: its row is gone"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")
    return row


def _screen(context: Context, one: Session) -> str:
    """Return the current screen; for an ended session the last recorded one."""
    if one.drift == UNREGISTERED:
        return ""
    row = _row(context, one.name)
    text = row.last_screen
    if one.live in ON_A_SERVER and one.pane_id:
        text = context.tmux.capture(context.servers.of(row), one.pane_id, joined=True)
    return kept_screen(text or "")


def _jump(context: Context, name: str, client: Client | None) -> None:
    sight = sight_of(context, _row(context, name))
    if sight.session is None or not isinstance(sight.server, Server):
        hint = f"begin it again with: {command('resume', name)}"
        code = Code.SESSION_NOT_REGISTERED
        raise could_not("go to", name, "it has no session", hint, code)
    attach = f"tmux -S {sight.socket} attach -t '{sight.session.id}'"
    if client is None:
        raise could_not("go to", name, "this is no tmux client", f"attach to it: {attach}")
    if client.socket != sight.socket:
        hint = f"in another terminal: {attach}"
        raise could_not("go to", name, "it lives on another tmux server", hint)
    pane = sight.pane or sight.session.panes[0]
    switch = SwitchClient(sight.server, sight.session, pane, client.name)
    if not context.tmux.do(sight.socket, [switch]):
        reason, hint = "tmux did not switch the client", "close the popup, then: tmux choose-tree"
        raise could_not("go to", name, reason, hint, Code.TMUX_UNREACHABLE)
