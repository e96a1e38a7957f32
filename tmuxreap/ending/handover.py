"""`--self`: hands the ending of the caller's own session to a finisher process outside it.

Owns the start of that process: in its own kernel session, with closed descriptors and an
environment without any trace of the tmux session, so that it never counts as part of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence

from tmuxreap.core.errors import Code, Failure, could_not
from tmuxreap.core.model import Scope, Verb
from tmuxreap.core.ports import Clock, Processes
from tmuxreap.core.values import as_dict
from tmuxreap.ending.plan import Policy
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import Intent
from tmuxreap.system.ourselves import own_command

FINISH = "_finish"
LEAVE_S = 5.0
LOOK_S = 0.01
KEPT_VARIABLES = (
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


def hand_over(
    books: Books,
    processes: Processes,
    environ: Mapping[str, str],
    intent: Intent | None,
    name: str,
    policy: Policy,
) -> None:
    """Start the finisher and make it the owner of the intent. It begins when the caller exits."""
    if intent is None:
        raise _handover_failed(name, "the ledger that says so to the finisher could not be written")
    intent_id, registry = str(intent.id), str(books.registry.resolved)
    pid = start_outside((FINISH, registry, intent_id, to_text(policy)), environ)
    owner = processes.identify(pid)
    if owner is None or not books.hand_over(intent.id, owner):
        raise _handover_failed(name, "the finisher did not live")


def _handover_failed(name: str, why: str) -> Failure:
    hint = "call from another session"
    return could_not("hand", f"{name} over", why, hint, Code.OWN_SESSION)


def start_outside(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Start this program detached from the caller; its exit is not awaited."""
    process = popen_outside(words, environ)
    process.returncode = 0
    return process.pid


def popen_outside(words: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        own_command(*words),
        cwd="/",
        env={name: environ[name] for name in KEPT_VARIABLES if name in environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for_caller(
    books: Books, processes: Processes, clock: Clock, pid: int, intent_id: int
) -> Intent | None:
    """Wait, in the finisher, until the intent is ours and its former owner has exited or its time
    is up; return the intent."""
    me = processes.identify(pid)
    deadline = clock.monotonic() + LEAVE_S
    while clock.monotonic() < deadline:
        intent = books.intent(intent_id)
        if intent is not None and intent.owner == me:
            caller = processes.identify(intent.handed_from) if intent.handed_from else None
            if caller is not None:
                processes.wait({caller}, max(0.0, deadline - clock.monotonic()))
            return intent
        processes.wait((), LOOK_S)
    return None


def to_text(policy: Policy) -> str:
    return json.dumps({**as_dict(policy), "verb": policy.verb.value, "scope": policy.scope.value})


def from_text(text: str) -> Policy:
    fields = json.loads(text)
    return Policy(**{**fields, "verb": Verb(fields["verb"]), "scope": Scope(fields["scope"])})
