"""The names of a process: its program, and for a wrapper the program that it runs. Never does
I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

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
    return _names(tuple(argv), comm, executable)


# Asked several times of each process, and a thousand agents have the same command line.
@lru_cache(maxsize=4096)
def _names(argv: tuple[str, ...], comm: str, executable: str | None) -> tuple[str, ...]:
    names = [comm, _file_name(executable or ""), *_words(list(argv))]
    return tuple(dict.fromkeys(name for name in names if name))


def _words(argv: list[str]) -> list[str]:
    if not argv:
        return []
    program = _file_name(argv[0].lstrip("-"))
    rest = argv[1:]
    if program not in WRAPPERS and not _PYTHON.match(program):
        return [program]
    while rest and (rest[0].startswith("-") or "=" in rest[0]) and rest[0] != "-m":
        rest = rest[1:]
    if rest[:1] == ["-m"]:
        return [program, *rest[1:2]]
    return [program, *([_script(rest[0]), *_package(rest[0]), *_words(rest)] if rest else [])]


def _package(path: str) -> list[str]:
    """Return the package that a script is in: many scripts have the name `cli.js`."""
    return [match["name"]] if (match := re.search(_IN_PACKAGE, path)) else []


def _script(path: str) -> str:
    name = _file_name(path)
    return name.rpartition(".")[0] if name.endswith(SCRIPTS) else name


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
