"""What may follow on the command line: verbs, flags, and the sessions of the registry with their
state as a hint.

Answers before a command line is built, and reads the registry line by line: the usual style, not
all of YAML; a row that it cannot read is not offered. States are the last ones in the ledger. It
looks at nothing else, never fails, and prints nothing if it does not know. One candidate per line,
with a tab before its hint; `:files` alone lets the shell complete files."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from tmuxreap.interfaces.completion.sketch import Sketch, agents_of, rows_of
from tmuxreap.interfaces.completion.vocabulary import AGENTS, VERBS
from tmuxreap.system.environment import Settings, registry_path
from tmuxreap.system.whereabouts import ledger_beside

Offer = tuple[str, str]
FILES: Offer = (":files", "")
RUNNING, ENDED = frozenset({"running"}), frozenset({"stopped", "terminated", "archived"})
WANTED = {
    "stop": RUNNING,
    "kill": RUNNING,
    "start": ENDED,
    "resume": ENDED,
    "forget": ENDED,
}  # other verbs: all
REPEATED = ("--tag", "--host")
OPENING = "'\""


def main(words: Sequence[str]) -> int:
    """Answer `_complete`, with the words before the cursor and the one being typed."""
    try:
        before, current = list(words[1:-1]), words[-1].lstrip(OPENING) if len(words) > 1 else ""
        fitting = {value: hint for value, hint in offers(before, current) if _fits(value, current)}
        print("".join(f"{value}\t{hint}\n" for value, hint in fitting.items()), end="")
    except Exception:  # noqa: BLE001, S110 - an error would garble the command line
        pass
    return 0


def _fits(value: str, current: str) -> bool:
    return (value.startswith(current) or value == FILES[0]) and value.isprintable()


def offers(before: Sequence[str], current: str) -> Iterator[Offer]:
    at = next((n for n, word in enumerate(before) if not word.startswith("-")), None)
    if at is None:
        verbs = [(verb, what) for verb, (what, *_) in VERBS.items()]
        yield from [("--version", ""), ("--help", "")] if current.startswith("-") else verbs
    elif before[at] in VERBS:
        yield from _Line(before[at], before[at + 1 :]).offers(current)


class _Line:
    """The command line after the verb."""

    def __init__(self, verb: str, words: Sequence[str]) -> None:
        self.verb, self.words = verb, words
        _, arguments, self.flags = VERBS[verb]
        self.arguments = arguments.split()
        self.given: list[str] = []
        self.named: list[str] = []
        self.pending = ""  # a flag whose value is missing
        self.closed = False  # after --
        for word in words:
            self._take(word)

    def _take(self, word: str) -> None:
        if self.pending:
            self.pending = ""
        elif self.closed or not word.startswith("-") or word == "-":
            self.named.append(word)
        elif word == "--":
            self.closed = True
        else:
            self.given.append(word.partition("=")[0])
            self.pending = word if self.flags.get(word, ("", ""))[0] else ""

    def offers(self, current: str) -> Iterator[Offer]:
        flag, equals, _ = current.partition("=")
        if self.pending:
            yield from self._of(self.flags[self.pending][0])
        elif self.closed or not current.startswith("-"):
            yield from self._of(self._argument())
        elif equals and flag in self.flags:
            yield from ((f"{flag}={value}", hint) for value, hint in self._of(self.flags[flag][0]))
        else:
            for name, (_, what) in self.flags.items():
                if name not in self.given or name in REPEATED:
                    yield name, what

    def _argument(self) -> str:
        """Return the kind of argument expected; the last one repeats, -- starts a command."""
        if not self.arguments or (self.closed and self.arguments[-1] == "COMMAND..."):
            return "FILE" if self.closed else ""
        return self.arguments[min(len(self.named), len(self.arguments) - 1)]

    def _of(self, what: str) -> Iterator[Offer]:
        offered = VALUES.get(what)
        if offered is not None:
            return offered(self)
        words = what.split("|") if what.islower() else []
        return ((word, "") for word in words if word not in self.named)

    def registry(self) -> Path:
        pairs = zip(self.words, self.words[1:], strict=False)
        given = next((word for flag, word in pairs if flag == "--registry"), None)
        return registry_path(Settings.from_environment(), given)

    def rows(self) -> list[Sketch]:
        return rows_of(self.registry().read_text(encoding="utf-8", errors="replace"))

    def applicable_rows(self) -> list[Sketch]:
        """Return the rows that the verb can apply to; a purge applies to all."""
        wanted = None if "--purge-conversation" in self.given else WANTED.get(self.verb)
        return [row for row in self.rows() if wanted is None or row.status in wanted]


def _targets(line: _Line) -> Iterator[Offer]:
    """Offer each target once."""
    rows = line.applicable_rows()
    every = chain(
        _named(line, rows),
        _counted("tag:", chain.from_iterable(row.tags for row in rows)),
        _counted("agent:", (row.agent for row in rows)),
        () if line.named else _counted("", ["all"] * len(rows)),
        _elsewhere(line),
    )
    return (offer for offer in every if offer[0] not in line.named)


def _elsewhere(line: _Line) -> Iterator[Offer]:
    """Offer what other hosts reported within the last minute; never contact one."""
    environ = Settings.from_environment().environ
    path = Path(environ.get("XDG_RUNTIME_DIR") or "/nonexistent", "tmuxreap", "sessions.json")
    if "--host" not in line.flags or not path.is_file():
        return
    from tmuxreap.hosts.file import remembered

    wanted = WANTED.get(line.verb)
    for target, status in remembered(path, time.time()):
        if wanted is None or status in wanted:
            yield target, status


def _named(line: _Line, rows: list[Sketch]) -> Iterator[Offer]:
    states = _states(line.registry(), [row.name for row in rows if row.status in RUNNING])
    for row in rows:
        resumable = "resumable" if row.resumable else ""
        words = (row.status, row.agent, states.get(row.name, ""), resumable)
        yield row.name, ", ".join(word for word in words if word)


def _states(registry: Path, running: Sequence[str]) -> Mapping[str, str]:
    if not running or not Path(ledger_beside(str(registry.resolve()))).is_file():
        return {}
    from tmuxreap.interfaces.completion import said  # loads SQLite: only if there is a ledger

    return said.states(str(registry), running)


def _counted(prefix: str, values: Iterable[str], what: str = "session") -> Iterator[Offer]:
    """Offer each value with the number of those that have it."""
    for value, number in Counter(values).items():
        if value:
            yield prefix + value, f"{number} {what}{'s' * (number != 1)}"


def _names(line: _Line) -> Iterator[Offer]:
    return iter(()) if line.named else _named(line, line.applicable_rows())


def _agents(line: _Line) -> Iterator[Offer]:
    yield from AGENTS.items()
    settings = Settings.from_environment()
    if settings.user_profiles is None or not os.path.lexists(settings.user_profiles):
        return
    from tmuxreap.system.own_files import NotUsed, read_own

    with contextlib.suppress(NotUsed):
        for name in agents_of(read_own(settings.user_profiles, settings.uid)):
            yield name, "yours"


def _tags(line: _Line) -> Iterator[Offer]:
    return _counted("", chain.from_iterable(row.tags for row in line.rows()))


def _servers(line: _Line) -> Iterator[Offer]:
    return _counted("", (row.server for row in line.rows()))


def _hosts(line: _Line) -> Iterator[Offer]:
    """Offer the hosts in hosts.yaml; never connect to one."""
    from tmuxreap.hosts.file import read_hosts  # loads YAML, which no other completion needs

    hosts = read_hosts(Settings.from_environment())
    for host in hosts.found.values():
        yield host.name, host.ssh or " ".join(host.via)
    yield from _counted("@", chain.from_iterable(one.tags for one in hosts.found.values()), "host")
    yield from (("all", "every host"), ("local", "this machine"))


def _files(line: _Line) -> Iterator[Offer]:
    return iter([FILES])


VALUES: dict[str, Callable[[_Line], Iterator[Offer]]] = {
    "TARGETS": _targets,
    "NAME": _names,
    "A": _agents,
    "AGENT": _agents,
    "X": _tags,
    "L": _servers,
    "H": _hosts,
    "H...": _hosts,
    "PATH": _files,
    "DIR": _files,
    "FILE": _files,
}
