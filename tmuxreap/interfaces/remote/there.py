"""`at`, the remote side of `--host`: reads one request, runs its verb like the command line, and
sends the answer, or the lines of an endless verb as long as the caller listens. Never asks
questions, and never depends on the caller: an answer is in the ledger before it is sent."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tmuxreap import __version__
from tmuxreap.app import real_app
from tmuxreap.core.answers import Change
from tmuxreap.core.errors import Code, Failure, could_not
from tmuxreap.core.model import ProcessId, Row
from tmuxreap.core.results import Item, Result, failed_target, plain_json
from tmuxreap.core.text import Style
from tmuxreap.core.values import replace
from tmuxreap.core.verbs import VERBS, changes, is_endless
from tmuxreap.hosts.talk import OUTCOME
from tmuxreap.hosts.wire import LONGEST_LINE, Say, WireRequest, request_of, say
from tmuxreap.interfaces.cli import commands as verbs
from tmuxreap.interfaces.cli.boundary import result_of
from tmuxreap.interfaces.text.report import lines
from tmuxreap.ledger import requests
from tmuxreap.ledger.records import from_json, is_owned
from tmuxreap.ledger.schema import DEAD
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings
from tmuxreap.system.whereabouts import REGISTRY

BEAT_S = 5.0
SILENCE_S = 12.0  # of the caller; noticed at the next look, in less than 15 s
SETTLED_S = 1.0  # a watch of this host has mostly recorded the event by then, which tells more
Process = tuple[object, object]  # the pid and the start of a row's process
WATCH = "watch"
NEWS = {"follow": True, "since": "1s"}


class Output:
    """Writes lines as long as the caller reads; a closed pipe is no error."""

    def __init__(self) -> None:
        self._out = os.dup(1)
        self._lock = threading.Lock()
        self._told: dict[str, Process] = {}  # whose death was told, by name
        self.is_open = True

    def say(self, what: Say, **facts: object) -> None:
        data = (say(what, **facts) + "\n").encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                while data and self.is_open:
                    data = data[os.write(self._out, data) :]
            except OSError:
                self.is_open = False

    def is_new(self, name: str, event: str, process: Process | None) -> bool:
        """Tell whether this was not told yet, and remember it: a watch of this host and our own
        look see the same death, in either order and at any distance. A process dies once;
        everything else may come again."""
        if event != DEAD or process is None:
            return True
        with self._lock:
            known = self._told.get(name)
            self._told[name] = process
        return known != process

    def beat(self) -> None:
        """Send a sign of life regularly, in a thread."""
        quiet = threading.Event()

        def work() -> None:
            while not quiet.wait(BEAT_S):
                self.say(Say.BEAT)

        threading.Thread(target=work, daemon=True).start()


def run_endless(output: Output, request: WireRequest) -> None:
    """Run the verb until it ends or the caller has gone."""
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(writer)
    threading.Thread(target=_pass_on, args=(output, request.verb, reader), daemon=True).start()
    threading.Thread(target=_exit_when_caller_left, args=(output,), daemon=True).start()
    verb = request.verb
    words = request.words
    if verb == WATCH:
        verb = "events"
        words = NEWS
        threading.Thread(target=_observe, args=(output, request.registry), daemon=True).start()
    given: dict[str, Any] = {**words, "registry": request.registry, "json": True}
    verbs.run(VERBS[verb], **given)


def _pass_on(output: Output, verb: str, reader: int) -> None:
    with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            item = json.loads(line)
            if verb == WATCH:
                item = {"event": item["kind"], **item}
            if verb != WATCH or output.is_new(item["name"], item["event"], _recorded_process(item)):
                output.say(Say.ITEM, item=item)
            if not output.is_open:
                break
    os._exit(0)


def _observe(output: Output, registry: str | None) -> None:
    """Observe as a watch does, and write nothing."""
    from tmuxreap.commands.watch import watch
    from tmuxreap.commands.watch.waiting import Waiter

    def report(event: Change) -> None:
        about = (output, registry, event, _process_of(context, event.name))
        later = threading.Timer(SETTLED_S, _report_unless_recorded, about)
        later.daemon = True
        later.start()

    context = real_app(Settings.from_environment(), registry)
    waiter = Waiter(context.processes, context.registry.resolved, signals=False)
    watch.run(context, watch.WatchRequest(settle=False), report, waiter)


def _recorded_process(item: Mapping[str, Any]) -> Process | None:
    """Return the process of the life that a recorded event ended, if it says so."""
    life = item["data"].get("life") or {}
    pane = life.get("pane") or {}
    return _process(pane.get("pid"), pane.get("start_ticks"))


def _process_of(context: Context, name: str) -> Process | None:
    with contextlib.suppress(Failure):
        row = context.registry.look().named(name)
        if row:
            return _process(row.pane.pid, row.pane.start_ticks)
        return None
    return None


def _process(pid: object, start: object) -> Process | None:
    return None if pid is None else (pid, start)


def _report_unless_recorded(
    output: Output, registry: str | None, event: Change, process: Process | None
) -> None:
    """Report the event unless the ledger has it: then it is passed on from there."""
    context = real_app(Settings.from_environment(), registry)
    try:
        since = context.clock.now() - 2 * SETTLED_S
        if event.name:
            events = context.books.events({event.name}, since)
        else:
            events = []
        recorded = any(one.kind == event.event for one in events)
    finally:
        context.close()
    if not recorded and output.is_new(event.name, event.event, process):
        output.say(Say.ITEM, item=event.as_json())


def _exit_when_caller_left(output: Output, silence_s: float = SILENCE_S) -> None:
    """Exit when the caller has left or falls silent: a broken network reports nothing."""
    descriptor = sys.stdin.fileno()
    last = time.monotonic()
    while output.is_open and time.monotonic() - last < silence_s:
        if select.select([descriptor], [], [], 1.0)[0]:
            if not os.read(descriptor, 4096):
                break
            last = time.monotonic()
    os._exit(0)


LOOK_S = 0.1


def serve() -> int:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    output = Output()
    output.say(Say.HELLO, version=__version__)
    text = sys.stdin.readline(LONGEST_LINE)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a verb's own output must not reach the caller
    output.beat()
    try:
        request = request_of(text)
        _answer(output, request)
    except ValueError as error:
        output.say(Say.INCOMPATIBLE, why=str(error))
    return 0


def _answer(output: Output, request: WireRequest) -> None:
    if not request.here:
        _change_to_home(request)
    if request.verb == OUTCOME:
        return _send_outcome(output, request)
    verb = VERBS.get(request.verb)
    if verb is None or not verb.on_hosts:
        return output.say(Say.INCOMPATIBLE, why=f"the verb {request.verb} is not known there")
    known = verbs.defaults(verb)
    unknown = next((word for word in request.words if word not in known), None)
    if unknown is not None:
        return output.say(Say.INCOMPATIBLE, why=f"{request.verb} knows no {unknown} there")
    if is_endless(verb, request.words):
        return run_endless(output, request)
    return _run_once(output, request)


def _change_to_home(request: WireRequest) -> None:
    """Change to the home folder if there is no registry here: an engine may start elsewhere, such
    as in a container's working directory."""
    here = Path.cwd()
    folders = [here]
    if not request.registry:
        folders += here.parents
    if not any(Path(folder, request.registry or REGISTRY).exists() for folder in folders):
        with contextlib.suppress(OSError):
            os.chdir(os.path.expanduser("~"))  # noqa: PTH111 - as a shell does, also for an unknown user


