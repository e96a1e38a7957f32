"""What an agent has given its terminal to: the editor that holds a draft, a pager, any program
below it that gets the keys instead. Reads only, and never sends a key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import program_names
from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import frozen
from tmuxreap.proof.panes import in_foreground

# These draw in the terminal in which they are started, and leave nothing behind when ended.
EDITORS = frozenset({"vi", "vim", "vim.basic", "vim.tiny", "nvim", "nano"})
OTHERS = frozenset(
    {"emacs", "hx", "helix", "kak", "micro", "joe", "mcedit"}
)  # only if open already
NAMED_BY = ("VISUAL", "EDITOR")
TERMINALS = ("/dev/pts/", "/dev/tty")


@frozen
class Opened:
    editor: ProcessId
    text: str  # of its file: what was not saved is on its screen alone
    name: str = "the editor"


def may_open(
    processes: Processes, agent: Collection[Process], profile: Profile, store: Path | None
) -> bool:
    """Tell whether the agent would start one of these editors, by its environment, and none runs
    yet. Any other editor might open its own window."""
    return (
        next(_named(processes, agent), "") in EDITORS
        and not _set_otherwise(profile, store)
        and not any(_editors(processes, agent))
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
    for process in _editors(processes, agent):
        path = Path("".join(processes.argv(process.id)[-1:]))
        try:
            if path.is_absolute() and path.is_file():
                return Opened(process.id, path.read_text(errors="replace"), process.comm)
        except OSError:
            continue
    return None


def in_front_of(
    processes: Processes,
    agent: Collection[Process],
    among: Iterable[Process],
    known: Collection[str],
) -> Process | None:
    """Return the program below the agent that gets the keys of its terminal: an editor, one of the
    known programs, or what the agent's environment names as its editor. `among`: the processes that
    it may be."""
    for process in _below(agent, {one.pid: one for one in among}):
        names = program_names(processes.argv(process.id)[:1], process.comm, None)
        reads = processes.input_of(process.id)
        if reads is not None and not reads.startswith(TERMINALS):
            continue
        if not {*EDITORS, *OTHERS, *known, *_named(processes, agent)}.isdisjoint(names):
            return process
    return None


def _named(processes: Processes, agent: Collection[Process]) -> Iterator[str]:
    """Yield the editors that the agent's environment names."""
    environs = (processes.environ(process.id) for process in agent)
    environ = next((environ for environ in environs if environ is not None), {})
    for name in NAMED_BY:
        for program in environ.get(name, "").split()[:1]:
            yield program.rpartition("/")[2]


def _editors(processes: Processes, agent: Collection[Process]) -> Iterator[Process]:
    """Yield the editors to which the agent has given its terminal."""
    for process in _below(agent, processes.look()):
        argv = processes.argv(process.id)
        if not (EDITORS | OTHERS).isdisjoint(program_names(argv[:1], process.comm, None)):
            yield process


def _below(agent: Collection[Process], table: Mapping[int, Process]) -> Iterator[Process]:
    """Yield the agent's descendants that are in front on its own terminal."""
    ours = {process.pid for process in agent}
    terminals = {process.tty for process in agent}
    for process in table.values():
        if process.pid in ours or process.tty not in terminals or not in_foreground(process):
            continue
        above = table.get(process.ppid)
        while above is not None and above.pid not in ours:
            above = table.get(above.ppid)
        if above is not None:
            yield process
