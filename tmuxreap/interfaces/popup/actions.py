"""The popup's requests to the program and to other hosts: the same functions as the verbs, each
call with its own context, so that any thread may call. Takes out a terminal's replies to queries of
others, which must never act as commands. Never draws."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TypeVar

from textual.events import Key

from tmuxreap.commands import adopt, restart, resume, start, stop
from tmuxreap.commands import list as listing
from tmuxreap.commands.reconcile.drift import DriftKind
from tmuxreap.commands.reconcile.reconcile import settle
from tmuxreap.core.answers import Drift, Session, Shown
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import EndVerb, Live, Row, Server, Status, SwitchClient
from tmuxreap.core.results import Result, local
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.policy import EndingOptions, make_policy
from tmuxreap.hosts.file import read_hosts
from tmuxreap.interfaces.popup.view import choices_path
from tmuxreap.interfaces.remote.near import attach_command, run_on_hosts
from tmuxreap.interfaces.text.progress import ProgressText
from tmuxreap.registry.targets import RESERVED
from tmuxreap.sessions.context import Context


@frozen
class HostAnswer:
    """The last answer of one host; after a failure the earlier sessions, in an unknown state."""

    sessions: tuple[Session, ...] = ()
    failure: Failure | None = None


def look(context: Context, host: str, before: HostAnswer) -> HostAnswer:
    try:
        result = run_on_hosts(context, "list", [host], {"targets": []})
    except Failure as failure:
        return HostAnswer(_unknown(before), failure)
    assert result is not None  # noqa: S101 - a host was named
    problem = result.failure or next(iter(result.others), None)
    found = [local(item) for item in result.results]
    sessions = tuple(one for one in found if isinstance(one, Session) and one.live is not None)
    if problem:
        return HostAnswer(sessions or _unknown(before), problem)
    return HostAnswer(sessions)


def _unknown(before: HostAnswer) -> tuple[Session, ...]:
    return tuple(replace(one, live=Live.UNKNOWN, state=None, drift=None) for one in before.sessions)


def screen(context: Context, target: str) -> str:
    """Return the screen as `show` on the host prints it; "" if the host does not answer."""
    result = run_on_hosts(context, "show", None, {"targets": [target]})
    first = next(iter(result.results), None) if result else None
    there = local(first) if first is not None else None
    if isinstance(there, Shown):
        return kept_screen(there.screen or "")
    return ""


def end(context: Context, verb: EndVerb | None, targets: Sequence[str]) -> Result:
    """End or resume remote sessions; the caller has already asked for confirmation."""
    if verb is EndVerb.RESTART:
        reason = "could not restart agents of other hosts: only those of this machine"
        raise Failure(Code.USAGE, reason, "restart them there: ssh HOST tmuxreap restart NAME")
    word = verb.value if verb else "resume"
    result = run_on_hosts(context, word, None, {"targets": [*targets], "yes": True})
    return result or Result(word, None, context.clock.now())


class HostAnswers:
    """The last answers of the other hosts, kept separately: one that hangs delays no other."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._answers: dict[str, HostAnswer] = {}
        self._pending: set[str] = set()

    def before(self, host: str) -> HostAnswer:
        return self._answers.get(host, HostAnswer())

    def due(self, at_once: int) -> list[str]:
        """Return the hosts to ask now, and count them as asked."""
        free = max(at_once - len(self._pending), 0)
        hosts = [host for host in self.names if host not in self._pending][:free]
        self._pending.update(hosts)
        return hosts

    def record(self, host: str, answer: HostAnswer) -> None:
        self._pending.discard(host)
        if host in self.names:
            self._answers[host] = answer

    def forget(self) -> None:
        self.names = ()
        self._answers = {}

    def of(self, local_names: Collection[str]) -> dict[str, str]:
        """Map each remote session's target to its host; a local row of that name wins."""
        hosts: dict[str, str] = {}
        for host, answer in self._answers.items():
            hosts.update((one.name, host) for one in answer.sessions if one.name not in local_names)
        return hosts

    def sessions(self, local_names: Collection[str]) -> list[Session]:
        found: list[Session] = []
        for answer in self._answers.values():
            found += [one for one in answer.sessions if one.name not in local_names]
        return found

    def troubles(self) -> list[Failure]:
        found: list[Failure] = []
        for answer in self._answers.values():
            if answer.failure is not None:
                found.append(answer.failure)
        return found

    def waiting(self) -> int:
        """Count the hosts that have not answered yet."""
        return sum(host not in self._answers for host in self.names)


def by_host(targets: Iterable[str], hosts: Mapping[str, str]) -> dict[str, list[str]]:
    """Group targets by their host; "" is this machine."""
    groups: dict[str, list[str]] = {}
    for target in targets:
        groups.setdefault(hosts.get(target, ""), []).append(target)
    return groups


def why(one: Session, host: str) -> str:
    """Name the drift; the reason is only known on the host."""
    return f"{one.drift}; see: {command('reconcile', '--host', host, '--dry-run')}"


T = TypeVar("T")
ON_A_SERVER = (Live.ALIVE, Live.AGENT_GONE)


@frozen
class Client:
    """The tmux client that the popup was opened in; without a name, tmux's current client."""

    socket: str
    name: str | None


