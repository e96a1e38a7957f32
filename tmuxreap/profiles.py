"""Owner of the agents' profiles: the package's agents.yaml, the user's file merged over it, checked as they are read.

An agent is data: nothing in the program knows an agent by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from tmuxreap.errors import Code, Failure
from tmuxreap.screens import State
from tmuxreap.values import field, frozen

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# Programs that only run another one: what they run is looked at in their place.
WRAPPERS = frozenset({"node", "bun", "deno", "env", "npx", "uvx", "nohup", "nice", "sh", "bash", "dash", "zsh", "fish"})
_IN_PACKAGE = re.compile(r".*/node_modules/(?!\.bin/)(?:@[^/]+/)?(?P<name>[^/]+)/")
_PYTHON = re.compile(r"^(?:python|pypy)[0-9.]*$")
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "ash", "nu", "xonsh", "elvish"})
SCRIPTS = (".js", ".mjs", ".cjs", ".py", ".sh")
LOCATORS = ("hook", "pidfile", "open-file", "exit-banner", "launch", "argv", "sole-candidate")


@frozen
class Key:
    name: str


@frozen
class Text:
    text: str


@frozen
class Pause:
    seconds: float


KeyStep = Key | Text | Pause


@frozen
class Locator:
    """One way to learn the conversation's ID; `settings` are the words of its block."""

    kind: str
    settings: Mapping[str, object] = field(default_factory=dict)


@frozen
class Spare:
    """A program that is shared: it gets no signal, wherever it was started."""

    program: str
    arguments: re.Pattern[str] | None

    def matches(self, names: Sequence[str], command: str) -> bool:
        return self.program in names and (self.arguments is None or self.arguments.search(command) is not None)


@frozen
class Profile:
    name: str
    about: str = ""
    verified: str | None = None
    process: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    screens: Mapping[State, re.Pattern[str]] = field(default_factory=dict)
    idle_keys: tuple[KeyStep, ...] = ()
    safe_keys: tuple[KeyStep, ...] = ()
    again_keys: tuple[KeyStep, ...] = ()
    leave_s: float = 3.0
    spare: tuple[Spare, ...] = ()
    store_variable: str | None = None
    store_default: str | None = None
    id_pattern: str = _UUID
    artifact: str | None = None
    message: re.Pattern[str] | None = None
    query: str | None = None
    folder: re.Pattern[str] | None = None
    locators: tuple[Locator, ...] = ()
    purge: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()

    @property
    def has_keys(self) -> bool:
        return bool(self.idle_keys or self.safe_keys)

    def recognises(self, argv: Sequence[str], comm: str, executable: str | None) -> bool:
        """A daemon that serves several agents has the agent's name, and is none of them."""
        called, command = program_names(argv[:1], comm, executable), " ".join(argv)
        shared = any(spare.matches(called, command) for spare in self.spare)
        return not shared and any(name in self.process for name in program_names(argv, comm, executable))


@frozen
class Profiles:
    agents: Mapping[str, Profile]
    common_spare: tuple[Spare, ...]

    def of(self, agent: str | None) -> Profile | None:
        return self.agents.get(agent) if agent else None

    def by_name_suffix(self, session: str) -> str | None:
        """`acme-creator-claude` is a claude: the last word of a session's name."""
        last = session.rsplit("-", 1)[-1]
        return last if last in self.agents else None

    def by_command(self, words: Sequence[str]) -> str | None:
        names = program_names(words, "", None)
        return next((p.name for p in self.agents.values() if any(name in p.process for name in names)), None)


def program_names(argv: Sequence[str], comm: str, executable: str | None) -> tuple[str, ...]:
    """What a process may be called by: its program, and behind a wrapper the program that it runs."""
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
    """Of a script that is called `cli.js` as many are, the package that it lies in."""
    return [found["name"]] if (found := _IN_PACKAGE.search(path)) else []


def _script(path: str) -> str:
    name = _file_name(path)
    return name.rpartition(".")[0] if name.endswith(SCRIPTS) else name


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def load_profiles(user_file: Path | None) -> Profiles:
    data = _read(Path(__file__).with_name("agents.yaml"))
    if user_file is not None and user_file.exists():
        data = _merged(data, _read(user_file))
    place = str(user_file or "agents.yaml")
    agents = _mapping(data.get("agents"), place, "agents")
    common = _mapping(data.get("common"), place, "common")
    return Profiles(
        agents={name: _profile(str(name), block, place) for name, block in agents.items()},
        common_spare=_spares(common.get("spare"), place),
    )


