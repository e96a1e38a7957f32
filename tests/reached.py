"""Which tests run which statement of the package: recorded once for each file of tests, in a copy
whose statements are marked, and kept outside of the checkout. As a plugin of pytest it records."""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FILE, FOLDER = "REACHED_FILE", "REACHED_FOLDER"
SIZE = 1 << 17  # statements, at most
WORKERS = 6  # tests wait half of their time
LEFT = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".hypothesis", ".mypy_cache", "dist")
LEFT_OUT = ("soak", "real_agents", "old_answers")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# In the copy: a process marks in the file of the pytest that it works for. What was mapped before
# a fork is kept, for its file descriptor may be another's by then.
MARKS = f"""\
import mmap
import os

def opened():
    path = os.environ.get({FILE!r}) or before
    if path is None:
        return bytearray({SIZE})
    there = os.open(path, os.O_RDWR)
    try:
        return mmap.mmap(there, {SIZE})
    finally:
        os.close(there)

class Later:
    def __setitem__(self, number, one):
        global marks
        marks = opened()
        marks[number] = one

def forked():
    global before, marks
    before = os.environ.get({FILE!r})  # a test may clear it
    kept.append(marks)
    marks = Later()

before = None
kept = []
marks = opened()
os.register_at_fork(after_in_child=forked)
"""


class Module:
    """The statements of one file; each has a key that holds while other lines move."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.lines = source.splitlines()
        self.tree = ast.parse(source)
        self.inside: list[tuple[ast.stmt, int, list[ast.stmt]]] = []  # of functions
        self.outside: list[ast.stmt] = []
        self.cached: dict[int, str] = {}
        self._walk(self.tree, "", in_function=False)

    def _walk(self, node: ast.AST, where: str, *, in_function: bool, cached: str = "") -> None:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            where += f".{node.name}"
        if isinstance(node, FUNCTIONS):
            in_function = True
            if any("cache" in ast.unparse(one) for one in node.decorator_list):
                cached = node.name
        for _, value in ast.iter_fields(node):
            if not isinstance(value, list):
                continue
            for child in value:
                if isinstance(child, ast.stmt) and in_function:
                    text = self.lines[child.lineno - 1].strip()
                    key = zlib.crc32(f"{self.path} {where} {text}".encode())
                    self.inside.append((child, key, value))
                    self.cached[key] = cached
                elif isinstance(child, ast.stmt):
                    self.outside.append(child)
                if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                    self._walk(child, where, in_function=in_function, cached=cached)

    def marked(self, keys: list[int]) -> str:
        """Return its source with a mark before each statement of a function, and add their keys in
        the order of their numbers."""
        for statement, key, body in self.inside:
            if _is_text(statement):
                continue
            mark = ast.parse(f"_reached.marks[{len(keys)}] = 1").body[0]
            body.insert(next(i for i, one in enumerate(body) if one is statement), mark)
            keys.append(key)
        head = [one for one in self.tree.body[:2] if _is_text(one) or _is_future(one)]
        self.tree.body.insert(len(head), ast.parse("from tmuxreap import _reached").body[0])
        return ast.unparse(ast.fix_missing_locations(self.tree))

    def around(self, line: int) -> tuple[set[int], set[str]]:
        """Return the keys of the statement there, and the names by which others use what runs once
        for all of them."""
        found = [(it, key) for it, key, _ in self.inside if _covers(it, line)]
        if found:
            _, key = min(found, key=lambda it: _length(it[0]))
            return {key}, {self.cached[key]} - {""}
        outside = min((it for it in self.outside if _covers(it, line)), key=_length)
        if isinstance(outside, FUNCTIONS):
            return {key for it, key, _ in self.inside if it in outside.body}, {outside.name}
        return set(), set(_bound(outside))

    def mentioning(self, names: Iterable[str]) -> Iterator[int]:
        word = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
        for statement, key, _ in self.inside:
            body = getattr(statement, "body", None)
            last = body[0].lineno - 1 if body else statement.end_lineno
            if any(map(word.search, self.lines[statement.lineno - 1 : last])):
                yield key


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _bound(node: ast.stmt) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def modules(package: Path, rooms: Iterable[str]) -> Iterator[Module]:
    """Yield the files of these rooms, parsed."""
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package).as_posix()
        if any(path.startswith(f"{room}/") for room in rooms):
            yield Module(path, file.read_text(encoding="utf-8"))


class Recorder:
    """The plugin: after each test, what it has reached, with what its fixtures had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys: list[int] = json.loads((folder / "keys").read_text())
        file = folder / f"marks-{os.getpid()}"
        file.write_bytes(bytes(SIZE))
        os.environ[FILE] = str(file)
        here: Any = importlib.import_module("tmuxreap._reached")
        self.marks = here.marks = here.opened()
        self.shared: dict[Any, set[int]] = {}

    def taken(self) -> set[int]:
        found = bytes(self.marks)
        self.marks[:] = bytes(SIZE)
        return {self.keys[it.start()] for it in re.finditer(b"\1", found)}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before = self.taken()
        try:
            return (yield)
        finally:
            self.shared[fixturedef] = before | self.taken()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        self.taken()
        begun = time.monotonic()
        try:
            return (yield)
        finally:
            seconds = round(time.monotonic() - begun, 2)
            reached = self.taken()
            for fixtures in item._fixtureinfo.name2fixturedefs.values():
                for fixture in fixtures:
                    reached |= self.shared.get(fixture, set())
            file = item.nodeid.partition("::")[0].replace("/", "+")
            line = json.dumps([item.nodeid, seconds, sorted(reached)]) + "\n"
            with (self.folder / file).open("ab", buffering=0) as there:
                there.write(line.encode())


