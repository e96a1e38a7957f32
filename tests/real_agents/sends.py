"""`send` on each real agent: the prompt arrives whole and once, and whatever comes in between is
neither submitted nor answered."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tests.real_agents.bench import MESSAGE, NAME, Bench
from tests.real_agents.cases import talk
from tests.real_agents.jobs import Job
from tests.real_agents.mock_model import TOOL
from tests.real_agents.setups import SETUPS
from tests.real_agents.states import DRAFT
from tmuxreap.agents.screens import State
from tmuxreap.app import real_app
from tmuxreap.commands import send
from tmuxreap.commands.send import SendRequest
from tmuxreap.core.model import Deed, PasteText
from tmuxreap.system.environment import Settings

SENDING = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "pi")
TEXTS = {
    "one line": "tell what the teapot is made of",
    "twelve lines": "\n".join(f"line {number} of twelve" for number in range(1, 13)),
    "unicode": "größe 日本語 🚀 «ok»\n\n  eingerückt → ja",
    "20 kB": "\n".join(f"row {number:04d} {'x' * 40}" for number in range(400)),
}
FROZEN_S = 9.0  # longer than a paste may take to be shown
WATCHED_S = 5.0
CONFIRM_S = 15.0  # the machine may be busy


def jobs() -> Iterator[Job]:
    for what, text in TEXTS.items():
        for agent in SENDING:
            yield Job(agent, f"send, {what}", partial(_whole, text=text))
    for agent in SENDING:
        yield Job(agent, "send, draft meanwhile", _draft_meanwhile)
    for agent in SENDING:
        if "dialog" not in SETUPS[agent].lacks:
            yield Job(agent, "send, dialog meanwhile", _dialog_meanwhile)
    for agent in SENDING:
        yield Job(agent, "send, frozen", _frozen)


def _whole(bench: Bench, *, text: str) -> str:
    """A first prompt, and one after it."""
    bench.start()
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle(3.0)
    took = []
    for prompt in (text, f"and again:\n{text}" if "\n" in text else f"and again: {text}"):
        item = bench.reap("send", NAME, prompt, "--confirm", str(CONFIRM_S), "--when-idle", "60")
        assert (item["outcome"], item["submitted"]) == ("sent", True), item
        bench.until("its words", partial(_heard, bench, prompt))
        bench.until("the end of its turn", lambda: bench.seen().state is State.IDLE)
        bench.settle(2.0)
        assert bench.model.prompted(_in_json(prompt)) == 1, "it was said twice"
        took.append(item["duration_ms"] / 1000)
    assert bench.tmux("list-buffers") == ""
    return f"sent, {min(took):.2f} s"


def _heard(bench: Bench, text: str) -> bool:
    return bench.model.prompted(_in_json(text)) > 0


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _draft_meanwhile(bench: Bench) -> str:
    bench.start()
    talk(bench)
    item = _sent(bench, lambda: _typed(bench))
    assert DRAFT in bench.screen(), bench.screen()
    return _untouched(bench, item)


def _typed(bench: Bench) -> None:
    bench.type(f"{DRAFT} ")
    bench.until("the draft", lambda: bench.seen().draft.strip() == DRAFT)


def _dialog_meanwhile(bench: Bench) -> str:
    bench.start()
    talk(bench)
    item = _sent(bench, lambda: _asks(bench))
    return _untouched(bench, item)


def _asks(bench: Bench) -> None:
    bench.say(f"{TOOL} please")
    bench.becomes(State.DIALOG, "the dialog")
    time.sleep(1.0)


def _frozen(bench: Bench) -> str:
    bench.start("sh", "-c", f"{bench.line}; exec sh")  # tmux lets go on what it started itself
    talk(bench)
    agents = _agent(bench)
    _stop(agents, WATCHED_S)
    refused = bench.answer("send", NAME, "never typed")["results"][0]
    assert (refused["outcome"], refused["state"]) == ("refused", "unknown"), refused
    time.sleep(WATCHED_S)
    assert "never typed" not in bench.screen(), bench.screen()
    item = _sent(bench, lambda: _stop(agents, FROZEN_S))
    time.sleep(FROZEN_S)
    return _untouched(bench, item)


def _agent(bench: Bench) -> set[int]:
    """Return the processes below the shell of the pane."""
    shown = bench.reap("show", NAME)
    below = {one["pid"] for one in shown["processes"]} - {shown["pid"]}
    assert below, shown["processes"]
    return below


def _stop(pids: set[int], seconds: float) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    threading.Timer(seconds, _let_go_on, [pids]).start()


def _let_go_on(pids: set[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def _sent(bench: Bench, meanwhile: Callable[[], None]) -> dict[str, Any]:
    """Send, and let something come between the last look and the paste."""
    environ = dict(bench.environ)
    settings = Settings(environ, bench.place.project, os.getuid(), os.getpid(), sys.platform)
    context = real_app(settings, str(bench.registry))
    plain = context.tmux.do

    def do(socket: str, deeds: Sequence[Deed]) -> bool:
        if any(isinstance(deed, PasteText) for deed in deeds):
            meanwhile()
        return plain(socket, deeds)

    context.tmux.do = do  # type: ignore[method-assign]
    try:
        result = send.run(context, SendRequest(NAME, "go on with it"))
    finally:
        context.close()
    return result.results[0].as_json()


def _untouched(bench: Bench, item: dict[str, Any]) -> str:
    assert (item["outcome"], item["error"]["code"]) == ("unknown", "unconfirmed"), item
    assert item["submitted"] is False, item
    time.sleep(WATCHED_S)
    assert not bench.proof.exists(), "the dialog was answered"
    assert not _heard(bench, "go on with it"), "it was submitted"
    assert bench.model.prompted(MESSAGE) == 1
    return "unconfirmed, no Enter"
