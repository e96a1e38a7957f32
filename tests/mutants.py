"""`python -m tests.mutants COUNT [SEED] [WORKERS]`: changes one place of the package at a time, in
a copy, and runs the tests that are near it, then those of promises and histories. What no test
notices is printed, for somebody to judge.

Draws from each room in the shares of `ROOMS`. Never changes this checkout."""

from __future__ import annotations

import ast
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

TOP = Path(__file__).resolve().parent.parent
LEFT = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".hypothesis", ".mypy_cache", "dist")
# What share of the mutants each room gets; a folder inside one counts as a room of its own.
ROOMS = {
    "ending/ladder": 22,
    "ending": 22,
    "sessions": 8,
    "proof": 18,
    "registry": 20,
    "ledger": 8,
    "agents": 14,
    "commands": 32,
    "hosts": 8,
    "interfaces": 16,
}
NONES = 2  # mutants of a room that only answer None
CPU_S, WALL_S = 240, 1200  # of one run of the tests
FAR = ("live", "real_agents", "soak", "old_answers")
WIDER = (
    ("tests/simulation/test_simulation.py", "tests/test_histories.py"),
    ("tests/test_histories_people.py", "tests/promises"),
)
OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}


@dataclass(frozen=True)
class Mutant:
    """One place of a file with other words in it."""

    path: str  # below the package
    line: int
    begin: int  # in bytes, as its end
    end: int
    text: str
    was: str

    def __str__(self) -> str:
        was = " ".join(self.was.split())
        return f"{self.path}:{self.line}: {was[:70]}  ->  {self.text[:70]}"

    def of(self, source: bytes) -> bytes:
        return source[: self.begin] + self.text.encode() + source[self.end :]


