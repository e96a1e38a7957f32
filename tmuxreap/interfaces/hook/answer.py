"""Answers `hook` and `heartbeat` before a command line is built. Agents call them at every step of
their work: this imports almost nothing, writes one line to the ledger and exits.

Never fails, delays or disturbs an agent: what cannot be recorded at once is dropped. Never stores a
prompt or tool input. A request to stop after the turn is the open intent of a live `stop`; it is
answered here."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sqlite3
import time

from tmuxreap.agents.hooks import events as words_of
from tmuxreap.interfaces.hook import speaker as speaking
from tmuxreap.interfaces.hook.speaker import Facts, read_facts
from tmuxreap.ledger import schema

BUSY_S = 2.0  # how long to wait for a locked ledger
INPUT_S = 2.0  # a pipe that is never closed must not delay the agent
INPUT_BYTES = 16 * 1024 * 1024
LONGEST = 200  # of each stored word


def main(words: list[str]) -> int | None:
    """Answer; None if a heartbeat needs the full command line, for its flags or its error."""
    if words[0] == "hook":
        return hook(words[1:])
    try:
        return 0 if _is_recorded(words[1:]) else None
    except (sqlite3.Error, OSError, ValueError):
        return None


def hook(words: list[str]) -> int:
    """Handle a hook. Always returns 0, and prints only an answer that the agent understands."""
    try:
        reply = _handle_hook(words)
        if reply is not None:
            os.write(1, json.dumps(reply).encode() + b"\n")
    except (Exception, KeyboardInterrupt):  # noqa: BLE001, S110 - see the docstring of the module
        pass
    return 0


def _handle_hook(words: list[str]) -> dict[str, object] | None:
    if not words:
        return None
    agent = words[0]
    # some agents pass the event as an argument
    payloads = [word for word in words[1:] if word.startswith("{")]
    if payloads:
        payload = payloads[-1].encode("utf-8", "replace")
    else:
        payload = read_input(0)
    facts = read_facts(payload.decode("utf-8", "replace"))
    # some do not name the event in their data
    names = [word for word in words[1:] if not word.startswith(("{", "-"))]
    if names:
        word = names[0]
    else:
        word = text_of(facts, words_of.EVENT_FIELDS) or ""
    kind, state = words_of.meaning(word, text_of(facts, words_of.ABOUT_FIELDS) or "")
    conversation = text_of(facts, words_of.CONVERSATION_FIELDS)
    now = time.time()
    speakers = speaking.speakers()
    speaker = speakers[0] if speakers else None
    folder = facts.get("cwd")
    registry = speaking.registry_here(folder if isinstance(folder, str) else None)
    if registry is None:
        return None
    db = _open_ledger(registry)
    if db is None:
        return None
    with contextlib.closing(db):
        name, where = _caller(db, registry, agent, conversation, speaker)
        if not name:
            return None
        reason = None
        if speaking.is_own_agent(db, name, agent, conversation, speaker):
            reason = requested_stop(db, name, now)
        answer = None
        if reason:
            answer = words_of.halt(kind, word, reason)
        tool = text_of(facts, words_of.TOOL_FIELDS)
        data: Facts = {"agent": agent[:LONGEST], "event": word, **speaking.moment(), **where}
        if tool is not None:
            data["tool"] = tool
        if answer is not None:
            data["halted"] = True
        if speaker:
            data["pid"], data["start"], data["terminal"], data["program"] = speaker
        if len(speakers) > 1:
            data["below"] = [value[:2] for value in speakers[1:]]
        record = (name, now, state, kind, conversation, json.dumps(data))
        db.execute(schema.ADD_HEARTBEAT, record)
        return answer


def _is_recorded(words: list[str]) -> bool:
    """Record a heartbeat; False leaves everything but the plain case to the command line."""
    given = _arguments(words)
    if given is None:
        return False
    name, state, registry = given
    if state is not None and state not in words_of.STATES:
        return False
    registry = registry or speaking.registry_here(None)
    if registry is None:
        return False
    db = _open_ledger(registry, name)
    if db is None:
        return False
    with contextlib.closing(db):
        where: Facts = {}
        if name is None:
            name, where = _caller(db, registry, "", None, None)
        elif not (_is_mirrored(db, name) or speaking.is_written(registry, name)):
            return False
        if not name:
            return False
        data = json.dumps({**speaking.moment(), **where})
        said = (name, time.time(), state or words_of.WORKING, words_of.HEARTBEAT, None, data)
        db.execute(schema.ADD_HEARTBEAT, said)
        return True


def _caller(
    db: sqlite3.Connection,
    registry: str,
    agent: str,
    conversation: str | None,
    speaker: speaking.Speaker | None,
) -> tuple[str, Facts]:
    """Return the name of the caller's row; of one that no look has seen, what finds it later."""
    name = speaking.row_of_caller(db, agent, conversation, speaker)
    if name is not None:
        return (name, {})
    return speaking.whereabouts(registry)


