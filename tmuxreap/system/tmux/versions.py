"""Parses the listing of one server, and owns the differences between tmux versions: fields they
leave empty, names they change. Never takes a missing value for a fact: a pane that cannot be
identified removes its session from the listing, but the session is not proven gone then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

from tmuxreap.core.model import Pane, Server, ServerSession, UnreadSession
from tmuxreap.core.values import replace

CHANGED = frozenset(".:\\$")
DOLLARS = ("$", r"\$", r"\\$")
ANYTHING = "[^:]*"
NUMBER = r"\d{1,18}"

# Fields with a pattern are required to identify a session; those with ANYTHING may be missing. A
# name may contain any character but a newline (from 3.6 on also a colon), so it comes last and
# lines are unambiguous. session_activity is the user's input; output updates window_activity.
FIELDS = {
    "session_id": rf"\${NUMBER}",
    "session_created": NUMBER,
    "session_activity": ANYTHING,
    "window_activity": ANYTHING,
    "session_attached": ANYTHING,
    "session_group_size": r"\d{0,18}",  # empty without a group
    "window_id": rf"@{NUMBER}",
    "window_linked_sessions": NUMBER,  # from 3.6 on a group counts as one session
    "pane_id": f"%{NUMBER}",
    "pane_pid": ANYTHING,  # of a dead pane: empty from 3.8 on, its last pid before
    "pane_dead": ANYTHING,
    "pane_in_mode": ANYTHING,
    "pane_synchronized": ANYTHING,
    "pane_input_off": ANYTHING,
    "pane_tty": ANYTHING,
    "remain-on-exit": ANYTHING,
    "session_name": ".+",
}
LOOK_FORMAT = ":".join(f"#{{{name}}}" for name in FIELDS)
END_FORMAT = "=:#{pid}:#{start_time}"

_LINE = re.compile(":".join(f"({pattern})" for pattern in FIELDS.values()), re.ASCII)
_END = re.compile(rf"^=:({NUMBER}):({NUMBER})\n", re.ASCII | re.MULTILINE)
_NUMBER = re.compile(NUMBER, re.ASCII)
_PID, _DEAD = (list(FIELDS).index(name) + 1 for name in ("pane_pid", "pane_dead"))
_ID = re.compile(FIELDS["session_id"], re.ASCII)


def server_of(socket: str, text: str) -> Server | None:
    """Parse the listing of a server; return None without our own last line, as a missing or
    truncated answer proves nothing."""
    ends = list(_END.finditer(text))
    if not ends:
        return None
    end = ends[-1]
    listed: dict[str, list[tuple[str, ...]]] = {}
    unread: list[UnreadSession] = []
    for line in filter(None, text[: end.start()].split("\n")):
        fields = _LINE.fullmatch(line)
        if fields is None or _lacks_pid(fields):
            unread.append(_identify(line))
        else:
            listed.setdefault(fields[1], []).append(fields.groups())
    server = Server(
        socket, int(end[1]), int(end[2]), tuple(map(_session, listed.values())), tuple(unread)
    )
    whole = tuple(
        session for session in server.sessions if not server.may_hide(session.id, session.name)
    )
    return replace(server, sessions=whole) if unread else server


def spellings(name: str) -> tuple[str, ...]:
    """Return the names that tmux may give a session created with this one: before 3.6 dots and
    colons are replaced, and all versions double backslashes and escape dollars."""
    if CHANGED.isdisjoint(name):
        return (name,)
    undotted = name.translate({ord("."): "_", ord(":"): "_"})
    doubled = [each.replace("\\", "\\\\") for each in (name, undotted)]
    return tuple(
        dict.fromkeys(each.replace("$", dollar) for each, dollar in product(doubled, DOLLARS))
    )


def _identify(line: str) -> UnreadSession:
    """Identify the session of an unreadable line, as far as possible: its ID comes first, its name
    last if no field is missing between them."""
    words = line.split(":", len(FIELDS) - 1)
    id_ = words[0] if _ID.fullmatch(words[0]) else None
    named = len(words) == len(FIELDS) or id_ is None
    return UnreadSession(id_, (words[-1] or None) if named else None)


def _lacks_pid(fields: re.Match[str]) -> bool:
    """Tell whether the pane is alive but its process is unknown."""
    return fields[_DEAD] != "1" and _number(fields[_PID]) is None


def _session(rows: list[tuple[str, ...]]) -> ServerSession:
    id_, created, _, _, attached, group, *_, name = rows[0]
    clients = _number(attached)
    active: list[int | None] = []
    for row in rows:
        active += map(_number, row[2:4])
    return ServerSession(
        id=id_,
        name=name,
        created=int(created),
        activity=_latest(active),
        attached=1 if clients is None else clients,  # unknown counts as attached: never reaped
        grouped=int(group or 0) > 1,
        panes=tuple(map(_pane, rows)),
    )


def _pane(fields: tuple[str, ...]) -> Pane:
    window, linked, id_, pid, dead, in_mode, synchronized, input_off, tty, remain, _ = fields[6:]
    return Pane(
        id=id_,
        pid=_number(pid),
        tty=tty if tty.startswith("/dev/") and tty.isprintable() else "",
        dead=dead == "1",
        in_mode=in_mode != "0",
        synchronized=synchronized == "1",
        input_off=input_off == "1",
        window_id=window,
        linked=int(linked) > 1,
        remain_on_exit=remain,
    )


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def _latest(moments: Sequence[int | None]) -> int | None:
    """Return the latest moment, or None if any is unknown: it could be the latest."""
    if None in moments:
        return None
    return max(filter(None, moments), default=0)


def unpadded(screen: str) -> str:
    """Strip the padding of tmux 3.2a, which fills joined lines with spaces to their former
    width."""
    return "\n".join(
        line.rstrip(" ") if line.endswith("  ") else line for line in screen.split("\n")
    )