@frozen
class Snapshot:
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

    def look(self, chosen: str | None) -> Snapshot:
        seen = self._result_or_failure(lambda context: _look(context, chosen))
        if isinstance(seen, Failure):
            return Snapshot(failure=seen)
        return seen

    def end(
        self, host: str, verb: EndVerb | None, names: Sequence[str], progress: ProgressText
    ) -> Result:
        """End sessions of a host, "" for this machine, or resume them without a verb; the caller
        has already asked for confirmation."""

        def work(context: Context) -> Result:
            if host:
                _check_exact([name.rpartition("@")[0] for name in names])
                return end(context, verb, names)
            _check_exact(names)
            targets = tuple(names)
            if verb is EndVerb.RESTART:
                return restart.run(context, restart.RestartRequest(targets, yes=True))
            if verb is None:
                return resume.run(context, resume.ResumeRequest(targets))
            policy = make_policy(verb, EndingOptions(), context.defaults)
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

    def look_at_host(self, host: str, before: HostAnswer) -> HostAnswer:
        return self._run(lambda context: look(context, host, before))

    def remote_screen(self, target: str) -> str:
        shown = self._result_or_failure(lambda context: screen(context, target))
        return "" if isinstance(shown, Failure) else shown

    def attach_command(self, target: str) -> tuple[str, ...] | Failure | None:
        return self._result_or_failure(lambda context: attach_command(context, target))

    def jump(self, name: str) -> Result:
        """Switch the client to the session, if it is still the one that was seen."""

        def work(context: Context) -> Result:
            _jump(context, name, self._client)
            return context.result("jump")

        return self._answer("jump", work)

    def _run(self, work: Callable[[Context], T], progress: ProgressText | None = None) -> T:
        context = self._new_app(progress=progress)
        try:
            context.configure(lenient=True)
            return work(context)
        finally:
            context.close()

    def _result_or_failure(self, work: Callable[[Context], T]) -> T | Failure:
        try:
            return self._run(work)
        except Failure as failure:
            return failure

    def _answer(
        self, command: str, work: Callable[[Context], Result], progress: ProgressText | None = None
    ) -> Result:
        def answered(context: Context) -> Result:
            try:
                return work(context)
            except Failure as failure:
                return context.result(command, failure=failure)

        return self._run(answered, progress)


def _look(context: Context, chosen: str | None) -> Snapshot:
    result = listing.run(context, listing.ListRequest())
    sessions = [item for item in result.results if isinstance(item, Session)]
    sessions += [_unregistered(one) for one in _listed(result.more.get("unregistered"))]
    selected = next((one for one in sessions if one.name == chosen), None)
    screen = _screen(context, selected) if selected else ""
    return Snapshot(tuple(sessions), screen, _why(context, selected), result.warnings)


def silent_progress() -> ProgressText:
    """Return a progress that is read, not drawn: `at` has the rung of each session."""
    return ProgressText(io.StringIO(), time.monotonic, live=True)


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
    if drift.settled:
        fix = "reconcile records it"
    else:
        fix = f"hint: {drift.hint}"
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
    sight = context.sights.of_row(_row(context, name))
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
        reason = "tmux did not switch the client"
        hint = "close the popup, then: tmux choose-tree"
        raise could_not("go to", name, reason, hint, Code.TMUX_UNREACHABLE)


TOGETHER_S = 0.05  # a user's keys are further apart
LOST_S = 1.0  # after that the end was lost


class Part(Enum):
    ESCAPE = "^"  # how the toolkit reports an ESC of an unknown sequence
    CONTROL = "["  # ends with a letter
    STRING = "P"  # ends with ESC \ or a bell


# After a timeout the toolkit omits the ESC.
BEGINS = {
    "circumflex_accent": Part.ESCAPE,
    "left_square_bracket": Part.CONTROL,
    "right_square_bracket": Part.STRING,
    "alt+shift+p": Part.STRING,
}
AFTER_ESCAPE = {**BEGINS, "P": Part.STRING, "underscore": Part.STRING, "X": Part.STRING}
SURE = ("circumflex_accent", "alt+shift+p")


class Replies:
    """Tracks incoming keys and tells which belong to a terminal's reply."""

    def __init__(self) -> None:
        self._part: Part | None = None
        self._timeout_s = TOGETHER_S
        self._last = 0.0

    def is_part_of_reply(self, key: Key) -> bool:
        """Tell if the key is part of a reply: a bracket may be typed, keys right after it not."""
        late = key.time - self._last > self._timeout_s
        self._last = key.time
        before = None if late else self._part
        self._part = self._after(before, key)
        if before in (None, Part.ESCAPE):
            sure = before is not None or key.key == "alt+shift+p"
            if sure and self._part is Part.STRING:
                self._timeout_s = LOST_S
            else:
                self._timeout_s = TOGETHER_S
        if before is None:
            return key.key in SURE
        return self._part is not None or self._ends(before, key)

    def _after(self, before: Part | None, key: Key) -> Part | None:
        if before is None:
            return BEGINS.get(key.key)
        if before is Part.ESCAPE:
            return AFTER_ESCAPE.get(key.key)
        return None if self._ends(before, key) else before

    def _ends(self, before: Part | None, key: Key) -> bool:
        if before is Part.CONTROL:
            return "@" <= (key.character or "") <= "~"
        return before is Part.STRING and (key.key.endswith("backslash") or key.key == "ctrl+g")
