"""Caches the sessions that hosts reported, for shell completion: for a minute, and only in the
private folder of the connections.

Never contacts a host, and trusts none: only plain names are kept."""

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
        status, own = path.lstat(), os.getuid()
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
        name, status = row.get("name"), row.get("status")
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
