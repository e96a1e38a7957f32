"""What an answer of each tool looks like, as JSON schema: the envelope of the command line and the results in it.

The fields are those of `results`; docs/json.md tells what they mean, and tests hold both against the code."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.sessions.results import Recorded

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _object(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """Open: an answer may get fields more, and what could not be done has fewer."""
    return {"type": "object", "properties": dict(properties), "required": list(required)}


ERROR = _or_null(_object({"code": TEXT, "message": TEXT, "hint": TEXT}, ("code", "message", "hint")))
PROCESS = _object({"pid": COUNT, "name": TEXT, "why": TEXT, "started": NUMBER}, ("pid", "name"))
DRIFT = {
    "name": TEXT,
    "cause": _or_null(TEXT),
    "drift": TEXT,
    "evidence": TEXT,
    "settled": FLAG,
    "hint": _or_null(TEXT),
}
ACTION = _object({"name": TEXT, "drift": TEXT, "action": TEXT})
CONVERSATION = _object({"id": _or_null(TEXT), "source": _or_null(TEXT), "path": _or_null(TEXT), "exists": FLAG})
RUNG = _object({"name": TEXT, "waited_ms": COUNT, "enough": FLAG, "skipped": _or_null(TEXT)})
DRAFT = _or_null(_object({"chars": COUNT, "event": _or_null(COUNT)}))

END: dict[str, Schema] = {
    "name": TEXT,
    "outcome": TEXT,
    "status": _or_null(TEXT),
    "agent": _or_null(TEXT),
    "pid": _or_null(COUNT),
    "stopped_by": _or_null(TEXT),
    "stop_reason": _or_null(TEXT),
    "termination_mode": _or_null(TEXT),
    "task_id": _or_null(TEXT),
    "ended_at": _or_null(TEXT),
    "grace_s": _or_null(NUMBER),
    "conversation": CONVERSATION,
    "resumable": FLAG,
    "resume_command": _or_null(TEXT),
    "rungs": _list(RUNG),
    "swept": _list(PROCESS),
    "spared": _list(PROCESS),
    "survivors": _list(PROCESS),
    "draft": DRAFT,
    "freed_mb": NUMBER,
    "purged": _list(TEXT),
    "left": _list(TEXT),
    "joined": FLAG,
    "duration_ms": COUNT,
    "warnings": _list(TEXT),
    "error": ERROR,
    "plan": _object({}),  # with dry_run
}
SESSION: dict[str, Schema] = {
    "name": TEXT,
    "agent": _or_null(TEXT),
    "status": TEXT,
    "live": TEXT,
    "tmux_server": _or_null(TEXT),
    "pane_id": _or_null(TEXT),
    "pid": _or_null(COUNT),
    "cwd": _or_null(TEXT),
    "tags": _list(TEXT),
    "conversation_id": _or_null(TEXT),
    "resumable": FLAG,
    "idle_s": _or_null(COUNT),
    "heartbeat_age_s": _or_null(COUNT),
    "attached": FLAG,
    "memory_mb": NUMBER,
    "drift": _or_null(TEXT),
    "state": _or_null(TEXT),
    "state_since": _or_null(TEXT),
    "state_source": _or_null(TEXT),
    "until": _or_null(TEXT),
    **{name: FLAG if name == "keep" else _or_null(TEXT) for name in Recorded().as_json()},
}
COUNTS = _object(dict.fromkeys(("ended", "by_keys", "by_term", "by_kill", "failed"), COUNT))
# A target that is not there is answered as one that could not be ended, by every verb.
SHOWN = {
    "processes": _list(PROCESS),
    "protected": _list(PROCESS),
    "pane_state": TEXT,
    "locators": _list(CONVERSATION),
    "screen": _or_null(TEXT),
    "ended_by": _or_null(_object(dict.fromkeys(("user", "host", "tool", "session"), _or_null(TEXT)))),
    "error": ERROR,
}
FORGOTTEN = {"name": TEXT, "forgotten": FLAG, "history": FLAG, "error": ERROR}

RESULTS: dict[str, dict[str, Schema]] = {
    "list": {**SESSION, "status": _or_null(TEXT), "error": ERROR},
    "show": {**SESSION, "status": _or_null(TEXT), **SHOWN},
    "stop": END,
    "kill": END,
    "reap": {**END, "verdict": TEXT, "evidence": _object({})},
    "reconcile": {**DRIFT, "error": ERROR},
    "resume": {**SESSION, "status": _or_null(TEXT), "command": TEXT, "error": ERROR},
    "forget": FORGOTTEN,
}
MORE: dict[str, dict[str, Schema]] = {
    "stop": {"counts": COUNTS},
    "kill": {"counts": COUNTS},
    "reap": {"counts": COUNTS, "kept": _list(_object({"name": TEXT, "why": TEXT}))},
    "reconcile": {"tmux_confirmed": FLAG, "drifts": _list(_object(DRIFT)), "actions": _list(ACTION)},
}


def answer_schema(verb: str) -> Schema:
    envelope: dict[str, Schema] = {
        "schema": TEXT,
        "command": TEXT,
        "ok": FLAG,
        "exit_code": COUNT,
        "registry": _or_null(TEXT),
        "timestamp": TEXT,
        "results": _list(_object(RESULTS[verb], ("name",))),
        "warnings": _list(TEXT),
        "error": ERROR,
    }
    return _object({**envelope, **MORE.get(verb, {})}, tuple(envelope))
