"""`at`: the far side of `--host`. One request is read, its verb is run as the command line would,
its answer kept.

Never asks anybody, and never depends on who listens: HUP and a closed pipe are ignored, and the
answer of a verb that changes something stands in the ledger before it is said."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tmuxreap import __version__
from tmuxreap.app import real_app
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item, Result
from tmuxreap.core.text import Voice
from tmuxreap.core.values import replace
from tmuxreap.ending.results import failed_target
from tmuxreap.hosts.link import OUTCOME
from tmuxreap.hosts.wire import LONGEST_LINE, Request, Say, request_of
from tmuxreap.interfaces.cli import commands as verbs
from tmuxreap.interfaces.cli.boundary import heard
from tmuxreap.interfaces.remote.mouth import Mouth
from tmuxreap.interfaces.text.report import lines
from tmuxreap.ledger.records import is_owned
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings
from tmuxreap.system.whereabouts import REGISTRY

LOOK_S = 0.1
ENDING = ("stop", "kill", "forget", "interrupt")


def serve() -> int:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    mouth = Mouth()
    mouth.say(Say.HELLO, version=__version__)
    text = sys.stdin.readline(LONGEST_LINE)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a verb prints is not ours to say
    mouth.beat()
    try:
        request = request_of(text)
        _answer(mouth, request)
    except ValueError as error:
        mouth.say(Say.INCOMPATIBLE, why=str(error))
    return 0


def _answer(mouth: Mouth, request: Request) -> None:
    if not request.here:
        _go_home(request)
    if request.verb == OUTCOME:
        return _tell_outcome(mouth, request)
    command = verbs.plain_command(request.verb) if request.verb in verbs.HOSTED else None
    if command is None:
        return mouth.say(Say.INCOMPATIBLE, why=f"the verb {request.verb} is not known there")
    known = inspect.signature(command).parameters
    unknown = next((word for word in request.words if word not in known), None)
    if unknown is not None:
        return mouth.say(Say.INCOMPATIBLE, why=f"{request.verb} knows no {unknown} there")
    if verbs.goes_on(request.verb, request.words):
        from tmuxreap.interfaces.remote.goes_on import go_on

        go_on(mouth, request, command)
        return None
    return _run_once(mouth, request, command)


def _go_home(request: Request) -> None:
    """An engine begins in a folder of its own (a container's, a home): without a registry there, in
    the home."""
    here = Path.cwd()
    folders = (here,) if request.registry else (here, *here.parents)
    if not any(Path(folder, request.registry or REGISTRY).exists() for folder in folders):
        with contextlib.suppress(OSError):
            os.chdir(os.path.expanduser("~"))  # noqa: PTH111 - as a shell does, also for an unknown user


def _context(request: Request) -> Context:
    return real_app(Settings.from_environment(), request.registry)


@contextlib.contextmanager
def _books(request: Request) -> Iterator[Context | None]:
    """None where there is no registry that a ledger could lie beside."""
    context = _context(request)
    try:
        there = context.registry_name is not None and context.registry.resolved.exists()
        yield context if there else None
    finally:
        context.close()


def _run_once(mouth: Mouth, request: Request, command: Callable[..., None]) -> None:
    lasting = verbs.changes(request.verb, request.words)
    if lasting and not _taken(request):
        return mouth.say(Say.INCOMPATIBLE, why="that request came before")
    told = _told(request, _run(request, command))
    if lasting:
        with _books(request) as context:
            if context is not None:
                context.books.end_request(request.id, json.dumps(told, default=str))
    return mouth.say(Say.ANSWER, id=request.id, **told)


def _taken(request: Request) -> bool:
    """No request is carried out twice. Where nothing can be recorded the verb itself says what is
    wrong."""
    with _books(request) as context:
        if context is None:
            return True
        me = context.processes.identify(context.place.pid)
        assert me is not None  # noqa: S101 - we run
        return (
            context.books.begin_request(request.id, request.verb, me, context.place.boot_id)
            is not False
        )


def _told(request: Request, result: Result) -> dict[str, object]:
    texts = [
        list(lines(replace(result, results=[item], more={}), Voice())) for item in result.results
    ]
    return {"answer": result.as_json(), "texts": texts, "identities": _identities(request, result)}


def _identities(request: Request, result: Result) -> dict[str, object]:
    """Of what was planned."""
    if request.verb not in ENDING or not request.words.get("dry_run"):
        return {}
    names = {getattr(item, "name", None) for item in result.results}
    with _books(request) as context:
        rows = context.registry.look().usable if context is not None and names else ()
        return {row.name: _identity(row) for row in rows if row.name in names}


def _identity(row: Row) -> dict[str, object]:
    """What is confirmed on one host is sent back to the other with it, and what has changed since
    is refused there."""
    pane, tmux = row.pane, row.tmux
    return {
        "ended": row.status.ended,
        "agent": row.agent,
        "pane": [pane.id, pane.pid, pane.created_epoch],
        "tmux": [tmux.boot_id, tmux.server_pid, tmux.session_id, tmux.session_created],
        "conversations": [list(one) for one in row.conversations],
    }


def _changed(name: str) -> Failure:
    return Failure(
        Code.SESSION_REPLACED,
        f"could not end {name}: it is not the session any more that was confirmed",
        "look at it again, then say it again",
    )


def _run(request: Request, command: Callable[..., None]) -> Result:
    """As the command line would, with what may not be ended left out."""
    refused = _refused(request)
    words = dict(request.words)
    if refused and isinstance(words.get("targets"), list):
        words["targets"] = [target for target in _targets(request) if target not in refused]
        if not words["targets"]:
            return Result(
                request.verb, _registry_name(request), _now(request), list(refused.values())
            )
    result = _heard(request, command, words)
    kept = [item for item in result.results if getattr(item, "name", None) not in refused]
    return replace(result, results=[*kept, *refused.values()]) if refused else result


def _heard(request: Request, command: Callable[..., None], words: Mapping[str, object]) -> Result:
    try:
        return heard(lambda: command(**words, registry=request.registry, json=True))
    except Failure as failure:
        return Result(request.verb, _registry_name(request), _now(request), failure=failure)


def _now(request: Request) -> float:
    return _context(request).clock.now()


def _registry_name(request: Request) -> str | None:
    return _context(request).registry_name


def _targets(request: Request) -> list[str]:
    found = request.words.get("targets")
    return [str(target) for target in found] if isinstance(found, list) else []


def _refused(request: Request) -> dict[str, Item]:
    """The session that the caller sits in, and those that are not what was confirmed."""
    if request.verb not in ENDING:
        return {}
    with _books(request) as context:
        if context is None:
            return {}
        try:
            look = context.registry.look()
        except Failure:
            return {}
        rows = {row.name: row for row in look.usable}
        found: dict[str, Item] = {}
        for name, identity in (request.identities or {}).items():
            row = rows.get(name)
            if row is None or json.loads(json.dumps(_identity(row))) != identity:
                found[name] = failed_target(name, _changed(name))
        own = context.books.name_of(request.mark) if request.mark else None
        if (
            own in rows
            and not request.words.get("itself")
            and context.books.mark(own) == request.mark
        ):
            found[own] = failed_target(own, _own(own))
        asked = set(_targets(request))
        plan = bool(request.words.get("dry_run"))
        return {name: item for name, item in found.items() if plan or name in asked}


def _own(name: str) -> Failure:
    return Failure(
        Code.OWN_SESSION,
        f"could not end {name}: this command runs inside it",
        "call from another session",
    )


def _tell_outcome(mouth: Mouth, request: Request) -> None:
    """Of an earlier request, as soon as it is had."""
    wanted = str(request.words.get("of"))
    with _books(request) as context:
        if context is None:
            return mouth.say(Say.UNKNOWN)
        me = context.processes.identify(context.place.pid)
        assert me is not None  # noqa: S101 - we run
        if context.books.forbid_request(wanted, me, context.place.boot_id):
            return mouth.say(Say.NEVER)
        while mouth.heard:
            asked = context.books.asked(wanted)
            if asked is None or asked.is_void:
                return mouth.say(Say.UNKNOWN if asked is None else Say.NEVER)
            if asked.answer is not None:
                return mouth.say(Say.ANSWER, id=wanted, **json.loads(asked.answer))
            if not is_owned(asked, context.processes, context.place.boot_id):
                return mouth.say(Say.UNKNOWN)
            context.processes.wait({asked.owner}, LOOK_S)
    return None
