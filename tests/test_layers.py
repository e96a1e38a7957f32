"""Checks the rooms: allowed imports, doors, and owners of external modules. One table each; imports
are read from the source."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tmuxreap

PACKAGE = Path(tmuxreap.__file__).parent

# Each room imports only from rooms above it, and only their doors.
ROOMS = {
    "core": "*",
    "system": (
        "files lock own_files environment whereabouts git headless machine terminals"
        " programs asking timed_masks tmux.sockets tmux.versions processes.procfs"
    ),
    "registry": "file rows transitions targets edits",
    "ledger": "books records requests surroundings database schema",
    "agents": (
        "blocks load profiles programs screens conversations.* hooks.events hooks.settings_file"
    ),
    "proof": "observe ownership servers identity panes reach sight see daemons state",
    "sessions": (
        "context caller look conversation editors results elsewhere registries configuration"
        " under_way"
    ),
    "ending": "end interrupt hold send policy ending_state own_ends",
    "commands": "*",
    "hosts": "*",
    "app": "*",
    "interfaces": "cli.main text.report hook.answer python.api",
}
ORDER = tuple(ROOMS)
ABOVE_ALL = {"__init__"}  # the version
BELOW_ALL = {"__main__", "__init__"}  # entry points of a process or a Python program
CONTEXT = "sessions.context"
KNOW_CONTEXT = {"commands", "app", "interfaces"}  # below, a function takes what it uses
APP_KNOWS = "system.*"  # the composition root alone knows the implementations
ALONE = {"agents.demo", "demo_agent"}  # a separate program, and its name in rows

# Modules without I/O, clock or environment (shell patterns), and what they must not use.
PURE = """
core.* registry.rows registry.targets registry.transitions registry.edits
registry.yaml.* agents.build agents.profiles agents.programs agents.screens agents.blocks
agents.hooks.* agents.conversations.command_lines system.tmux.versions proof.ownership proof.panes
proof.identity proof.sight proof.see proof.reach ending.policy ending.plan ending.ending_state
ending.ladder.climb ending.ladder.keys ending.ladder.prompts ending.ladder.requests
ending.ladder.turns hosts.choose hosts.wire commands.reap.verdicts interfaces.python.options
"""
SWITCHES = {"core.faults"}  # I/O only to let tests make a step fail
OUTSIDE = {"os", "time", "socket", "fcntl", "select", "shutil", "tempfile", "random"}

# An external name, imported or an attribute of `os`, and the only modules that may use it (shell
# patterns).
OWNERS: dict[str, set[str]] = {
    "sqlite3": {"ledger.*", "agents.conversations.find", "interfaces.hook.*"},
    # In `portable` for ps, without /proc.
    "subprocess": {
        "system.processes.portable",
        "system.headless",
        "ending.end",
        "commands.watch.telling",
        "commands.doctor.machine",
        "hosts.engines",
        "hosts.talk",
    },
    "os.fork": set(),
    "pty": {"system.headless"},
    "os.system": set(),
    "os.popen": set(),
    "os.posix_spawn": {"system.tmux.client"},
    "os.posix_spawnp": {"agents.demo"},
    "os.environ": {"system.environment", "agents.demo", "demo_agent", "interfaces.hook.speaker"},
    "os.getenv": set(),
    "yaml": {"registry.yaml.*", "agents.blocks", "hosts.file"},
    "libtmux": {"interfaces.python.libtmux_objects"},
    "psutil": {"system.processes.portable"},
    "filelock": {"system.lock"},
    "mcp": {"interfaces.mcp.server"},
    "anyio": {"interfaces.mcp.server", "interfaces.mcp.calls"},
    "pydantic": {"interfaces.mcp.*"},
    "textual": {"interfaces.popup.*"},
    "rich": {"interfaces.popup.*"},
    "typer": {"interfaces.cli.*"},
}

NAMES = sorted(
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
)


def room_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def source_of(module: str) -> str:
    path = PACKAGE.joinpath(*module.split("."))
    file = path / "__init__.py" if is_package(module) else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")


def is_package(module: str) -> bool:
    """Tell a package from a module: a folder may be the leftover cache of a former package."""
    return PACKAGE.joinpath(*module.split("."), "__init__.py").is_file()


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source)))


def imported(source: str, module: str, known: list[str]) -> set[str]:
    """Return all imports: `x.y` for modules of the package, `/x` for an external top package."""
    full: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            full |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ["tmuxreap", *module.split(".")][: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            full |= {f"{base}.{alias.name}" for alias in node.names}
    return {
        own_name(name, known) if name.split(".")[0] == "tmuxreap" else "/" + name.split(".")[0]
        for name in full
    }


def own_name(dotted: str, known: list[str]) -> str:
    """Return the module of a name: `core.model` for `tmuxreap.core.model.Row`; the package itself
    if there is none."""
    parts = dotted.split(".")[1:]
    while parts and ".".join(parts) not in known:
        parts.pop()
    return ".".join(parts) or "__init__"


@cache
def touched(source: str) -> set[str]:
    """Return the external names used: imported top packages, and `os.something` in any spelling."""
    names: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module.split(".")[0]} | {
                f"{node.module}.{alias.name}" for alias in node.names
            }
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
    return names


def own_imports(module: str, source: str | None = None) -> set[str]:
    text = source_of(module) if source is None else source
    return {name for name in imported(text, module, NAMES) if not name.startswith("/")} - {module}


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Return the modules of an import cycle, or nothing."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def is_door(module: str) -> bool:
    room, _, inside = module.partition(".")
    return any(fnmatchcase(inside, door) for door in ROOMS[room].split())


def trespasses(module: str, source: str | None = None) -> list[str]:
    """Return the forbidden imports of this module."""
    here = room_of(module)
    found: list[str] = []
    for name in sorted(own_imports(module, source) - ABOVE_ALL):
        there = room_of(name)
        if there == here or here in BELOW_ALL or module in ALONE:
            continue
        if there not in ORDER or ORDER.index(there) > ORDER.index(here):
            found.append(f"{module} imports {name}, from a room below it")
        elif not is_door(name) and not (here == "app" and fnmatchcase(name, APP_KNOWS)):
            found.append(f"{module} imports {name}, which is no door of {there}")
    return found


def test_a_module_lives_in_a_room() -> None:
    known = {*ORDER, *ABOVE_ALL, *BELOW_ALL}
    assert [name for name in NAMES if room_of(name) not in known and name not in ALONE] == []


def test_a_module_imports_only_doors_of_rooms_above_it() -> None:
    assert [told for module in NAMES for told in trespasses(module)] == []


def test_the_entry_module_imports_doors_only() -> None:
    wrong = [
        f"{module} imports {name}"
        for module in sorted(BELOW_ALL)
        for name in own_imports(module) - ABOVE_ALL
        if not is_door(name)
    ]
    assert wrong == []


def test_every_door_is_used_from_outside_its_room() -> None:
    used = {
        name for module in NAMES for name in own_imports(module) if room_of(name) != room_of(module)
    }
    idle = [
        f"{room}: {door}"
        for room, doors in ROOMS.items()
        for door in doors.split()
        if door != "*" and not any(fnmatchcase(name, f"{room}.{door}") for name in used)
    ]
    # `__main__.QUICK` imports the fast doors of the interfaces by name.
    assert [door for door in idle if not door.startswith("interfaces")] == []


def know_context(imports: dict[str, set[str]]) -> list[str]:
    """Return the modules that take a whole `Context` without being a command."""
    users = (module for module, names in imports.items() if CONTEXT in names)
    return [module for module in users if room_of(module) not in KNOW_CONTEXT]


def test_a_context_is_handed_on_in_commands_only() -> None:
    assert know_context({module: own_imports(module) for module in NAMES}) == []


def test_only_the_entry_and_the_interfaces_ask_for_the_real_app() -> None:
    users = {room_of(module) for module in NAMES if "app" in own_imports(module)}
    assert users <= {"interfaces", "__main__"}


def test_no_import_goes_round_in_a_circle() -> None:
    # The package itself imports nothing: it gives its version, and loads its other names when they
    # are used.
    TopologicalSorter({module: own_imports(module) - ABOVE_ALL for module in NAMES}).prepare()


def is_docstring_only(module: str) -> bool:
    body = ast.parse(source_of(module)).body
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def test_a_room_says_what_it_owns_and_holds_no_code() -> None:
    packages = [module for module in NAMES if is_package(module)]
    assert packages
    assert [module for module in packages if not is_docstring_only(module)] == []


def test_a_room_names_what_is_its_own_and_what_it_never_does() -> None:
    texts = {room: told_by(room) for room in ORDER if room != "app"}
    assert [room for room, text in texts.items() if not text.startswith("Owns ")] == []
    limits = ("never", "nothing")
    assert [
        room for room, text in texts.items() if not any(word in text.lower() for word in limits)
    ] == []


def told_by(room: str) -> str:
    return " ".join((ast.get_docstring(ast.parse(source_of(room))) or "").split())


def test_a_room_names_its_doors() -> None:
    missing = [
        f"{room}: {door}"
        for room, doors in ROOMS.items()
        for door in doors.split()
        if door != "*" and f"`{door.removesuffix('.*')}`" not in told_by(room)
    ]
    assert missing == []


def main_types(room: str) -> list[str]:
    part = told_by(room).partition("Main types: ")[2].partition(";")[0]
    return re.findall(r"`([A-Z]\w+)`", part)


def classes_in(room: str) -> set[str]:
    inside = "\n".join(source_of(name) for name in NAMES if room_of(name) == room)
    return set(re.findall(r"^class (\w+)", inside, re.MULTILINE))


def test_a_room_names_main_types_that_it_has() -> None:
    named = {room: main_types(room) for room in ORDER if room != "app"}
    assert {room: types for room, types in named.items() if len(types) < 3} == {}
    gone = {room: set(types) - classes_in(room) for room, types in named.items()}
    assert {room: types for room, types in gone.items() if types} == {}


def test_a_reader_sees_few_entries() -> None:
    entries = {
        path.name for path in PACKAGE.iterdir() if path.name not in ("__pycache__", "_skills")
    }
    assert len(entries) <= 16, sorted(entries)


def test_standalone_modules_import_nothing_of_the_package() -> None:
    alone = ALONE & set(NAMES)
    assert alone
    assert [module for module in sorted(alone) if not own_imports(module) <= ALONE] == []


def is_pure(module: str) -> bool:
    return not is_package(module) and any(fnmatchcase(module, pattern) for pattern in PURE.split())


def test_pure_modules_import_nothing_impure() -> None:
    pure = {name for name in NAMES if is_pure(name)} - SWITCHES
    assert {name: found for name in pure if (found := touched(source_of(name)) & OUTSIDE)} == {}


def strangers(thing: str, users: list[str]) -> list[str]:
    return [
        module for module in users if not any(fnmatchcase(module, owner) for owner in OWNERS[thing])
    ]


def users_of(thing: str) -> list[str]:
    return [module for module in NAMES if thing in touched(source_of(module))]


def test_an_outside_thing_is_touched_by_its_owner_only() -> None:
    wrong = [
        f"{thing} belongs to {sorted(owners) or 'nobody'}, and is used in {found}"
        for thing, owners in OWNERS.items()
        if (found := strangers(thing, users_of(thing)))
    ]
    assert wrong == []


def test_an_owner_touches_what_it_owns() -> None:
    idle = [
        f"{owner} does not touch {thing}"
        for thing, owners in OWNERS.items()
        for owner in sorted(owners)
        if not any(fnmatchcase(module, owner) for module in users_of(thing))
    ]
    assert idle == []


# Each kind of violation, to show that the check can fail.


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("core.text", "from tmuxreap.registry.rows import load"),
        ("registry.file", "from tmuxreap.commands import stop"),
        ("sessions.look", "def late():\n    from tmuxreap.app import real_app"),
        ("agents.load", "import tmuxreap.sessions.look"),
        ("commands.stop", "from tmuxreap.interfaces.text import report"),
    ],
)
def test_an_import_from_a_room_below_is_seen(module: str, line: str) -> None:
    assert any("below" in told for told in trespasses(module, line))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("commands.stop", "from tmuxreap.ending.ladder.climb import climb"),
        ("ending.end", "from tmuxreap.system.tmux.server import RealTmux"),
        ("ledger.books", "from tmuxreap.registry.yaml import parse"),
        ("app", "from tmuxreap.registry.yaml.parse import parse"),
    ],
)
def test_an_import_through_a_wall_is_seen(module: str, line: str) -> None:
    assert any("no door" in told for told in trespasses(module, line))


def test_a_context_below_the_commands_is_seen() -> None:
    source = "if TYPE_CHECKING:\n    from tmuxreap.sessions.context import Context"
    assert know_context({"ending.end": own_imports("ending.end", source)}) == ["ending.end"]
    assert know_context({"commands.stop": own_imports("commands.stop", source)}) == []


def test_a_circle_is_seen() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert circle({"a": {"b"}, "b": set(), "d": {"a"}}) == []


def test_the_app_may_know_the_implementations() -> None:
    assert not trespasses("app", "from tmuxreap.system.tmux.server import RealTmux")


def test_a_stranger_to_an_outside_thing_is_seen() -> None:
    assert strangers("sqlite3", ["commands.stop"]) == ["commands.stop"]
    assert strangers("sqlite3", ["ledger.books"]) == []


SAMPLE = """
import os, yaml.cyaml as fast
from tmuxreap import __version__
from tmuxreap.core.model import Row
from ..registry import file
from . import stop
def late():
    import tmuxreap.app
    from os import getenv
    return os.environ
"""


def test_the_reader_sees_imports_of_every_form() -> None:
    known = ["core", "core.model", "registry", "registry.file", "commands", "commands.stop", "app"]
    assert imported(SAMPLE, "commands.show", known) == {
        "/os",
        "/yaml",
        "__init__",
        "core.model",
        "registry.file",
        "commands.stop",
        "app",
    }
    assert touched(SAMPLE) >= {"os", "yaml", "os.getenv", "os.environ"}
