"""`python -m tests.mutants COUNT [SEED] [WORKERS]`: changes one place of the package at a time, in
a copy, and runs the tests that reach it, the quickest first, live ones too. What no test notices is
printed, for somebody to judge.

Draws from each room in the shares of `ROOMS`. Never changes this checkout."""

from __future__ import annotations

import ast
import compileall
import os
import py_compile
import resource
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

from tests.reached import Recorded, alone, copied, modules, recorded

TOP = Path(__file__).resolve().parent.parent
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
GROUPS_S = (20, 200)  # of tests, as they were recorded; then all others
SLOWER, MORE_S = 6, 60  # than when recorded a run of tests may be
BY_CONTENT = py_compile.PycInvalidationMode.CHECKED_HASH  # times do not tell two mutants apart
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


class Near:
    """Knows which tests reach a mutant."""

    def __init__(self) -> None:
        self.tests = recorded(TOP, tuple(ROOMS))
        self.modules = {it.path: it for it in modules(TOP / "tmuxreap", tuple(ROOMS))}

    def tests_of(self, mutant: Mutant) -> list[Recorded]:
        """Return them as they are to be run: those of its own file first, then the quickest."""
        keys, names = self.modules[mutant.path].around(mutant.line)
        if names:
            for module in self.modules.values():
                keys |= set(module.mentioning(names))
        own = f"tests/{mutant.path.rpartition('/')[0]}/test_{mutant.path.rpartition('/')[2]}"
        found = [
            it for it in self.tests if it.name.startswith(own) or not keys.isdisjoint(it.reached)
        ]
        return sorted(found, key=lambda it: (not it.name.startswith(own), it.seconds))


def grouped(tests: Iterable[Recorded]) -> Iterator[list[Recorded]]:
    """Yield the tests in groups, a short one first."""
    limits = [*GROUPS_S, float("inf")]
    group: list[Recorded] = []
    for test in tests:
        if group and sum(it.seconds for it in group) + test.seconds > limits[0]:
            yield group
            group = []
            limits.pop(0)
        group.append(test)
    if group:
        yield group


def fails(tests: Sequence[Recorded], top: Path) -> str | None:
    """Return what failed first, by its name if it is one of them; None if all tests pass."""
    seconds = MORE_S + SLOWER * int(sum(it.seconds for it in tests))
    with tempfile.TemporaryDirectory(
        prefix="m", dir=top.parent, ignore_cleanup_errors=True
    ) as base:
        listed = Path(base) / "tests"
        listed.write_text("\n".join(it.name for it in tests))
        words = ["-x", "-n", "0", "--tb=no", "-rfE", "--basetemp", f"{base}/p", f"@{listed}"]
        try:
            run = subprocess.run(
                [*alone(), sys.executable, "-m", "pytest", *words],
                cwd=top,
                env={**os.environ, "PYTHONPATH": str(top)},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=2 * seconds,
            )
        except subprocess.TimeoutExpired:
            return "no end"
    if run.returncode == 0:
        return None
    for line in run.stdout.splitlines():
        name = line.removeprefix("FAILED ").removeprefix("ERROR ")
        named = [it.name for it in tests if f"{name} ".startswith(f"{it.name} ")]
        if name != line:
            return max(named, key=len, default=name)
    return f"exit {run.returncode}: {run.stdout[-100:]!r}"


def noticed(mutant: Mutant, top: Path, tests: Iterable[Recorded]) -> str:
    """Return which test notices it, empty if none does. A test that fails without it does not."""
    file = top / "tmuxreap" / mutant.path
    source = file.read_bytes()
    for group in grouped(tests):
        while group:
            file.write_bytes(mutant.of(source))
            told = fails(group, top)
            file.write_bytes(source)
            if told is None:
                break
            failed = [it for it in group if it.name == told]
            if not failed or fails(failed, top) is None:
                return told
            print(f"{told} fails without it, too", flush=True)
            group.remove(failed[0])
    return ""


class Round:
    """Tries all mutants, each worker in a copy of its own."""

    def __init__(self, drawn: Iterable[Mutant], near: Near) -> None:
        self.waiting = deque(drawn)
        self.near = near
        self.dead: dict[Mutant, str] = {}
        self.living: list[Mutant] = []

    def work(self) -> None:
        with tempfile.TemporaryDirectory(prefix="mutants") as folder:
            top = copied(TOP, Path(folder))
            compileall.compile_dir(top / "tmuxreap", quiet=2, invalidation_mode=BY_CONTENT)
            while self.waiting:
                mutant = self.waiting.popleft()
                tests = self.near.tests_of(mutant)
                told = noticed(mutant, top, tests)
                if told:
                    self.dead[mutant] = told
                else:
                    self.living.append(mutant)
                    told = f"{len(tests)} tests reach it"
                state = "dead " if mutant in self.dead else "LIVES"
                print(f"{state} {mutant}  {told}", flush=True)

    def run(self, workers: int) -> None:
        threads = [threading.Thread(target=self.work) for _ in range(workers)]
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
    tried = Round(drawn, Near())
    tried.run(workers)
    for room in ROOMS:
        every = [mutant for mutant in drawn if room_of(mutant.path) == room]
        living = [mutant for mutant in tried.living if mutant in every]
        print(f"{room:15} {len(every):4} drawn {len(living):4} live")
    dead = len(drawn) - len(tried.living)
    print(f"{dead} of {len(drawn)} die: {100 * dead / len(drawn):.0f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
