"""Builds the block `background` of a profile: how an agent's own daemon lists, ends and shows its
sessions, and where it records itself. Reads no list, and asks no daemon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tmuxreap.agents.blocks import Block
from tmuxreap.agents.profiles import Background, Folder, OwnDaemon, OwnServer, ServerCall, Transport
from tmuxreap.agents.programs import Spare


def background_of(data: Block) -> Background:
    data.only(Background.__match_args__)
    file = data.text("file") or ""
    entries = data.text("entries") or ""
    end = data.words("end")
    server = None
    if data.inner("server").data:
        server = _server(data.inner("server"))
    elif not file or not entries or not end:
        raise data.bad("file", "background sessions need their file, its entries, and their end")
    for key in ("file", "state_file"):
        data.check_in_store(key)
    default = Background(file, entries, end)
    unused = data.inner("unused").data
    return Background(
        file=file,
        entries=entries,
        end=end,
        server=server,
        attach=data.words("attach"),
        id=data.pattern("id") or default.id,
        daemon=data.text("daemon"),
        pid=data.text("pid") or default.pid,
        started=data.text("started") or default.started,
        agent_pid=data.text("agent_pid"),
        agent_started=data.text("agent_started"),
        conversation=data.text("conversation"),
        source=data.text("source"),
        parents=data.words("parents"),
        folder=data.text("folder"),
        flags=data.text("flags"),
        began=data.text("began"),
        unused={str(key): str(word) for key, word in unused.items()},
        state_file=data.text("state_file"),
        state=data.text("state") or default.state,
        ended=data.words("ended"),
        respawn_s=data.number("respawn_s", 0.0),
        record=_record(data.inner("record")),
    )


def _record(data: Block) -> OwnDaemon | None:
    if not data.data:
        return None
    data.only(OwnDaemon.__match_args__)
    file = data.text("file")
    programs = tuple(_programs(data))
    if not file or not programs:
        raise data.bad("file", "a daemon is told by its programs, and by the file that records it")
    data.check_in_store("file")
    folder = None
    place = data.inner("folder").only(Folder.__match_args__)
    if place.data:
        folder = Folder(place.text("variable"), place.text("default"), place.text("under") or "")
    return OwnDaemon(
        programs=programs,
        file=file,
        folder=folder,
        pid=data.text("pid") or "pid",
        started=data.text("started"),
        mend=data.words("mend"),
    )


def _programs(data: Block) -> Iterator[Spare]:
    for block in data.entries("programs", "program"):
        yield _spare(block, "a daemon")


def _server(data: Block) -> OwnServer:
    data.only(OwnServer.__match_args__)
    listed = _call(data, "list")
    entry = _call(data, "entry")
    end = _call(data, "end")
    by_hand = data.text("by_hand")
    if listed is None or entry is None or end is None or not by_hand:
        raise data.bad("list", "a server needs the calls list, entry and end, and by_hand")
    transport = _transport(data)
    socket = data.text("socket")
    if transport is Transport.SOCKET and not socket:
        raise data.bad("socket", "this transport needs the socket's place in the store")
    data.check_in_store("socket")
    return OwnServer(
        transport=transport,
        program=_program(data),
        list=listed,
        entry=entry,
        end=end,
        by_hand=by_hand,
        socket=socket,
        hello=_call(data, "hello"),
        password=data.text("password"),
        user=data.text("user"),
        login=data.text("login") or "",
        folders=data.text("folders"),
        entries=data.text("entries"),
        inner=data.text("inner"),
        working=data.words("working"),
        asks=data.text("asks"),
        waiting=tuple(_calls(data, "waiting")),
        waiting_id=data.text("waiting_id"),
        waiting_for=data.text("waiting_for"),
        turn=_call(data, "turn"),
        turn_id=data.text("turn_id"),
    )


def _transport(data: Block) -> Transport:
    word = data.text("transport") or ""
    if word not in set(Transport):
        known = ", ".join(Transport)
        raise data.bad("transport", f"{word!r} is no way to reach a server; known are {known}")
    return Transport(word)


def _program(data: Block) -> Spare:
    return _spare(data.inner("program"), "a server")


def _spare(block: Block, what: str) -> Spare:
    block.only(("program", "arguments"))
    program = block.text("program")
    arguments = block.pattern("arguments")
    if not program or arguments is None:
        raise block.bad("program", f"{what} is told by its program and its arguments")
    return Spare(program, arguments)


def _call(data: Block, key: str) -> ServerCall | None:
    """Return a call: its name alone, or with a mapping of what it is given."""
    value = data.data.get(key)
    if value is None:
        return None
    return _call_of(value, data, key)


def _calls(data: Block, key: str) -> list[ServerCall]:
    return [_call_of(value, data, key) for value in data.list(key)]


def _call_of(value: object, data: Block, key: str) -> ServerCall:
    if isinstance(value, str):
        return ServerCall(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, parameters),) = value.items()
        if isinstance(parameters, Mapping):
            return ServerCall(str(name), {str(word): given for word, given in parameters.items()})
    raise data.bad(key, f"{value!r} is no call: a name, or a name with what it is given")