def _open_ledger(registry: str, name: str | None = None) -> sqlite3.Connection | None:
    """Open the ledger; create one if the registry names the caller, as nothing else justifies
    it."""
    path = speaking.ledger_of(registry)
    if path is None:
        if name is None:
            is_told = bool(speaking.whereabouts(registry)[0])
        else:
            is_told = speaking.is_written(registry, name)
        if not is_told:
            return None
        path = _create_ledger(registry)
    if path is None:
        return None
    return schema.open_ledger(path, BUSY_S, time.time())


def _create_ledger(registry: str) -> str | None:
    """Create a ledger, unless another process is faster; None if no file may be created."""
    path = speaking.ledger_path(registry)
    folder = os.path.dirname(path)  # noqa: PTH120
    if os.stat(folder).st_uid != os.geteuid() or not os.access(folder, os.W_OK):  # noqa: PTH116
        return None
    schema.create(path, time.time())
    return speaking.ledger_of(registry)


def _is_mirrored(db: sqlite3.Connection, name: str) -> bool:
    return bool(db.execute("SELECT 1 FROM sessions WHERE name = ?", (name,)).fetchone())


def _arguments(words: list[str]) -> tuple[str | None, str | None, str | None] | None:
    names: list[str] = []
    options: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if word in ("--quiet", "-q"):
            continue
        if flag in ("--state", "--registry") and (equals or rest):
            options[flag] = value if equals else rest.pop(0)
        elif word.startswith("-") or not word:
            return None
        else:
            names.append(word)
    if len(names) > 1 or "" in options.values():
        return None
    return (names[0] if names else None), options.get("--state"), options.get("--registry")


# Standard input


def read_input(descriptor: int) -> bytes:
    """Read what arrives in time; input that is too long is read to its end and dropped."""
    if os.isatty(descriptor):
        return b""
    kept: list[bytes] = []
    size = 0
    deadline = time.monotonic() + INPUT_S
    ready = select.poll()
    ready.register(descriptor, select.POLLIN | select.POLLHUP)
    while (left_s := deadline - time.monotonic()) > 0 and ready.poll(left_s * 1000):
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        size += len(part)
        if size <= INPUT_BYTES:
            kept.append(part)
    return b"".join(kept)


def text_of(facts: Facts, fields: tuple[str, ...]) -> str | None:
    """Return the first of these fields with a printable word of acceptable length."""
    for field in fields:
        value = facts.get(field)
        if isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable():
            return value
    return None


# Stopping after the turn


def requested_stop(db: sqlite3.Connection, name: str, now: float) -> str | None:
    """Return why to end the turn; None unless a live `stop` waits for it and has time left."""
    query = """SELECT plan, reason, created_at, owner_pid, owner_start, owner_host_boot
        FROM intents WHERE name = ? AND outcome IS NULL"""
    row = db.execute(query, (name,)).fetchone()
    if row is None:
        return None
    from tmuxreap.ledger.records import RecordedPlan  # rarely is an ending in progress

    plan, reason, since, pid, start, boot_id = row
    after_turn = RecordedPlan.from_text(plan).after_turn
    if after_turn is None or now >= since + after_turn.waits_ms / 1000:
        return None
    if not speaking.is_alive(pid, start, boot_id):
        return None
    return f"tmuxreap stops this session after its turn ({reason})"
