"""Who may import whom, and who owns which outside thing. One table each; the imports are read from the source."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tmuxreap

PACKAGE = Path(tmuxreap.__file__).parent

# A module imports from lower ranks only. After "<": the modules of its own rank that it imports as well.
RANKS = (
    # nouns, errors, seams
    "__init__; values; model < values; errors; seams < model values; faults; interrupts",
    # pure: rows, states and the editing of text
    "states; readings; hookwords; rows; selectors; ownership; mask < secret_kinds; secret_kinds;"
    " screens; durations; sketch; vocabulary;"
    " cells; findings;"
    " yamltext; yamlvalues; yamlparse < yamltext yamlvalues; yamlrow < yamlparse yamltext;"
    " yamlsplice < yamlrow yamltext yamlvalues; rowedits < yamlrow yamlsplice yamlvalues;"
    " edits < rowedits yamlparse yamlrow yamlsplice yamltext yamlvalues",
    # agents as data: the values that planning speaks of, and the one file that they come from
    "agents < hookblocks profiles programs yamlblocks; profiles < hookblocks programs; programs;"
    " yamlblocks; hookblocks < yamlblocks; spared < profiles",
    # pure: what is seen, planned and answered
    "world; panes < world; identity < panes world; siblings < panes world;"
    " sights < identity panes siblings world; resuming;"
    " offspring < sights; verdicts < offspring;"
    " plan < panes sights; hookfiles < jsonsplice; jsonsplice; turns < keying requests sights;"
    " requests < plan sights; keying < plan requests; ladder < keying plan requests sights turns;"
    " results < plan requests",
    # owners of outside things
    "files; settings; clock; skills; tools; tmux < tmux_client tmux_commands tmux_socket; tmux_client;"
    " tmux_commands; tmux_socket;"
    " processes < processes_psutil procfs; procfs; processes_psutil; speaking; pulse < speaking ledger_schema;"
    " locators < databases; databases; lingering < locators; purging < locators; waiting < procfs; jobs;"
    " ledger < ledger_file ledger_records ledger_schema; ledger_file < files ledger_schema; ledger_records;"
    " ledger_copy < ledger_schema; ledger_schema; probing",
    "registry",
    "observe; execute < observe progress; record; progress; tables; receipts; report < tables receipts",
    # the composition root, and what is asked of it
    "app",
    "elsewhere; shown; looking; conversations; cases < conversations elsewhere looking shown; choosing < looking;"
    " worktrees;"
    " outcomes < cases conversations worktrees;"
    " sessions < conversations looking",
    "before_keys; registering; handover; joining; starts < joining; delegation; recording < delegation; segment",
    "disturbed; nominees; remnants < nominees",
    "drifts",
    "checks; checks_registry < checks",
    "ending",
    "starting",
    "commands; commands.*; commands.doctor < commands.hooks; commands.watch < commands.reap commands.reconcile",
    "desk",
    "popup_view; popup_parts; popup < popup_parts popup_view",
    "boundary; mcp < boundary mcp_schemas mcp_tools; mcp_schemas; mcp_tools < boundary; completion",
    "verbs; verbs.options; verbs.* < verbs.options",
    "cli",
    "__main__",
)
PURE = (0, 1, 3)  # ranks without I/O, clock or environment
SWITCHES = {"faults"}  # the tests' way to make a step fail: that is I/O
ALONE = {"demo_agent"}  # imports nothing of the package, and nothing of the package imports it

# An outside thing, as imported or as an attribute of `os`, and the only modules that may touch it (shell patterns).
OWNERS: dict[str, set[str]] = {
    "sqlite3": {"ledger*", "databases", "pulse", "speaking"},
    # In processes_psutil for ps, where there is no /proc.
    "subprocess": {"processes_psutil", "handover", "tools", "commands.watch", "probing"},
    "os.fork": set(),
    "os.system": set(),
    "os.popen": set(),
    "os.posix_spawn": {"tmux_client"},
    "os.posix_spawnp": {"demo_agent"},
    "os.environ": {"settings", "demo_agent", "speaking"},
    "os.getenv": set(),
    "yaml": {"yaml*"},
    "libtmux": set(),  # for the tests: see Decisions in ARCHITECTURE.md
    "psutil": {"processes_psutil"},
    "filelock": set(),
    "mcp": {"mcp"},
    "anyio": {"mcp"},
    "pydantic": {"mcp", "mcp_tools"},
    "textual": {"popup", "popup_parts"},
    "rich": {"popup*"},
    "typer": {"cli", "boundary", "verbs.*"},
}

FILES = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
NAMES = sorted(".".join(file.parts).removesuffix(".__init__") for file in FILES)


@cache
def ranks() -> tuple[dict[str, int], dict[str, set[str]]]:
    rank_of: dict[str, int] = {}
    siblings: dict[str, set[str]] = {}
    for rank, line in enumerate(RANKS):
        for entry in line.split(";"):
            modules, _, allowed = entry.partition("<")
            for module in modules.split():
                rank_of[module] = rank
                siblings[module] = set(allowed.split())
    return rank_of, siblings


RANK_OF, SIBLINGS = ranks()


def place(module: str) -> str:
    """The entry of the table that a module stands under."""
    return module if module in RANK_OF or "." not in module else module.partition(".")[0] + ".*"


def source_of(module: str) -> str:
    path = PACKAGE.joinpath(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def imported(source: str, module: str, known: list[str]) -> set[str]:
    """Everything imported anywhere in it: `x.y` for modules of the package, `/x` for the top package of a stranger."""
    full: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            full |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ["tmuxreap", *module.split(".")][: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            full |= {f"{base}.{alias.name}" for alias in node.names}
    return {own_name(name, known) if name.split(".")[0] == "tmuxreap" else "/" + name.split(".")[0] for name in full}


def own_name(dotted: str, known: list[str]) -> str:
    """`tmuxreap.model.Row` is `model`; a name that is no module comes from the package itself."""
    parts = dotted.split(".")[1:]
    while parts and ".".join(parts) not in known:
        parts.pop()
    return ".".join(parts) or "__init__"


@cache
def touched(source: str) -> set[str]:
    """The names of outside things in it: top packages imported, and `os.something` however it is spelled."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module.split(".")[0]} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
    return names


