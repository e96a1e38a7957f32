"""Owns the user's small files, agents.yaml, hosts.yaml and config.yaml, as texts: reads them, and
remembers what was last read well of each.

Never uses a file that others may write or that is no regular file, never blocks on one, and never
reads more than a megabyte. Knows nothing of their contents."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen

LARGEST = 1_000_000
FOLDER = "tmuxreap"


class NotUsed(Exception):  # noqa: N818 - a result rather than an error
    """A file that is not used; `text`: what can be read of it all the same."""

    def __init__(self, reason: str, hint: str = "", text: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.text = text


@frozen
class Fault:
    """A part of a file that is not used: a block, or all of it, where `part` is empty."""

    part: str
    message: str
    hint: str
    text: str = ""  # the part as it stands there
    remembered: bool = False  # it counts as it was last read well

    @property
    def failure(self) -> Failure:
        return Failure(Code.CONFIG_INVALID, self.message, self.hint)

    @property
    def warning(self) -> str:
        if self.remembered:
            instead = "it counts as it was last read"
        else:
            instead = "it is left out"
        return f"{Code.CONFIG_INVALID.text}: {self.message}; {instead}"

    def loses(self, word: str) -> bool:
        """Tell whether a setting of that name may be lost."""
        return not self.remembered and re.search(rf"\b{word}\b", self.text) is not None


def read_own(path: Path, uid: int) -> str:
    """Return the text of a file of this user's or root's; raise NotUsed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise NotUsed(str(error.strerror)) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotUsed("it is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise NotUsed(str(error.strerror)) from None
    finally:
        os.close(descriptor)
    text = data.decode("utf-8", "replace")
    if len(data) > LARGEST:
        raise NotUsed(f"it is larger than {LARGEST // 1000} kB", text=text)
    _refuse_if_writable_by_others(path, uid, text)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotUsed(str(error), text=text) from None


def _refuse_if_writable_by_others(path: Path, uid: int, text: str) -> None:
    """Refuse a file that other users may write or replace: they could run commands as the user."""
    real = Path(os.path.realpath(path))
    for place in (path, path.parent, real, real.parent):
        status = place.stat()
        if status.st_uid not in (0, uid):
            reason = f"{place} belongs to another user (uid {status.st_uid})"
            raise NotUsed(reason, text=text)
        shared = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if _is_writable_by_others(status, uid) and not shared:
            raise NotUsed(f"others may write {place}", f"chmod go-w {place}", text)


def _is_writable_by_others(status: os.stat_result, uid: int) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not is_private_group(status.st_gid, uid)


def is_private_group(group: int, uid: int) -> bool:
    """Tell whether a group is the user's alone, as many systems make one for each user, with a
    umask that lets it write."""
    import grp  # late: few files are writable by a group
    import pwd

    if uid == 0:
        return False
    try:
        user = pwd.getpwuid(uid)
        named = grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and named.gr_name == user.pw_name and not named.gr_mem


def recall(path: Path, folder: Path | None, uid: int) -> Mapping[str, object] | None:
    """Return what was last read well of a file, or None if nothing is known."""
    if folder is None:
        return None
    try:
        data = json.loads(read_own(_memory_of(path, folder), uid))
    except (NotUsed, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def remember(path: Path, folder: Path | None, data: Mapping[str, object]) -> None:
    """Remember what was read well of a file. That it cannot be is no reason to fail."""
    if folder is None:
        return
    memory = _memory_of(path, folder)
    temporary = memory.with_name(f".{memory.name}.{os.getpid()}.{os.urandom(6).hex()}.tmp")
    with contextlib.suppress(OSError, TypeError, ValueError, RecursionError):
        text = json.dumps(data)
        memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(memory)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def _memory_of(path: Path, folder: Path) -> Path:
    mark = zlib.crc32(os.fsencode(path.absolute()))
    return folder / FOLDER / f"last-{path.stem}-{mark:08x}.json"
