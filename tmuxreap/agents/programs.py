"""What a program is by its names and command line: which names a process has, which programs are
shared and spared, and which only carry the terminal of another. Never does I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from tmuxreap.core.model import ProcessId
from tmuxreap.core.values import field, frozen

# Programs that only run another one: their names include that of the program that they run.
WRAPPERS = {
    *("node", "bun", "deno", "env", "npx", "uvx", "nohup", "nice"),
    *("sh", "bash", "dash", "zsh", "fish"),
}
_IN_PACKAGE = r".*/node_modules/(?!\.bin/)(?:@[^/]+/)?(?P<name>[^/]+)/"
_PYTHON = re.compile(r"^(?:python|pypy)[0-9.]*$")
SHELLS = {
    *("sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "ash"),
    *("nu", "xonsh", "elvish"),
}
SCRIPTS = (".js", ".mjs", ".cjs", ".py", ".sh")


def program_names(argv: Sequence[str], comm: str, executable: str | None) -> tuple[str, ...]:
    """Return the names of a process: its program, and for a wrapper the program that it runs."""
    return _names(_leading(tuple(argv)), comm, executable)


def _leading(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that a name may come from, without those that differ in each call."""
    if not argv or not _is_wrapper(_file_name(argv[0].lstrip("-"))):
        return argv[:1]
    at = _first_word(argv)
    if argv[at : at + 1] == ("-m",):
        return argv[: at + 2]
    return argv[:at] + _leading(argv[at:])


# Asked several times of each process, and a thousand agents have the same command line. The words
# behind it are no part of the key: a watch would keep those of all that ever ran.
@lru_cache(maxsize=1024)
def _names(argv: tuple[str, ...], comm: str, executable: str | None) -> tuple[str, ...]:
    names = [comm, _file_name(executable or ""), *_words(list(argv))]
    return tuple(dict.fromkeys(name for name in names if name))


def _words(argv: list[str]) -> list[str]:
    if not argv:
        return []
    program = _file_name(argv[0].lstrip("-"))
    if not _is_wrapper(program):
        return [program]
    rest = argv[_first_word(argv) :]
    if rest[:1] == ["-m"]:
        return [program, *rest[1:2]]
    if not rest:
        return [program]
    return [program, _script(rest[0]), *_package(rest[0]), *_words(rest)]


def _is_wrapper(program: str) -> bool:
    return program in WRAPPERS or _PYTHON.match(program) is not None


def _first_word(argv: Sequence[str]) -> int:
    """Return the place of what a wrapper runs, behind its options and variables."""
    at = 1
    while at < len(argv) and (argv[at].startswith("-") or "=" in argv[at]) and argv[at] != "-m":
        at += 1
    return at


def _package(path: str) -> list[str]:
    """Return the package that a script is in: many scripts have the name `cli.js`."""
    if match := re.search(_IN_PACKAGE, path):
        return [match["name"]]
    return []


def _script(path: str) -> str:
    name = _file_name(path)
    if name.endswith(SCRIPTS):
        return name.rpartition(".")[0]
    return name


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@frozen
class Spare:
    """A shared program: it gets no signal, wherever it was started."""

    program: str
    arguments: re.Pattern[str] | None = None
    command: re.Pattern[str] | None = None  # matches the whole line, if there is no name
    private: bool = False  # it may be the pane's own, which then gets signals with the pane

    def matches(self, names: Sequence[str], command: str) -> bool:
        if self.command is not None:
            return self.command.search(command) is not None
        return self.program in names and (
            self.arguments is None or self.arguments.search(command) is not None
        )


@frozen
class Carrier:
    """A program that only carries the terminal of another program."""

    program: str
    arguments: re.Pattern[str] | None = None
    beyond: bool = False  # it runs programs where this kernel cannot see them


@frozen
class Carriers:
    listed: tuple[Carrier, ...] = ()
    nested: frozenset[str] = frozenset()  # programs that take the keys: tmux, editors, pagers
    screens: tuple[re.Pattern[str], ...] = ()  # what their screens look like

    def matching(self, names: Sequence[str], words: Sequence[str]) -> Carrier | None:
        """Return the carrier with one of these names and this command line, or None."""
        named = [carrier for carrier in self.listed if carrier.program in names]
        line = " ".join(words)
        return next((it for it in named if it.arguments is None or it.arguments.search(line)), None)

    def taking_keys(self, words: Sequence[str], agents: Collection[str]) -> str | None:
        """Return the program that takes the keys, if the command line has one before the agent."""
        for word in " ".join(words).split():
            name = word.strip("'\"").rpartition("/")[2]
            if name in agents:
                return None
            if name in self.nested:
                return name
        return None

    def shows_another(self, text: str | None) -> bool:
        return text is not None and any(screen.search(text) for screen in self.screens)


# Returns who is connected to a process; None if that cannot be told.
Clients = Callable[[ProcessId], Collection[int] | None]


@frozen
class Spares:
    listed: tuple[Spare, ...]
    programs: frozenset[str]
    by_line: bool  # whether one of them is recognized only by its command line
    carriers: Carriers = field(default_factory=Carriers)
    clients: Clients | None = None

    @classmethod
    def of(
        cls, *spares: Spare, carriers: Carriers | None = None, clients: Clients | None = None
    ) -> Spares:
        by_line = any(spare.command is not None for spare in spares)
        programs = frozenset(spare.program for spare in spares)
        return cls(spares, programs, by_line, carriers or Carriers(), clients)

    def matching(self, names: Sequence[str], words: Sequence[str]) -> Spare | None:
        if not self.by_line and self.programs.isdisjoint(names):
            return None
        command = " ".join(words)
        return next((spare for spare in self.listed if spare.matches(names, command)), None)