class Places:
    """The places of one file that can be changed."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source.encode()
        lines = self.source.splitlines(keepends=True)
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self.nones: list[Mutant] = []
        self._visit(ast.parse(source))

    def _range(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self.starts[node.lineno - 1] + node.col_offset
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset

    def _words(self, node: ast.expr) -> str:
        begin, end = self._range(node)
        return self.source[begin:end].decode()

    def _add(self, node: ast.expr | ast.stmt, text: str, into: list[Mutant] | None = None) -> None:
        begin, end = self._range(node)
        was = self.source[begin:end].decode()
        added = Mutant(self.path, node.lineno, begin, end, text, was)
        (self.found if into is None else into).append(added)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is not None:
            method(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self._visit(child)

    def _of_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            left, right = self._words(node.left), self._words(node.comparators[0])
            self._add(node, f"({left} {OPPOSITES[type(node.ops[0])]} {right})")

    def _of_BoolOp(self, node: ast.BoolOp) -> None:
        values = [f"({self._words(value)})" for value in node.values]
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._add(node, f"({f' {other} '.join(values)})")
        for number in range(len(values)):
            self._add(node, f"({f' {word} '.join(values[:number] + values[number + 1 :])})")

    def _of_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._add(node, f"({self._words(node.operand)})")

    def _of_If(self, node: ast.If | ast.IfExp) -> None:
        self._add(node.test, "True")
        self._add(node.test, "False")

    _of_IfExp = _of_If

    def _of_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._add(test, "True")

    def _of_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add(node, str(not node.value))
        elif isinstance(node.value, (int, float)):
            self._add(node, repr(node.value + 1))

    def _of_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            self._add(node, "pass")

    def _of_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, "pass")

    def _of_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add(node, "pass")

    def _of_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._add(node, "return None", self.nones)


def room_of(path: str) -> str | None:
    return next((room for room in ROOMS if path.startswith(f"{room}/")), None)


def draw(count: int, seed: int) -> list[Mutant]:
    """Draw so many mutants, in an order in which each part is a sample, too."""
    random = Random(seed)
    places: dict[str, list[Mutant]] = {room: [] for room in ROOMS}
    nones: dict[str, list[Mutant]] = {room: [] for room in ROOMS}
    package = TOP / "tmuxreap"
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package).as_posix()
        room = room_of(path)
        if room is not None:
            found = Places(path, file.read_text(encoding="utf-8"))
            places[room] += found.found
            nones[room] += found.nones
    drawn: list[Mutant] = []
    for room, share in ROOMS.items():
        wanted = round(share * count / sum(ROOMS.values()))
        few = random.sample(nones[room], NONES)
        drawn += random.sample(places[room] + few, wanted)
    random.shuffle(drawn)
    return drawn


def importers(path: str, tests: Path) -> Iterator[str]:
    """Yield the test files that import this module."""
    name = f"tmuxreap.{path.removesuffix('.py').replace('/', '.')}"
    room, _, last = name.rpartition(".")
    words = f"from {name} import", f"import {name}", f"from {room} import {last}"
    for file in sorted(tests.rglob("test_*.py")):
        inside = file.relative_to(tests)
        if inside.parts[0] not in FAR and any(it in file.read_text() for it in words):
            yield f"tests/{inside.as_posix()}"


def near(path: str, top: Path) -> list[list[str]]:
    """Return the tests of this module, and then those of its room."""
    folder, _, name = path.rpartition("/")
    own = f"tests/{folder}/test_{name}"
    first = [own] if (top / own).is_file() else []
    first += [it for it in importers(path, top / "tests") if it not in first]
    room = f"tests/{path.split('/')[0]}"
    inside = f"tests/{folder}" if (top / "tests" / folder).is_dir() else room
    return [first, [inside]]


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


def fails(tests: Sequence[str], top: Path) -> str | None:
    """Return what failed first; None if all tests pass."""
    words = [sys.executable, "-m", "pytest", "-x", "-n", "0", "--tb=no", "-rfE", *tests]
    base = tempfile.mkdtemp(prefix="m", dir=top.parent)
    environ = {**os.environ, "PYTHONPATH": str(top), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            [*words, "--basetemp", f"{base}/p"],
            cwd=top,
            env=environ,
            preexec_fn=limited,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=WALL_S,
        )
    except subprocess.TimeoutExpired:
        return "no end"
    finally:
        shutil.rmtree(base, ignore_errors=True)
    if run.returncode == 0:
        return None
    told = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return told[0][:150] if told else f"exit {run.returncode}: {run.stdout[-100:]!r}"


def copied(into: Path) -> Path:
    return Path(shutil.copytree(TOP, into / "copy", ignore=LEFT, symlinks=True))


def noticed(mutant: Mutant, top: Path, groups: Iterable[Sequence[str]]) -> str:
    """Return which test notices it, empty if none does. A test that fails without it does not."""
    file = top / "tmuxreap" / mutant.path
    source = file.read_bytes()
    for tests in groups:
        file.write_bytes(mutant.of(source))
        told = fails(tests, top) if tests else None
        file.write_bytes(source)
        if told is None:
            continue
        test = told.split(" ")[1].partition("[")[0] if told.startswith(("FAILED", "ERROR")) else ""
        if test and fails([test], top) is not None:
            told = f"{test} fails without it, too"
            print(told, flush=True)
            continue
        return told
    return ""


class Round:
    """Tries all mutants, each worker in a copy of its own."""

    def __init__(self, drawn: Iterable[Mutant]) -> None:
        self.waiting = deque(drawn)
        self.dead: dict[Mutant, str] = {}
        self.living: list[Mutant] = []

    def work(self, wider: bool) -> None:
        with tempfile.TemporaryDirectory(prefix="mutants") as folder:
            top = copied(Path(folder))
            while self.waiting:
                mutant = self.waiting.popleft()
                groups = WIDER if wider else near(mutant.path, top)
                told = noticed(mutant, top, groups)
                if told:
                    self.dead[mutant] = told
                else:
                    self.living.append(mutant)
                print(f"{'dead ' if told else 'LIVES'} {mutant}  {told}", flush=True)

    def run(self, workers: int, *, wider: bool = False) -> None:
        threads = [threading.Thread(target=self.work, args=(wider,)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main(words: Sequence[str]) -> int:
    numbers = [int(word) for word in words]
    count = numbers[0] if numbers else 150
    seed = numbers[1] if len(numbers) > 1 else SystemRandom().randrange(1, 1_000_000)
    workers = numbers[2] if len(numbers) > 2 else 1
    drawn = draw(count, seed)
    print(f"{len(drawn)} mutants of seed {seed}", flush=True)
    first = Round(drawn)
    first.run(workers)
    print(f"{len(first.living)} live after the tests near them", flush=True)
    second = Round(first.living)
    second.run(workers, wider=True)
    for room in ROOMS:
        every = [mutant for mutant in drawn if room_of(mutant.path) == room]
        living = [mutant for mutant in second.living if mutant in every]
        print(f"{room:15} {len(every):4} drawn {len(living):4} live")
    dead = len(drawn) - len(second.living)
    print(f"{dead} of {len(drawn)} die: {100 * dead / len(drawn):.0f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
