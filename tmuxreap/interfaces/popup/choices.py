"""The user's choices in the popup: the order, the filter, whether to show ended sessions and those
of other hosts. A file keeps all but the filter for the next popup; the rest is pure."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path

from tmuxreap.core.answers import Session
from tmuxreap.core.text import plain
from tmuxreap.core.values import frozen, replace
from tmuxreap.proof.state import AgentState

FILE = Path("tmuxreap") / "popup.json"
# Sessions waiting for a person first, then those that differ from the registry (None).
ATTENTION = (
    AgentState.WAITING.value,
    AgentState.LIMITED.value,
    None,
    AgentState.UNKNOWN.value,
    AgentState.IDLE.value,
    AgentState.WORKING.value,
)
SORTS: dict[str, Callable[[Session], object]] = {
    "attention": lambda one: (_attention(one), one.name),
    "name": lambda one: one.name,
    "idle": lambda one: (-(one.idle_s or 0), one.name),
    "memory": lambda one: (-one.memory_mb, one.name),
    "agent": lambda one: (one.agent or "", one.name),
}


@frozen
class Choices:
    sort: str = "attention"
    ended: bool = False
    only: str = ""
    hosts: bool = False

    def next_sort(self) -> Choices:
        names = [*SORTS]
        return replace(self, sort=names[(names.index(self.sort) + 1) % len(names)])


def arranged(
    sessions: Sequence[Session], choices: Choices, kept: Container[str] = ()
) -> list[Session]:
    """Return the visible sessions in order, ended ones last. `kept`: ended sessions that stay
    visible, because the popup has just acted on them."""
    shown = [
        one
        for one in sessions
        if matches(one, choices.only)
        and (choices.ended or choices.only or not one.ended or one.drift or one.name in kept)
    ]
    shown.sort(key=SORTS[choices.sort])  # type: ignore[arg-type]
    return sorted(shown, key=lambda one: one.ended and one.drift is None)


def matches(one: Session, words: str) -> bool:
    """Tell whether the row's text contains all of the words."""
    facts = [one.name, one.agent or "", str(one.status), one.state or "", *one.tags]
    text = plain(" ".join([*facts, one.drift or ""])).lower()
    return all(word in text for word in words.lower().split())


def _attention(one: Session) -> int:
    return ATTENTION.index(None if one.drift is not None else one.state)


def choices_path(environ: Mapping[str, str], home: Path | None) -> Path | None:
    """Return the file of the choices, below `$XDG_STATE_HOME` or HOME; None if neither is set."""
    given = environ.get("XDG_STATE_HOME", "")
    if given.startswith("/"):
        return Path(given) / FILE
    return home / ".local" / "state" / FILE if home else None


def load_choices(path: Path | None) -> Choices:
    try:
        data = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError, RecursionError):
        return Choices()
    if not isinstance(data, dict) or str(data.get("sort")) not in SORTS:
        return Choices()
    ended, hosts = (data.get(flag) is True for flag in ("ended", "hosts"))
    return Choices(str(data["sort"]), ended, hosts=hosts)


def save_choices(path: Path | None, choices: Choices) -> None:
    """Save the choices; a file that cannot be written only loses them."""
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        words = {"sort": choices.sort, "ended": choices.ended, "hosts": choices.hosts}
        path.write_text(json.dumps(words) + "\n", encoding="utf-8")
