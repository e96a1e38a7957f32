"""Owns hosts.yaml, in which a host that is wrong is left out and named, and the short memory of the
sessions that hosts reported, for shell completion. Never contacts a host, and trusts none."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from tmuxreap.agents.blocks import Unreadable, check_extent, place
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import field, frozen
from tmuxreap.system import own_files
from tmuxreap.system.environment import Settings
from tmuxreap.system.own_files import Fault, NotUsed

LOCAL = "local"
EVERY = "all"
KEYS = ("ssh", "via", "tags", "registry", "program")
PROGRAM = "tmuxreap"
# A plain path, without characters that a shell could interpret.
_PLAIN_PATH = re.compile(r"(?:~/)?[A-Za-z0-9_.+@%:,=/][A-Za-z0-9_.+@%:,=/-]*")


@frozen
class Host:
    """One host: an ssh destination, or the words of a command that runs a command on it."""

    name: str
    ssh: str | None = None
    via: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    registry: str | None = None
    program: str = PROGRAM

    @property
    def is_local(self) -> bool:
        return self.name == LOCAL


@frozen
class Hosts:
    """The hosts of hosts.yaml, in its order."""

    path: Path | None
    found: Mapping[str, Host] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def named(self, name: str) -> Host | None:
        """Return a host; raise a Failure for one whose block, or the whole file, is wrong."""
        if name == LOCAL:
            return Host(LOCAL)
        host = self.found.get(name)
        wrong = (fault for fault in self.faults if fault.part in ("", name))
        if host is None and (fault := next(wrong, None)) is not None:
            raise fault.failure
        return host

    def every(self) -> list[Host]:
        self._refuse_without_any()
        return list(self.found.values())

    def tagged(self, tag: str) -> list[Host]:
        self._refuse_without_any()
        return [host for host in self.found.values() if tag in host.tags]

    def _refuse_without_any(self) -> None:
        """Refuse where nothing of the file could be read: there may be hosts in it."""
        for fault in self.faults:
            if not fault.part and not fault.remembered:
                raise fault.failure


def read_hosts(settings: Settings) -> Hosts:
    """Read hosts.yaml; without the file there is only `local`. A host that is wrong counts as it
    was last read well, else it is left out; `faults` names it."""
    profiles = settings.user_profiles
    path = None
    if profiles:
        path = profiles.with_name("hosts.yaml")
    if path is None or not os.path.lexists(path):
        return Hosts(path)
    last = own_files.recall(path, settings.state_folder, settings.uid)
    text = ""
    try:
        text = own_files.read_own(path, settings.uid)
        listed = _blocks(path, text)
    except NotUsed as not_used:
        failure = _invalid(path, not_used.reason, not_used.hint)
        return _remembered(path, last, failure, not_used.text)
    except Failure as failure:
        return _remembered(path, last, failure, text)
    found: dict[str, Host] = {}
    faults: list[Fault] = []
    used: dict[str, object] = {}
    for name, block in listed.items():
        try:
            found[str(name)] = _host(name, block)
            used[str(name)] = block
        except (ValueError, TypeError) as error:
            where = place(text, ("hosts", str(name)), of_key=True) or ""
            wrong = _invalid(path, f"{where}{error}")
            before = (last or {}).get(str(name))
            faults.append(_fault(str(name), wrong, str(block), remembered=before is not None))
            if before is not None:
                used[str(name)] = before
                found[str(name)] = _host(name, before)
    if used != last:
        own_files.remember(path, settings.state_folder, used)
    return Hosts(path, found, tuple(faults))


def _remembered(
    path: Path, last: Mapping[str, object] | None, failure: Failure, text: str
) -> Hosts:
    """Return the hosts as they were last read well, for a file that cannot be read."""
    found = {}
    for name, block in (last or {}).items():
        with contextlib.suppress(ValueError, TypeError):
            found[name] = _host(name, block)
    return Hosts(path, found, (_fault("", failure, text, remembered=last is not None),))


def _fault(part: str, failure: Failure, text: str, *, remembered: bool) -> Fault:
    return Fault(part, failure.message, failure.hint, text, remembered=remembered)


def parse(path: Path, text: str) -> dict[str, Host]:
    """Return the hosts of a text; raise a Failure where anything is wrong."""
    try:
        return {str(name): _host(name, block) for name, block in _blocks(path, text).items()}
    except (ValueError, TypeError) as error:
        raise _invalid(path, str(error)) from None


def _blocks(path: Path, text: str) -> dict[object, object]:
    """Return the blocks of a text by name; raise a Failure if it cannot be read."""
    import yaml

    try:
        check_extent(text)
        return _listed(_document(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise _invalid(path, f"{line}{error.problem}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, Unreadable) as error:
        raise _invalid(path, str(error)) from None


def _listed(document: object) -> dict[object, object]:
    """Return the blocks of a document; raise ValueError where it is wrong."""
    if not isinstance(document, dict) or set(document) - {"hosts"}:
        raise ValueError("one key is due in it: hosts")
    blocks = document.get("hosts")
    if blocks is None:
        return {}
    if not isinstance(blocks, dict):
        raise ValueError("hosts: a mapping of names is due")
    return blocks


def _document(text: str) -> object:
    import yaml

    class Loader(yaml.SafeLoader):
        """A loader that rejects duplicate host names, where the last would win."""

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[object, object]:
        keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
        duplicate = next((key for at, key in enumerate(keys) if key in keys[:at]), None)
        if duplicate is not None:
            raise yaml.constructor.ConstructorError(
                None, None, f"{duplicate!r} appears twice", node.start_mark
            )
        return loader.construct_mapping(node, deep=True)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return yaml.load(text, Loader)  # noqa: S506 - a SafeLoader


def _host(name: object, block: object) -> Host:
    has_meaning = name in (LOCAL, EVERY) or "," in str(name) or "@" in str(name)
    if not isinstance(name, str) or has_meaning or not is_safe(name):
        raise ValueError(f"{name!r} cannot be the name of a host")
    fields = {} if block is None else block
    if not isinstance(fields, dict):
        raise ValueError(f"{name}: a mapping is due")
    unknown = next((key for key in fields if key not in KEYS), None)
    if unknown is not None:
        raise ValueError(f"{name}: {unknown!r} is not known here; known are {', '.join(KEYS)}")
    if "ssh" in fields and "via" in fields:
        raise ValueError(f"{name}: ssh and via cannot be combined")
    if "via" in fields:
        ssh = None
    else:
        ssh = _destination(name, fields.get("ssh", name))
    return Host(
        name=name,
        ssh=ssh,
        via=_words(name, "via", fields) if "via" in fields else (),
        tags=_words(name, "tags", fields),
        registry=_text(name, "registry", fields),
        program=_program(name, fields),
    )


def _destination(name: str, value: object) -> str:
    """Check a destination `user@host`: neither part may look like an option to ssh."""
    if not isinstance(value, str) or not is_safe(value) or not all(map(is_safe, value.split("@"))):
        raise ValueError(f"{name}: ssh: {value!r} is no destination")
    return value


def _program(name: str, fields: Mapping[str, object]) -> str:
    value = _text(name, "program", fields) or PROGRAM
    if not _PLAIN_PATH.fullmatch(value):
        raise ValueError(f"{name}: program: {value!r} is no plain path")
    return value


def _text(name: str, key: str, fields: Mapping[str, object]) -> str | None:
    value = fields.get(key)
    if value is None or _is_text(value):
        return value
    raise ValueError(f"{name}: {key}: expected text, not {value!r}")


def _words(name: str, key: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    words: Any = fields.get(key, [])
    fits = isinstance(words, list) and all(map(_is_text, words))
    if not fits or (key == "via" and (not words or words[0].startswith("-"))):
        raise ValueError(f"{name}: {key}: expected a list of words, not {words!r}")
    return tuple(words)


def is_safe(word: str) -> bool:
    """Tell whether a word cannot be taken for an option and has no blanks or control characters."""
    return _is_text(word) and not word.startswith("-") and " " not in word


def _is_text(value: object) -> TypeGuard[str]:
    """Tell whether it is a text without control characters, and not empty."""
    return isinstance(value, str) and value != "" and value.isprintable()


def _invalid(path: Path, reason: str, hint: str = "") -> Failure:
    message = f"could not read the hosts in {path}: {reason}"
    return Failure(
        Code.CONFIG_INVALID, message, hint or f"edit {path}; docs/hosts.md shows an example"
    )


KEPT_S = 60.0
FILE = "sessions.json"
MOST = 2000  # sessions per host
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
STATUSES = frozenset({"running", "stopped", "terminated"})
Known = dict[str, object]


def remember(
    folder: Path | None, sessions_by_host: Mapping[str, Sequence[Mapping[str, object]]], now: float
) -> None:
    """Store the answers by host; those of other hosts stay until they expire."""
    if folder is None or not sessions_by_host:
        return
    path = folder / FILE
    fresh = {host: kept for host, kept in _read(path).items() if _is_fresh(kept, now)}
    for host, rows in sessions_by_host.items():
        fresh[host] = {"at": now, "sessions": list(_plain(rows))}
    temporary = path.with_name(f"{FILE}.{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.write_text(json.dumps(fresh), encoding="utf-8")
        temporary.replace(path)


def remembered(path: Path, now: float) -> Iterator[tuple[str, str]]:
    """Yield each target with its status; nothing if other users could have written the file."""
    try:
        status = path.lstat()
        own = os.getuid()
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_uid != own or status.st_mode & 0o022:
        return
    for host, kept in _read(path).items():
        if not (_PLAIN.fullmatch(host) and isinstance(kept, dict) and _is_fresh(kept, now)):
            continue
        sessions = kept.get("sessions")
        rows = sessions if isinstance(sessions, list) else []
        for row in _plain([one for one in rows if isinstance(one, dict)]):
            yield f"{row['name']}@{host}", row["status"]


def _plain(rows: Sequence[Mapping[str, object]]) -> Iterator[dict[str, str]]:
    for row in rows[:MOST]:
        name = row.get("name")
        status = row.get("status")
        if isinstance(name, str) and _PLAIN.fullmatch(name) and status in STATUSES:
            yield {"name": name, "status": str(status)}


def _read(path: Path) -> Known:
    try:
        hosts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return hosts if isinstance(hosts, dict) else {}


def _is_fresh(kept: object, now: float) -> bool:
    at = kept.get("at") if isinstance(kept, dict) else None
    return isinstance(at, (int, float)) and 0 <= now - at <= KEPT_S
