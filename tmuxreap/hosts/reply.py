"""What a host replied: its envelope, and its results for scripts and for people.

Never trusts an answer: malformed parts are left out, and text is escaped before it reaches a
terminal. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.agents.hooks.events import STATES
from tmuxreap.core.answers import RemoteResult
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.foreign import UNKNOWN, known
from tmuxreap.core.model import Live
from tmuxreap.core.results import problem_of
from tmuxreap.core.text import plain
from tmuxreap.core.values import field, frozen
from tmuxreap.hosts.file import Host

# What a verb or the popup counts with; other words are only shown.
WORDS = {
    "state": frozenset((*STATES, "limited", UNKNOWN)),
    "live": frozenset(live.value for live in Live),
}


@frozen
class Reply:
    """A host's reply. `answer` is its envelope, empty if there is none; `items` are its results."""

    host: Host
    answer: Mapping[str, object] = field(default_factory=dict)
    items: tuple[RemoteResult, ...] = ()
    identities: Mapping[str, object] = field(default_factory=dict)
    failure: Failure | None = None
    unknown: bool = False  # the request was sent, but its outcome is unknown
    version: str | None = None
    took_s: float = 0.0

    @property
    def trouble(self) -> Failure | None:
        """The failure of the host itself."""
        return self.failure or failure_of(self.answer.get("error"), self.host.name)

    @property
    def status(self) -> int:
        if self.failure is not None:
            return int(self.failure.code.exit)
        status = self.answer.get("exit_code")
        return status if isinstance(status, int) else int(Exit.FAILED)


def reply_of(host: Host, facts: Mapping[str, object], version: str) -> Reply:
    """Read an answer; raise ValueError if it is none of ours."""
    answer, identities = facts.get("answer"), facts.get("identities")
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(results, list):
        raise ValueError("its answer is none of ours")
    if not all(isinstance(one, dict) for one in results):
        raise ValueError("its answer is none of ours")
    texts = facts.get("texts")
    if not isinstance(texts, list) or len(texts) != len(results):
        texts = [[]] * len(results)
    return Reply(
        host,
        answer,
        tuple(item_of(host, one, text) for one, text in zip(results, texts, strict=True)),
        identities if isinstance(identities, dict) else {},
        version=version,
    )


def item_of(host: Host, facts: Mapping[str, object], text: object = None) -> RemoteResult:
    """Return a result with its host; `text` is the list of its lines."""
    name = facts.get("name")
    name = name if isinstance(name, str) else ""
    lines = [plain(str(line)) for line in text] if isinstance(text, list) else []
    error = problem_of(failure_of(facts.get("error"), f"{name}@{host.name}"))
    shown = _with_host(lines, plain(name), host.name)
    return RemoteResult(name, host.name, _known(facts), shown, error=error)


def _known(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Return the facts with the words that this version knows."""
    words = {key: known(facts[key], WORDS[key]) for key in WORDS if key in facts}
    return {**facts, **words}


def _with_host(lines: list[str], name: str, host: str) -> tuple[str, ...]:
    """Add the host to the first line that users read."""
    first, *rest = lines or ("",)
    if name and first.startswith(f"{name}:"):
        first = f"{name}@{host}{first[len(name) :]}"
    elif name and f"  {name}  " in first:
        first = first.replace(f"  {name}  ", f"  {name}@{host}  ", 1)
    elif first:
        first = f"{host}: {first}"
    return (first, *rest) if lines else ()


def failure_of(error: object, source: str) -> Failure | None:
    """Convert an error; the unknown code of a newer version becomes a generic one."""
    if not isinstance(error, dict):
        return None
    message, hint = f"{source}: {error.get('message')}", str(error.get("hint") or "")
    return Failure(Code.of(error.get("code")), message, hint)
