"""The popup's requests to other hosts, one host per call, like `--host`. Never draws."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from tmuxreap.core.answers import RemoteResult, Session
from tmuxreap.core.errors import Failure, command
from tmuxreap.core.masking import kept_screen
from tmuxreap.core.model import Live, Verb
from tmuxreap.core.results import Result
from tmuxreap.core.values import frozen, replace
from tmuxreap.interfaces.remote.near import run_on_hosts
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
    remote = [item for item in result.results if isinstance(item, RemoteResult)]
    sessions = tuple(item.shown for item in remote if item.shown is not None)
    return HostAnswer(sessions or _unknown(before), problem) if problem else HostAnswer(sessions)


def _unknown(before: HostAnswer) -> tuple[Session, ...]:
    return tuple(replace(one, live=Live.UNKNOWN, state=None, drift=None) for one in before.sessions)


def screen(context: Context, target: str) -> str:
    """Return the screen as `show` on the host prints it; "" if the host does not answer."""
    result = run_on_hosts(context, "show", None, {"targets": [target]})
    first = next(iter(result.results), None) if result else None
    text = first.facts.get("screen") if isinstance(first, RemoteResult) else None
    return kept_screen(text) if isinstance(text, str) else ""


def end(context: Context, verb: Verb | None, targets: Sequence[str]) -> Result:
    """End or resume remote sessions; the caller has already asked for confirmation."""
    word = verb.value if verb else "resume"
    result = run_on_hosts(context, word, None, {"targets": [*targets], "yes": True})
    return result or Result(word, None, context.clock.now())


class Hosts:
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
        self.names, self._answers = (), {}

    def of(self, local_names: Collection[str]) -> dict[str, str]:
        """Map each remote session's target to its host; a local row of that name wins."""
        hosts: dict[str, str] = {}
        for host, answer in self._answers.items():
            hosts.update((one.name, host) for one in answer.sessions if one.name not in local_names)
        return hosts

    def sessions(self, local_names: Collection[str]) -> list[Session]:
        every = chain.from_iterable(answer.sessions for answer in self._answers.values())
        return [one for one in every if one.name not in local_names]

    def troubles(self) -> list[Failure]:
        return [answer.failure for answer in self._answers.values() if answer.failure is not None]

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
