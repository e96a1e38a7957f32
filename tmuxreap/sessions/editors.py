"""Finds the editor in which an agent has opened its draft: the editor's file holds the whole draft,
where the screen shows only a part. Never changes anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from tmuxreap.agents.profiles import Profile, program_names
from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen

# These draw in the terminal in which they are started, and leave nothing behind when ended.
EDITORS = frozenset({"vi", "vim", "vim.basic", "vim.tiny", "nvim", "nano"})
NAMED_BY = ("VISUAL", "EDITOR")


@frozen
class Opened:
    editor: ProcessId
    text: str


def may_open(
    processes: Processes, agent: Collection[Process], profile: Profile, store: Path | None
) -> bool:
    """Tell whether the agent would start one of these editors, by its environment, and none runs
    yet. Any other editor might open its own window."""
    environs = (processes.environ(process.id) for process in agent)
    environ = next((environ for environ in environs if environ is not None), {})
    called = next((words for name in NAMED_BY if (words := environ.get(name, "").split())), [""])
    return (
        called[0].rpartition("/")[2] in EDITORS
        and not _set_otherwise(profile, store)
        and not any(_below(processes, agent))
    )


def _set_otherwise(profile: Profile, store: Path | None) -> bool:
    """Tell whether the agent's own settings name an editor, which may be any."""
    if profile.editor_set is None or store is None:
        return False
    try:
        text = (store / (profile.editor_file or "")).read_text(errors="replace")
    except OSError:
        return False
    return profile.editor_set.search(text) is not None


def opened(processes: Processes, agent: Collection[Process]) -> Opened | None:
    """Return the draft once the editor runs; the editor may exit at any moment."""
    for process in _below(processes, agent):
        path = Path("".join(processes.argv(process.id)[-1:]))
        try:
            if path.is_absolute() and path.is_file():
                return Opened(process.id, path.read_text(errors="replace"))
        except OSError:
            continue
    return None


def _below(processes: Processes, agent: Collection[Process]) -> Iterator[Process]:
    """Yield the editors among the agent's descendants."""
    table = processes.look()
    ours = {process.pid for process in agent}
    for process in table.values():
        argv = processes.argv(process.id)
        if EDITORS.isdisjoint(program_names(argv[:1], process.comm, None)):
            continue
        ancestor: Process | None = process
        while ancestor is not None and ancestor.pid not in ours:
            ancestor = table.get(ancestor.ppid)
        if ancestor is not None:
            yield process