def _read(path: Path) -> dict[str, object]:
    try:
        loaded = yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _bad(str(path), " ".join(str(error).split())) from None
    return dict(_mapping(loaded, str(path), "the file"))


def _merged(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Mappings key by key, all else replaced whole."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = _merged(below, value) if both else value  # type: ignore[arg-type]
    return result


def _profile(name: str, block: object, place: str) -> Profile:
    where = f"{place}: agents.{name}"
    data = _mapping(block, where, "the block")
    keys = _mapping(data.get("keys"), where, "keys")
    store = _mapping(data.get("store"), where, "store")
    talk = _mapping(data.get("conversation"), where, "conversation")
    screens = _mapping(data.get("screens"), where, "screens")
    return Profile(
        name=name,
        about=str(data.get("about", "")),
        verified=None if data.get("verified") is None else str(data["verified"]),
        process=_strings(data.get("process"), where),
        command=tuple(word.replace("{python}", sys.executable) for word in _strings(data.get("command"), where)),
        launch=_strings(data.get("launch"), where),
        resume=_strings(data.get("resume"), where),
        screens={_state(word, where): _pattern(text, where) for word, text in screens.items()},
        idle_keys=_keys(keys.get("idle"), where),
        safe_keys=_keys(keys.get("safe"), where),
        again_keys=_keys(keys.get("again"), where),
        leave_s=float(str(data.get("leave_s", 3.0))),
        spare=_spares(data.get("spare"), where),
        store_variable=None if store.get("variable") is None else str(store["variable"]),
        store_default=None if store.get("default") is None else str(store["default"]),
        id_pattern=str(talk.get("id", _UUID)),
        artifact=None if talk.get("artifact") is None else str(talk["artifact"]),
        message=_optional_pattern(talk.get("message"), where),
        query=None if talk.get("query") is None else str(talk["query"]),
        folder=_optional_pattern(talk.get("folder"), where),
        locators=_locators(talk.get("locators"), where),
        purge=_inside_store(talk.get("purge"), where),
        shared=_inside_store(talk.get("shared"), where),
        delete=_strings(talk.get("delete"), where),
    )


def _keys(value: object, where: str) -> tuple[KeyStep, ...]:
    steps: list[KeyStep] = []
    for step in _list(value, where):
        if isinstance(step, (int, float)):
            steps.append(Pause(float(step)))
        elif isinstance(step, str):
            steps.append(Key(step))
        elif isinstance(step, Mapping) and set(step) == {"text"}:
            steps.append(Text(str(step["text"])))
        else:
            raise _bad(where, f"{step!r} is no key, no pause and no text")
    return tuple(steps)


def _locators(value: object, where: str) -> tuple[Locator, ...]:
    found: list[Locator] = []
    for item in _list(value, where):
        settings = item if isinstance(item, Mapping) else {"kind": item}
        kind = str(settings.get("kind"))
        if kind not in LOCATORS:
            raise _bad(where, f"{kind!r} is no locator; there are {', '.join(LOCATORS)}")
        found.append(Locator(kind, {str(k): v for k, v in settings.items() if k != "kind"}))
    return tuple(found)


def _inside_store(value: object, where: str) -> tuple[str, ...]:
    patterns = _strings(value, where)
    for pattern in patterns:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise _bad(where, f"{pattern!r} does not lie in the store")
    return patterns


def _spares(value: object, where: str) -> tuple[Spare, ...]:
    spares: list[Spare] = []
    for item in _list(value, where):
        settings = item if isinstance(item, Mapping) else {"program": item}
        spares.append(Spare(str(settings.get("program")), _optional_pattern(settings.get("arguments"), where)))
    return tuple(spares)


def _state(word: object, where: str) -> State:
    try:
        return State(word)
    except ValueError:
        raise _bad(where, f"{word!r} is no state of a screen") from None


def _pattern(text: object, where: str) -> re.Pattern[str]:
    try:
        return re.compile(str(text), re.MULTILINE)
    except re.error as error:
        raise _bad(where, f"{text!r} is no pattern: {error}") from None


def _optional_pattern(text: object, where: str) -> re.Pattern[str] | None:
    return None if text is None else _pattern(text, where)


def _strings(value: object, where: str) -> tuple[str, ...]:
    return tuple(str(item) for item in _list(value, where))


def _list(value: object, where: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _bad(where, f"a list is due where {value!r} stands")
    return value


def _mapping(value: object, where: str, what: str) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _bad(where, f"{what} is no mapping")
    return value


def _bad(where: str, reason: str) -> Failure:
    message = f"could not read the agents' profiles: {where}: {reason}"
    return Failure(Code.USAGE, message, "mend the block and try again")
