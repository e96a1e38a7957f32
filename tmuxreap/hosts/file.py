"""Reads hosts.yaml: the user's hosts, and how each is reached. Strict, and refuses a file that
other users could have written.

Never connects to a host, and never writes the file."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import field, frozen
from tmuxreap.system.environment import Settings

LOCAL, EVERY = "local", "all"
KEYS = ("ssh", "via", "tags", "registry", "program")
PROGRAM = "tmuxreap"
# A plain path, without characters that a shell could interpret.
_PLAIN_PATH = re.compile(r"(?:~/)?[A-Za-z0-9_.+@%:,=/][A-Za-z0-9_.+@%:,=/-]*")
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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

    def named(self, name: str) -> Host | None:
        return Host(LOCAL) if name == LOCAL else self.found.get(name)

    def tagged(self, tag: str) -> list[Host]:
        return [host for host in self.found.values() if tag in host.tags]


def read_hosts(settings: Settings) -> Hosts:
    """Read hosts.yaml; without the file there is only `local`."""
    profiles = settings.user_profiles
    path = profiles.with_name("hosts.yaml") if profiles else None
    if path is None or not os.path.lexists(path):
        return Hosts(path)
    try:
        _refuse_if_writable_by_others(path, settings.uid)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(path, str(getattr(error, "strerror", None) or error)) from None
    return Hosts(path, parse(path, text))


def parse(path: Path, text: str) -> dict[str, Host]:
    import yaml

    try:
        return _hosts(_document(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise _invalid(path, f"{line}{error.problem}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise _invalid(path, str(error)) from None


def _hosts(document: object) -> dict[str, Host]:
    """Return the hosts of a document; raise ValueError where it is wrong."""
    if not isinstance(document, dict) or set(document) - {"hosts"}:
        raise ValueError("one key is due in it: hosts")
    blocks = document.get("hosts")
    if blocks is None:
        return {}
    if not isinstance(blocks, dict):
        raise ValueError("hosts: a mapping of names is due")
    return {str(name): _host(name, block) for name, block in blocks.items()}


def _document(text: str) -> object:
    import yaml

    class Loader(yaml.SafeLoader):
        """A loader that rejects duplicate host names, where the last would win."""

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[object, object]:
        keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
        duplicate = next((key for at, key in enumerate(keys) if key in keys[:at]), None)
        if duplicate is not None:
            raise yaml.constructor.ConstructorError(
                None, None, f"{duplicate!r} stands there twice", node.start_mark
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
    return Host(
        name=name,
        ssh=None if "via" in fields else _destination(name, fields.get("ssh", name)),
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
    raise ValueError(f"{name}: {key}: text is due where {value!r} stands")


def _words(name: str, key: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    words: Any = fields.get(key, [])
    fits = isinstance(words, list) and all(map(_is_text, words))
    if not fits or (key == "via" and (not words or words[0].startswith("-"))):
        raise ValueError(f"{name}: {key}: a list of words is due where {words!r} stands")
    return tuple(words)


def is_safe(word: str) -> bool:
    """Tell whether a word cannot be taken for an option and has no blanks or control characters."""
    return _is_text(word) and not word.startswith("-") and " " not in word


def _is_text(value: object) -> TypeGuard[str]:
    """Tell whether it is a text without control characters, and not empty."""
    return isinstance(value, str) and value != "" and value.isprintable()


def _refuse_if_writable_by_others(path: Path, uid: int) -> None:
    """Refuse a file that other users may write or replace: they could run commands as the user."""
    real = Path(os.path.realpath(path))
    for place in {path.parent, path, real, real.parent}:
        status = place.stat()
        if status.st_uid not in (0, uid):
            raise _invalid(path, f"{place} belongs to another user (uid {status.st_uid})")
        shared = place.is_dir() and status.st_mode & stat.S_ISVTX
        if status.st_mode & WRITABLE_BY_OTHERS and not shared:
            raise _invalid(path, f"others may write {place}", f"chmod go-w {place}")


def _invalid(path: Path, reason: str, hint: str = "") -> Failure:
    message = f"could not read the hosts in {path}: {reason}"
    return Failure(
        Code.CONFIG_INVALID, message, hint or f"edit {path}; docs/hosts.md shows what stands there"
    )
