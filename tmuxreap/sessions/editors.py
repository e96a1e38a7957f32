"""The editor that an agent hands a draft to: its file holds the whole of what the screen shows a
part of. Looks only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import program_names
from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen

# They draw in the terminal that they are started in, and leave nothing behind when they are ended.
EDITORS = frozenset({"vi", "vim", "vim.basic", "vim.tiny", "nvim", "nano"})
NAMED_BY = ("VISUAL", "EDITOR")


@frozen
class Opened:
    editor: ProcessId
    text: str


def may_open(
    processes: Processes, agent: Collection[Process], profile: Profile, store: Path | None
) -> bool:
    """The agent would start one of these, by its environment, and none is there already: never a
    window of its own."""
    told = (processes.environ(process.id) for process in agent)
    environ = next((one for one in told if one is not None), {})
    called = next((words for name in NAMED_BY if (words := environ.get(name, "").split())), [""])
    return (
        called[0].rpartition("/")[2] in EDITORS
        and not _set_otherwise(profile, store)
        and not any(_below(processes, agent))
    )


def _set_otherwise(profile: Profile, store: Path | None) -> bool:
    """The agent's own settings name an editor, which may be any."""
    if profile.editor_set is None or store is None:
        return False
    try:
        text = (store / (profile.editor_file or "")).read_text(errors="replace")
    except OSError:
        return False
    return profile.editor_set.search(text) is not None


def opened(processes: Processes, agent: Collection[Process]) -> Opened | None:
    """What was handed over, as soon as the editor is there; it may leave while we look."""
    for process in _below(processes, agent):
        path = Path("".join(processes.argv(process.id)[-1:]))
        try:
            if path.is_absolute() and path.is_file():
                return Opened(process.id, path.read_text(errors="replace"))
        except OSError:
            continue
    return None


def _below(processes: Processes, agent: Collection[Process]) -> Iterator[Process]:
    """Editors among what those have started."""
    table = processes.look()
    ours = {process.pid for process in agent}
    for process in table.values():
        argv = processes.argv(process.id)
        if EDITORS.isdisjoint(program_names(argv[:1], process.comm, None)):
            continue
        above: Process | None = process
        while above is not None and above.pid not in ours:
            above = table.get(above.ppid)
        if above is not None:
            yield process