@cache
def own_imports(module: str) -> set[str]:
    return {name for name in imported(source_of(module), module, NAMES) if not name.startswith("/")} - {module}


@pytest.mark.parametrize("module", NAMES)
def test_every_module_has_a_rank(module: str) -> None:
    assert place(module) in RANK_OF.keys() | ALONE, f"say where it lives: {module} is not in the table of ranks"


@pytest.mark.parametrize("module", [name for name in NAMES if name not in ALONE])
def test_a_module_imports_from_lower_ranks_only(module: str) -> None:
    here = RANK_OF.get(place(module), 99)
    wrong = {
        name
        for name in own_imports(module)
        if RANK_OF.get(place(name), 99) >= here and name not in SIBLINGS.get(place(module), set())
    }
    assert not wrong, f"{module} (rank {here}) imports {sorted(wrong)}"


def test_the_table_names_siblings_of_the_same_rank() -> None:
    wrong = {
        f"{module} < {sibling}"
        for module, allowed in SIBLINGS.items()
        for sibling in allowed
        if RANK_OF.get(place(sibling)) != RANK_OF[module]
    }
    assert not wrong


def test_the_table_names_no_module_that_is_not_there() -> None:
    assert RANK_OF.keys() - {place(module) for module in NAMES} == set()


def test_the_table_allows_nothing_that_nobody_needs() -> None:
    used: dict[str, set[str]] = {}
    for module in NAMES:
        imports = own_imports(module)
        used.setdefault(place(module), set()).update(imports, map(place, imports))
    idle = {f"{entry} < {one}" for entry, allowed in SIBLINGS.items() for one in allowed - used[entry]}
    assert not idle


def test_the_architecture_names_every_module_once_and_in_the_order_of_the_ranks() -> None:
    page = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    part = page.partition("## Where things live")[2].partition("\n## ")[0]
    there = {module.partition(".")[0] for module in NAMES} - {"__init__"}
    told = [name for name in re.findall(r"`([a-z_]+)/?`", part) if name in there]
    assert sorted(told) == sorted(there)
    places = [RANK_OF[name] for name in told if name not in ALONE]
    assert places == sorted(places)


def test_no_import_goes_round_in_a_circle() -> None:
    TopologicalSorter({module: own_imports(module) for module in NAMES}).prepare()


@pytest.mark.parametrize("module", sorted(ALONE & set(NAMES)))
def test_what_stands_alone_imports_nothing_of_the_package(module: str) -> None:
    assert not own_imports(module)


@pytest.mark.parametrize("module", [name for name in NAMES if RANK_OF.get(place(name)) in PURE])
def test_what_is_pure_reaches_for_nothing_outside(module: str) -> None:
    outside = {"os", "time", "socket", "fcntl", "select", "shutil", "tempfile", "random"}
    assert not touched(source_of(module)) & outside or module in SWITCHES


@pytest.mark.parametrize("thing", OWNERS)
def test_an_outside_thing_is_touched_by_its_owner_only(thing: str) -> None:
    users = [module for module in NAMES if thing in touched(source_of(module))]
    strangers = [module for module in users if not any(fnmatchcase(module, owner) for owner in OWNERS[thing])]
    assert not strangers, f"{thing} belongs to {sorted(OWNERS[thing]) or 'nobody'}, and is used in {strangers}"


@pytest.mark.parametrize("thing", [thing for thing, owners in OWNERS.items() if owners])
def test_an_owner_touches_what_it_owns(thing: str) -> None:
    users = [module for module in NAMES if thing in touched(source_of(module))]
    idle = {owner for owner in OWNERS[thing] if not any(fnmatchcase(module, owner) for module in users)}
    assert not idle, f"{thing} is touched in {users}, not in {sorted(idle)}"


SAMPLE = """
import os, yaml.cyaml as fast
from tmuxreap import errors, __version__
from tmuxreap.model import Row
from ..registry import load
from . import sibling
def late():
    import tmuxreap.app
    from os import getenv
    return os.environ
"""


def test_the_reader_sees_imports_of_every_form() -> None:
    known = ["errors", "model", "registry", "commands", "commands.sibling", "app"]
    assert imported(SAMPLE, "commands.stop", known) == {
        "/os", "/yaml", "errors", "__init__", "model", "registry", "commands.sibling", "app",
    }  # fmt: skip
    assert touched(SAMPLE) >= {"os", "yaml", "os.getenv", "os.environ"}
