"""Owns endless verbs over hosts: `watch` and `events --follow` only read remotely, and their output
is merged by time.

Never settles, restarts or reaps: the watch of the remote host does that."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from queue import Empty, Queue
from typing import NoReturn

from tmuxreap.core.answers import RemoteResult
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.text import Style, plain
from tmuxreap.hosts.file import Host
from tmuxreap.hosts.talk import ANSWER_S, EndedError, SilentError, Talk, connected
from tmuxreap.hosts.wire import Request, Say
from tmuxreap.interfaces.text.report import report_line
from tmuxreap.system.environment import Settings

BEAT_S = 5.0
BATCH_S = 0.25  # events that arrive within this time are sorted
MOST = 500  # that wait to be printed: a host that floods is read no faster
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
Sent = tuple[Host, Request]
News = RemoteResult | str  # an event of a host, or a message about the host itself
WATCH_OPTIONS = ("execute", "reap", "notify", "interval")


def follow(
    verb: str, words: Mapping[str, object], sent: Sequence[Sent], settings: Settings, style: Style
) -> NoReturn:
    """Print the events of all hosts in the order of time, without end."""
    option = next((word for word in WATCH_OPTIONS if words.get(word)), None)
    if option is not None:
        flag = option.replace("execute", "exec")
        reason = f"could not watch other hosts with --{flag}: that is for the watch there"
        raise Failure(Code.USAGE, reason, "run it there: tmuxreap watch")
    queue: Queue[News] = Queue(MOST)
    for host, request in sent:
        work = (host, _read_only(verb, request), settings, queue)
        threading.Thread(target=_listen, args=work, daemon=True).start()
    while True:
        for news in sorted(_batch(queue), key=_time_of):
            _print_news(news, style)


def _read_only(verb: str, request: Request) -> Request:
    """Return the request without words that do more than read."""
    words = {name: value for name, value in request.words.items() if name in ("targets", "since")}
    extra = {} if verb == "watch" else {"follow": True}
    return Request(request.id, verb, {**words, **extra}, request.registry, here=request.here)


def _batch(queue: Queue[News]) -> Iterator[News]:
    yield queue.get()
    deadline = time.monotonic() + BATCH_S
    for _ in range(MOST):
        left = deadline - time.monotonic()
        if left <= 0:
            return
        try:
            yield queue.get(timeout=left)
        except Empty:
            return


def _time_of(news: News) -> str:
    """Return the time of an event; a message comes first."""
    return "" if isinstance(news, str) else str(news.facts.get("timestamp") or "")


def _print_news(news: News, style: Style) -> None:
    if not isinstance(news, str):
        report_line(news, style)
    elif not style.quiet:
        print(f"tmuxreap: {plain(news)}", file=sys.stderr, flush=True)


def _listen(host: Host, request: Request, settings: Settings, queue: Queue[News]) -> None:
    """Report a lost connection, and retry with growing pauses."""
    pause, last = FIRST_PAUSE_S, 0
    while True:
        try:
            with connected(host, settings) as talk:
                talk.send(request.line())
                pause = FIRST_PAUSE_S
                for item in _items(talk):
                    number = item.get("id")
                    if isinstance(number, int) and number <= last:
                        continue
                    last = number if isinstance(number, int) else last
                    queue.put(_news(host.name, item))
        except Failure as failure:
            reason = failure.message
        except (SilentError, EndedError):
            reason = f"could not go on hearing {host.name}: the connection ended"
        queue.put(f"{reason}; trying again in {pause:g} s")
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)


def _items(talk: Talk) -> Iterator[Mapping[str, object]]:
    heard_at = time.monotonic()
    while True:
        try:
            line = talk.line(BEAT_S)
            heard_at = time.monotonic()
        except SilentError:
            if time.monotonic() - heard_at > ANSWER_S:
                raise
            talk.send("")
            continue
        if line.say is Say.BEAT:
            talk.send("")
        item = line.facts.get("item")
        if line.say is Say.ITEM and isinstance(item, dict):
            yield item
        if line.say in (Say.ANSWER, Say.INCOMPATIBLE):
            raise EndedError


def _news(host: str, item: Mapping[str, object]) -> RemoteResult:
    name, at = str(item.get("name") or ""), str(item.get("timestamp") or "")
    what, why = item.get("event") or item.get("kind"), item.get("evidence") or ""
    line = plain(f"{at}  {name}@{host}  {what}  {why}".rstrip())
    return RemoteResult(name, host, item, (line,))
