"""Owns what versions of tmux do differently: which fields they leave empty, which names they
change. Pure.

It reads the listing of one server, and never takes what a version leaves out for a fact: a field
that is empty or odd is unknown for that pane. What makes a pane impossible to tell leaves out its
session, which is then not proven gone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, product

from tmuxreap.core.model import Pane, Server, Session, Unread
from tmuxreap.core.values import replace

CHANGED = frozenset(".:\\$")
DOLLARS = ("$", r"\$", r"\\$")
ANYTHING = "[^:]*"
NUMBER = r"\d{1,18}"

# What must be there to tell one session from another, and what may be missing. A name holds no
# newline but any other letter (from 3.6 on also a colon), so it stands last: a line can be read in
# one way only. session_activity is the user's input; output shows in window_activity.
FIELDS = {
    "session_id": rf"\${NUMBER}",
    "session_created": NUMBER,
    "session_activity": ANYTHING,
    "window_activity": ANYTHING,
    "session_attached": ANYTHING,
    "session_group_size": r"\d{0,18}",  # empty without a group
    "window_id": rf"@{NUMBER}",
    "window_linked_sessions": (
        NUMBER
    ),  # from 3.6 on a group counts as one, before as many as are in it
    "pane_id": f"%{NUMBER}",
    "pane_pid": ANYTHING,  # from 3.8 on empty for a dead pane, before the last one
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
    """The server as listed; None without our own last line: an answer that is cut, or none, says
    nothing."""
    *_, end = (None, *_END.finditer(text))
    if end is None:
        return None
    listed: dict[str, list[tuple[str, ...]]] = {}
    unread: list[Unread] = []
    for line in filter(None, text[: end.start()].split("\n")):
        read = _LINE.fullmatch(line)
        if read is None or _is_untold(read):
            unread.append(_whose(line))
        else:
            listed.setdefault(read[1], []).append(read.groups())
    server = Server(
        socket, int(end[1]), int(end[2]), tuple(map(_session, listed.values())), tuple(unread)
    )
    whole = tuple(one for one in server.sessions if not server.may_hide(one.id, one.name))
    return replace(server, sessions=whole) if unread else server


def spellings(name: str) -> tuple[str, ...]:
    """Names that a session gets which is made with this one: before 3.6 without dots and colons,
    and everywhere with backslashes doubled and dollars behind one or two."""
    if CHANGED.isdisjoint(name):
        return (name,)
    undotted = name.translate({ord("."): "_", ord(":"): "_"})
    doubled = [each.replace("\\", "\\\\") for each in (name, undotted)]
    return tuple(
        dict.fromkeys(each.replace("$", dollar) for each, dollar in product(doubled, DOLLARS))
    )


def _whose(line: str) -> Unread:
    """As far as that can be told: the id stands first, and the name last where no field is missing
    behind the id."""
    words = line.split(":", len(FIELDS) - 1)
    id_ = words[0] if _ID.fullmatch(words[0]) else None
    named = len(words) == len(FIELDS) or id_ is None
    return Unread(id_, (words[-1] or None) if named else None)


def _is_untold(read: re.Match[str]) -> bool:
    """A pane that lives, and nobody knows in which process."""
    return read[_DEAD] != "1" and _number(read[_PID]) is None


def _session(rows: list[tuple[str, ...]]) -> Session:
    id_, created, _, _, attached, group, *_, name = rows[0]
    clients = _number(attached)
    return Session(
        id=id_,
        name=name,
        created=int(created),
        activity=_latest(list(map(_number, chain.from_iterable(row[2:4] for row in rows)))),
        attached=(
            1 if clients is None else clients
        ),  # who cannot be told is not ended for being alone
        grouped=int(group or 0) > 1,
        panes=tuple(map(_pane, rows)),
    )


def _pane(told: tuple[str, ...]) -> Pane:
    window, linked, id_, pid, dead, in_mode, synchronized, input_off, tty, remain, _ = told[6:]
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
    """None where one of them is unknown: it could be the latest."""
    return None if None in moments else max(filter(None, moments), default=0)


def unpadded(screen: str) -> str:
    """Take off what 3.2a fills up: it gives joined lines all the cells that they ever had, as
    spaces."""
    return "\n".join(
        line.rstrip(" ") if line.endswith("  ") else line for line in screen.split("\n")
    )
