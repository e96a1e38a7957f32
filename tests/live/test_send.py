"""`send` on real sessions: one prompt, whole and once, or none at all."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest

from tests.real import Real, answer, freeze, until
from tmuxreap.commands import send, start
from tmuxreap.commands.send import SendRequest
from tmuxreap.core.errors import Failure

pytestmark = pytest.mark.live

LINES = "\n".join(f"line {number} of it" for number in range(1, 13))
UNICODE = "größe 日本語 🚀 e\u0301\tünï «ok»\n\n  indented"
BIG = "\n".join(f"row {number:04d} {'x' * 40}" for number in range(400))


def sent(real: Real, text: str, **more: Any) -> dict[str, Any]:
    with real.app() as app:
        return answer(send.run(app, SendRequest("acme", text, **more)))


@pytest.mark.parametrize(
    "text",
    ["one line", LINES, "two\nlines", UNICODE, BIG, "w" * 20_000, "$(reboot) `id` ;#{pane_id}\\"],
    ids=["line", "twelve", "two", "unicode", "20 kB", "20 kB in a line", "signs"],
)
def test_a_prompt_arrives_whole_and_once(real: Real, text: str) -> None:
    real.start("acme")
    one = sent(real, text)
    assert (one["outcome"], one["submitted"], one["error"]) == ("sent", True, None)
    assert real.prompts() == [text]
    assert real.tmux("list-buffers") == ""
    (event,) = real.events("sent")
    assert text.split("\n")[0] not in str(event)
    assert event["chars"] == len(text)


def test_a_turn_that_lasts_is_seen_to_begin(real: Real) -> None:
    real.start("acme")
    real.say("hello")
    real.submit("/work 30")
    real.shows("acme", "working")
    refused = sent(real, "more work")
    assert (refused["outcome"], refused["error"]["code"]) == ("refused", "not_idle")
    assert (refused["state"], refused["submitted"]) == ("working", False)
    assert "more work" not in real.screen()


def test_send_waits_until_the_agent_is_idle(real: Real) -> None:
    real.start("acme")
    real.submit("/work 1.5")
    real.shows("acme", "working")
    one = sent(real, "go on", when_idle_s=30.0)
    assert (one["outcome"], real.prompts()) == ("sent", ["go on"])
    assert one["waited_ms"] > 0


def test_a_draft_gets_no_key(real: Real) -> None:
    real.start("acme", "--state", "draft")
    one = sent(real, "go on")
    assert (one["outcome"], one["error"]["code"], one["state"]) == ("refused", "not_idle", "idle")
    assert "draft" in one["error"]["message"]
    assert "> half a thought" in real.screen()
    assert "go on" not in real.screen()


def test_a_dialog_gets_no_key(real: Real) -> None:
    real.start("acme", "--state", "dialog")
    one = sent(real, "go on")
    assert (one["error"]["code"], one["state"]) == ("not_idle", "waiting")
    assert ("tool", "approved") not in real.said()


def test_a_refused_send_reports_the_state_that_list_reports(real: Real) -> None:
    with real.app() as app:
        request = start.StartRequest("acme", real.agent, cwd=str(real.folder), terminal="none")
        answer(start.run(app, request))
    until("it is idle", lambda: real.list()[0]["state"] == "idle")
    refused = sent(real, "hello")
    assert (refused["error"]["code"], refused["state"]) == ("not_idle", "idle")
    assert "state: idle" in refused["error"]["message"]
    answer(real.kill())


def test_a_frozen_agent_gets_no_key(real: Real) -> None:
    command = ("sh", "-c", f"{real.words}; exec sh")  # tmux lets go on what it started itself
    real.start("acme", command=command)
    agent = real.agent_pid()
    freeze(agent)
    try:
        one = sent(real, "go on")
    finally:
        os.kill(agent, signal.SIGCONT)
    assert (one["error"]["code"], one["state"]) == ("not_idle", "unknown")
    time.sleep(0.3)
    assert "go on" not in real.screen()


def test_an_agent_that_freezes_meanwhile_gets_no_enter(real: Real) -> None:
    """The paste is not shown, so that Enter is not pressed: the text stands there afterwards."""
    real.start("acme", command=("sh", "-c", f"{real.words}; exec sh"))
    agent = real.agent_pid()
    with real.app() as app:
        plain = app.tmux.do

        def frozen(socket: str, deeds: Any) -> bool:
            if any(type(deed).__name__ == "PasteText" for deed in deeds):
                freeze(agent)
                threading.Timer(7.0, os.kill, (agent, signal.SIGCONT)).start()
            return plain(socket, deeds)

        app.tmux.do = frozen  # type: ignore[method-assign]
        one = answer(send.run(app, SendRequest("acme", "go on")))
    assert (one["outcome"], one["error"]["code"]) == ("unknown", "unconfirmed")
    assert one["submitted"] is False
    real.shows("acme", "> go on")
    assert real.prompts() == []


@pytest.mark.parametrize("meanwhile", ["half ", "/ask"])
def test_text_that_arrives_meanwhile_is_not_submitted(real: Real, meanwhile: str) -> None:
    """A person's draft, or a dialog, between the last look and the paste."""
    real.start("acme")
    with real.app() as app:
        plain = app.tmux.do

        def busy(socket: str, deeds: Any) -> bool:
            if any(type(deed).__name__ == "PasteText" for deed in deeds):
                if meanwhile == "/ask":
                    real.submit(meanwhile)
                    real.shows("acme", "Allow the tool")
                else:
                    real.tmux("send-keys", "-l", "-t", "=acme:", meanwhile)
                    real.shows("acme", "> half")
            return plain(socket, deeds)

        app.tmux.do = busy  # type: ignore[method-assign]
        one = answer(send.run(app, SendRequest("acme", "go on")))
    assert (one["outcome"], one["error"]["code"]) == ("unknown", "unconfirmed")
    assert one["submitted"] is False
    assert "not pressed" in one["error"]["message"]
    assert real.prompts() == []
    assert ("tool", "approved") not in real.said()


def test_a_shell_in_front_gets_no_key(real: Real) -> None:
    real.start("acme", command=("sh", "-c", f"{real.words}; exec sh"))
    real.submit("/exit")
    until("the end of the agent", lambda: "demo agent" not in real.screen())
    one = sent(real, "rm -rf build")
    assert one["error"]["code"] == "gone"
    assert "rm -rf" not in real.screen()


@pytest.mark.parametrize("text", ["/exit", "  /clear", "\n/exit"])
def test_a_command_to_the_agent_is_no_prompt(real: Real, text: str) -> None:
    real.start("acme")
    with real.app() as app, pytest.raises(Failure) as refused:
        send.run(app, SendRequest("acme", text))
    assert refused.value.code.text == "usage"
    assert "exit" not in real.screen()


def test_a_pane_leaves_copy_mode_for_a_prompt(real: Real) -> None:
    real.start("acme")
    real.tmux("copy-mode", "-t", "=acme:")
    assert sent(real, "go on")["outcome"] == "sent"
    assert real.prompts() == ["go on"]