def _context(request: WireRequest) -> Context:
    return real_app(Settings.from_environment(), request.registry)


@contextlib.contextmanager
def _ledger_context(request: WireRequest) -> Iterator[Context | None]:
    """Yield the context; None without a registry, which has no ledger either."""
    context = _context(request)
    try:
        exists = context.registry_name is not None and context.registry.resolved.exists()
        yield context if exists else None
    finally:
        context.close()


def _run_once(output: Output, request: WireRequest) -> None:
    changing = changes(VERBS[request.verb], request.words)
    if not changing:  # nobody needs the answer of a look that is not listened to
        about = (output, math.inf)
        threading.Thread(target=_exit_when_caller_left, args=about, daemon=True).start()
    if changing and not _is_new(request):
        return output.say(Say.INCOMPATIBLE, why="that request came before")
    message = _message(request, _run(request))
    if changing:
        with _ledger_context(request) as context:
            if context is not None:
                _claim(context, request)  # a start may just have made the ledger
                requests.end(context.books, request.id, json.dumps(message, default=str))
    return output.say(Say.ANSWER, id=request.id, **message)


def _is_new(request: WireRequest) -> bool:
    """Claim the request, so that none is carried out twice. If it cannot be recorded, let the verb
    report the cause."""
    with _ledger_context(request) as context:
        return context is None or _claim(context, request) is not False


def _claim(context: Context, request: WireRequest) -> bool | None:
    owner = _ourselves(context)
    boot_id = context.place.boot_id
    return requests.begin(context.books, request.id, request.verb, owner, boot_id)


