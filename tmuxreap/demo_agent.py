"""The program of the demo agent: its terminal, its signals and its command line.

Its store is `$TMUXREAP_DEMO_HOME`, else `~/.tmuxreap-demo`. Rows have its module's name in their
`start_command`."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import os
import re
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from functools import partial

from tmuxreap.agents.demo import (
    ESCAPE,
    FOREVER_S,
    DemoAgent,
    DemoState,
    Store,
    end,
    new_id,
    screen,
    spawn,
)

ESCAPE_S = 0.05  # an Escape followed by a character this soon is Alt, or part of a longer key
CUT = re.compile(r"\x1b(?:\[[0-?]*)?\Z")  # a key of which more may come
KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\x1b])|\x1b(?=\x1b)|[^\x1b]", re.DOTALL)


@contextlib.contextmanager
def raw_terminal(plain: bool) -> Iterator[None]:
    """Set the terminal to raw mode, and restore it at the end. A vanished terminal is no error."""
    saved = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSANOW)
    raw = b"\x1b[?2004h\x1b[?7l"
    os.write(1, raw if plain else raw + b"\x1b[?1049h")
    try:
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):
            restored = b"\x1b[?2004l\x1b[?7h"
            os.write(1, restored + (b"\r\n" if plain else b"\x1b[?1049l"))
            termios.tcsetattr(0, termios.TCSANOW, saved)


def draw(agent: DemoAgent) -> None:
    with contextlib.suppress(OSError):
        columns, rows = os.get_terminal_size(1)
        lines = "\r\n".join(f"\x1b[K{line}" for line in screen(agent, rows, columns))
        os.write(1, f"\x1b[H{lines}".encode())


def caught_signals(agent: DemoAgent, ignored: list[str]) -> int:
    """Let HUP, TERM and INT end the agent cleanly. Return a descriptor that becomes readable with
    every signal."""

    def leave(*_: object) -> None:
        agent.leave(time.monotonic())

    for name in ("hup", "term", "int"):
        number = signal.Signals[f"SIG{name.upper()}"]
        signal.signal(number, signal.SIG_IGN if name in ignored else leave)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    return wake


def split_keys(typed: str) -> tuple[list[str], str]:
    """Split what was typed into keys, and the beginning of one of which more may come."""
    cut = CUT.search(typed)
    held = cut.group() if cut is not None else ""
    if held in ("", ESCAPE):
        whole = typed
    else:
        whole = typed.removesuffix(held)
    return KEY.findall(whole), held


def converse(agent: DemoAgent, wake: int) -> None:
    sources = [0, wake]
    held = ""
    reported = ("", DemoState.IDLE)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while agent.leaves_at is None or time.monotonic() < agent.leaves_at:
        if reported != (agent.conversation_id, agent.state):
            reported = agent.conversation_id, agent.state
            agent.store.report(*reported)
        draw(agent)
        now = time.monotonic()
        if held:
            patience_s = ESCAPE_S
        else:
            patience_s = max(0.0, agent.next_event(now) - now)
        ready, _, _ = select.select(sources, [], [], patience_s)
        now = time.monotonic()
        heard = b""
        typed = ""
        if wake in ready:
            os.read(wake, 64)
        if 0 in ready:
            with contextlib.suppress(OSError):
                heard = os.read(0, 4096)
            if not heard:  # the terminal is gone
                sources.remove(0)
                if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
                    agent.leave(now)
        typed = decoder.decode(heard)
        # An Escape is a key of its own only if nothing follows it at once.
        if typed:
            keys, held = split_keys(held + typed)
        else:
            keys = [held]
            held = ""
        for key in filter(None, keys):
            agent.press(key, now)
        agent.tick(now)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    description = "A coding agent that only pretends, for tests."
    # Without a width each option asks for the terminal's, by an import slower than argparse.
    lines = partial(argparse.HelpFormatter, width=80)
    parser = argparse.ArgumentParser("tmuxreap-demo", None, description, formatter_class=lines)
    add = parser.add_argument
    switch = "store_true"
    add("--session-id", help="the id of the new conversation")
    add("--resume", metavar="ID", help="go on with this conversation")
    add("--mate-of", metavar="ID", help="work for the agent of this conversation")
    add("--exit-delay", type=float, default=0.0, metavar="S", help="take this long to leave")
    add("--ignore", default="", metavar="hup,term", help="stay when these signals come")
    add("--spawn", type=int, default=0, metavar="N", help="start so many helpers")
    add("--state", choices=["dialog", "busy", "draft"], help="begin in this state")
    add("--plain", action=switch, help="stay on the normal screen")
    add("--always-banner", action=switch, help="name a conversation that was never begun, too")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    store = Store(os.environ.get("TMUXREAP_DEMO_HOME") or os.path.expanduser("~/.tmuxreap-demo"))
    conversation_id = options.resume or options.session_id or new_id()
    if store.has(conversation_id) != bool(options.resume):
        reason = "none such" if options.resume else "it exists"
        print(f"could not open {conversation_id}: {reason}", file=sys.stderr)
        return 1
    agent = DemoAgent(store, conversation_id, options.exit_delay)
    if options.resume:
        agent.transcript = store.history(conversation_id)
    else:
        agent.transcript = []
    if options.state == "draft":
        agent.draft = "half a thought"
    else:
        agent.draft = ""
    if options.state == "dialog":
        agent.state = DemoState.WAITING
    else:
        agent.state = DemoState.IDLE
    wake = caught_signals(agent, options.ignore.split(","))
    helpers = [spawn(FOREVER_S) for _ in range(options.spawn)]
    if options.state == "busy":
        agent.work(FOREVER_S, time.monotonic())
    try:
        with raw_terminal(options.plain):
            converse(agent, wake)
    finally:
        for child in filter(None, (*helpers, agent.tool)):
            end(child)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(store.session)
    if options.always_banner or store.has(agent.conversation_id):
        with contextlib.suppress(OSError):
            again = f"tmuxreap-demo --resume {agent.conversation_id}"
            os.write(1, f"Resume this conversation with: {again}\n".encode())
    return 0


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    os._exit(status)  # an interpreter that tidies up takes a tenth of its time
