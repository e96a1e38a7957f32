"""Keeps the sessions that hosts told of last, for as long as a shell may offer them: a minute. In
the private folder of the connections, or nowhere.

Asks no host and believes none: only plain names are kept."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

KEPT_S = 60.0
FILE = "sessions.json"
MOST = 2000  # of one host
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
STATUSES = frozenset({"running", "stopped", "terminated"})
Known = dict[str, object]


def remember(
    folder: Path | None, told: Mapping[str, Sequence[Mapping[str, object]]], now: float
) -> None:
    """By host what it answered; others stay until their minute is over."""
    if folder is None or not told:
        return
    path = folder / FILE
    fresh = {host: kept for host, kept in _read(path).items() if _is_fresh(kept, now)}
    for host, rows in told.items():
        fresh[host] = {"at": now, "sessions": list(_plain(rows))}
    temporary = path.with_name(f"{FILE}.{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.write_text(json.dumps(fresh), encoding="utf-8")
        temporary.replace(path)


def remembered(path: Path, now: float) -> Iterator[tuple[str, str]]:
    """Each target with its status; nothing from a file that others could have written."""
    try:
        found, own = path.lstat(), os.getuid()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode) or found.st_uid != own or found.st_mode & 0o022:
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
        name, status = row.get("name"), row.get("status")
        if isinstance(name, str) and _PLAIN.fullmatch(name) and status in STATUSES:
            yield {"name": name, "status": str(status)}


def _read(path: Path) -> Known:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_fresh(kept: object, now: float) -> bool:
    at = kept.get("at") if isinstance(kept, dict) else None
    return isinstance(at, (int, float)) and 0 <= now - at <= KEPT_S
