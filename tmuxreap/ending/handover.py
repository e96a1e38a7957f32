"""`--self`: an ending of the caller's own session is handed to a finisher that stands outside of
it.

Owns the start of that one process: in its own kernel session, with closed descriptors and an
environment that carries no trace of the session, so that it is never among those that it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import ProcessId, Scope, Verb
from tmuxreap.core.values import as_dict, replace
from tmuxreap.ending.plan import Policy
from tmuxreap.ledger.records import Intent
from tmuxreap.sessions.caller import caller
from tmuxreap.sessions.context import Context

FINISH = "_finish"
LEAVE_S = 5.0
LOOK_S = 0.01
KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMUX_TMPDIR",
    "XDG_CONFIG_HOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "XDG_RUNTIME_DIR",
)


def hand_over(context: Context, intent: Intent | None, name: str, policy: Policy) -> None:
    """The finisher owns the intent when this returns; it begins when the caller has left."""
    if intent is None:
        raise Failure(
            Code.OWN_SESSION,
            f"could not hand {name} over: the ledger that says so to the finisher could not be"
            " written",
            "call from another session",
        )
    text = to_text(replace(policy, asked_by=caller(context)))
    words = [
        sys.executable,
        "-m",
        "tmuxreap",
        FINISH,
        str(context.registry.resolved),
        str(intent.id),
        text,
    ]
    finisher = subprocess.Popen(
        words,
        cwd="/",
        env=clean_environment(context.settings.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    owner = context.processes.identify(finisher.pid)
    if owner is None or not context.books.hand_over(intent.id, owner):
        raise Failure(
            Code.OWN_SESSION,
            f"could not hand {name} over: the finisher did not live",
            "call from another session",
        )
    finisher.returncode = 0  # it outlives us: nobody here waits for it


def caller_has_left(context: Context, number: int) -> Intent | None:
    """In the finisher: the intent, once it is ours and whoever handed it over is gone or had his
    time."""
    me = context.processes.identify(context.place.pid)
    until = context.clock.monotonic() + LEAVE_S
    while context.clock.monotonic() < until:
        intent = context.books.intent(number)
        if intent is not None and intent.owner == me:
            _wait_for(context, intent.handed_from, until)
            return intent
        context.processes.wait((), LOOK_S)
    return None


def _wait_for(context: Context, pid: int | None, until: float) -> None:
    caller: ProcessId | None = context.processes.identify(pid) if pid else None
    if caller is not None:
        context.processes.wait({caller}, max(0.0, until - context.clock.monotonic()))


def to_text(policy: Policy) -> str:
    return json.dumps({**as_dict(policy), "verb": policy.verb.value, "scope": policy.scope.value})


def from_text(text: str) -> Policy:
    words = json.loads(text)
    return Policy(**{**words, "verb": Verb(words["verb"]), "scope": Scope(words["scope"])})


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Without any trace of the session that we are called from."""
    return {name: environ[name] for name in KEPT if name in environ}