@dataclass(frozen=True)
class Recorded:
    """One test, how long it took when it was recorded, and the keys of what it ran."""

    name: str
    seconds: float
    reached: frozenset[int]


def files_of(top: Path) -> dict[str, Path]:
    """Return the files of tests, each by a name that changes with its content."""
    found: dict[str, Path] = {}
    for file in sorted((top / "tests").rglob("test_*.py")):
        path = file.relative_to(top).as_posix()
        if path.split("/")[1] not in LEFT_OUT:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
            found[f"{path.replace('/', '+')}-{digest}"] = file
    return found


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "tmuxreap-reached"


def recorded(top: Path, rooms: Sequence[str]) -> list[Recorded]:
    """Return all tests of a checkout with what they reach; record those that are not known."""
    kept, named = cache(), files_of(top)
    kept.mkdir(parents=True, exist_ok=True)
    new = {name: file for name, file in named.items() if not (kept / name).exists()}
    if new:
        _record(top, rooms, kept, new)
    tests: list[Recorded] = []
    for name in named:
        for line in (kept / name).read_text().splitlines():
            test, seconds, reached = json.loads(line)
            tests.append(Recorded(test, seconds, frozenset(reached)))
    return tests


def _record(top: Path, rooms: Sequence[str], kept: Path, new: dict[str, Path]) -> None:
    print(f"{len(new)} files of tests are recorded", flush=True)
    with tempfile.TemporaryDirectory(prefix="reached") as base:
        copy, folder = copied(top, Path(base)), Path(base) / "marks"
        folder.mkdir()
        keys: list[int] = []
        for module in modules(copy / "tmuxreap", rooms):
            marked = module.marked(keys)
            (copy / "tmuxreap" / module.path).write_text(marked, encoding="utf-8")
        (copy / "tmuxreap" / "_reached.py").write_text(MARKS)
        (folder / "keys").write_text(json.dumps(keys))
        files = [file.relative_to(top).as_posix() for file in new.values()]
        words = ["-p", "tests.reached", "-n", str(WORKERS), "--basetemp", f"{base}/p"]
        run = subprocess.run(
            [*alone(), sys.executable, "-m", "pytest", *words, "--tb=no", *files],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), FOLDER: str(folder)},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        print("\n".join(run.stdout.splitlines()[-1:]), flush=True)
        for name in new:
            there = folder / name.rpartition("-")[0]
            there.touch()
            shutil.copyfile(there, kept / name)


def copied(top: Path, into: Path) -> Path:
    return Path(shutil.copytree(top, into / "copy", ignore=LEFT, symlinks=True))


def alone() -> list[str]:
    """Return the words that give a command processes of its own: what it leaves ends with it, and
    it can signal no others."""
    words = ["unshare", *(["-r"] if os.getuid() else []), "-pf", "--mount-proc", "--kill-child"]
    return [*words, "sh", "-c", '"$@"; exit $?', "sh"]


def pytest_configure(config: pytest.Config) -> None:
    if FOLDER in os.environ:
        config.pluginmanager.register(Recorder(Path(os.environ[FOLDER])))