def _ourselves(context: Context) -> ProcessId:
    ourselves = context.processes.identify(context.place.pid)
    assert ourselves is not None  # noqa: S101 - we run
    return ourselves


def _message(request: WireRequest, result: Result) -> dict[str, object]:
    texts = []
    for item in result.results:
        texts.append(list(lines(replace(result, results=[item], more={}), Style())))
    return {"answer": result.as_json(), "texts": texts, "identities": _identities(request, result)}


def _identities(request: WireRequest, result: Result) -> dict[str, object]:
    """Return the identities of the planned rows."""
    if not VERBS[request.verb].is_planned or not request.words.get("dry_run"):
        return {}
    names = {getattr(item, "name", None) for item in result.results}
    with _ledger_context(request) as context:
        if context is not None and names:
            rows = context.registry.look().usable
        else:
            rows = ()
        return {row.name: _identity(row) for row in rows if row.name in names}


def _identity(row: Row) -> dict[str, object]:
    """Return a row's identity, which comes back with the confirmed request: a changed session is
    refused."""
    pane = row.pane
    tmux = row.tmux
    return {
        "ended": row.status.ended,
        "agent": row.agent,
        "pane": [pane.id, pane.pid, pane.created_epoch],
        "tmux": [tmux.boot_id, tmux.server_pid, tmux.session_id, tmux.session_created],
        "conversations": [list(one) for one in row.conversations],
    }


def _run(request: WireRequest) -> Result:
    """Run the verb like the command line, without the sessions that must not be ended."""
    refused = _refused(request)
    words = dict(request.words)
    if refused and isinstance(words.get("targets"), list):
        words["targets"] = [target for target in _targets(request) if target not in refused]
        if not words["targets"]:
            return _context(request).result(request.verb, list(refused.values()))
    tool = "cli" if request.here else "remote"
    work = verbs.work_of(request.verb, words)
    result = result_of(request.verb, work, request.registry, Style(json=True), tool)
    kept = []
    for item in result.results:
        if getattr(item, "name", None) not in refused:
            kept.append(item)
    if refused:
        return replace(result, results=[*kept, *refused.values()])
    return result


def _targets(request: WireRequest) -> list[str]:
    targets = request.words.get("targets")
    if isinstance(targets, list):
        return [str(target) for target in targets]
    return []


def _refused(request: WireRequest) -> dict[str, Item]:
    """Return failures for the caller's own session and those changed since their confirmation."""
    if not VERBS[request.verb].is_planned:
        return {}
    with _ledger_context(request) as context:
        if context is None:
            return {}
        try:
            look = context.registry.look()
        except Failure:
            return {}
        rows = {row.name: row for row in look.usable}
        refused: dict[str, Item] = {}
        for name, identity in (request.identities or {}).items():
            row = rows.get(name)
            if row is None or plain_json(_identity(row)) != identity:
                reason = "it is not the session any more that was confirmed"
                hint = "look at it again, then say it again"
                changed = could_not("end", name, reason, hint, Code.SESSION_REPLACED)
                refused[name] = failed_target(name, changed)
        own = None
        if request.mark:
            own = context.books.name_of(request.mark)
        is_named = own in rows and not request.words.get("itself")
        if own is not None and is_named and context.books.mark(own) == request.mark:
            reason = "this command runs inside it"
            hint = "call from another session"
            inside = could_not("end", own, reason, hint, Code.OWN_SESSION)
            refused[own] = failed_target(own, inside)
        targets = set(_targets(request))
        plan = bool(request.words.get("dry_run"))
        return {name: item for name, item in refused.items() if plan or name in targets}


def _send_outcome(output: Output, request: WireRequest) -> None:
    """Send the outcome of an earlier request as soon as it is known."""
    request_id = str(request.words.get("of"))
    with _ledger_context(request) as context:
        if context is None:
            return output.say(Say.UNKNOWN)
        boot_id = context.place.boot_id
        if requests.forbid(context.books, request_id, _ourselves(context), boot_id):
            return output.say(Say.NEVER)
        while output.is_open:
            record = requests.find(context.books, request_id)
            if record is None or record.is_void:
                return output.say(Say.UNKNOWN if record is None else Say.NEVER)
            if record.answer is not None:
                return output.say(Say.ANSWER, id=request_id, **from_json(record.answer))
            if not is_owned(record, context.processes, boot_id):
                return output.say(Say.UNKNOWN)
            context.processes.wait({record.owner}, LOOK_S)
    return None
