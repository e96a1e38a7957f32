"""Promise 7: `resumable: true` means that this very conversation is on disk with at least one
message."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.kinds import BY_HAND, Kind, for_each
from tests.real import DEMO, Real, alive, answer, until
from tmuxreap.commands.reconcile import reconcile

pytestmark = pytest.mark.live


def conversation(real: Real) -> Path:
    (file,) = (real.store / "conversations").glob("*.jsonl")
    return file


def refused(real: Real, name: str = "acme") -> str:
    item = real.resume(name)
    assert isinstance(item["error"], dict)
    return str(item["error"]["code"])


def test_the_same_conversation_continues(real: Real) -> None:
    real.start()
    real.say("remember me")
    stopped = answer(real.stop())
    row = real.row()
    assert (stopped["resumable"], row["resumable"]) == (True, True)
    assert (
        row["demo_conversation_id_own"] == conversation(real).stem == stopped["conversation"]["id"]
    )
    assert stopped["conversation"]["path"] == str(conversation(real))
    resumed = real.resume()
    assert (resumed["status"], resumed["live"]) == ("running", "alive")
    real.shows("acme", "user: remember me")
    real.say("and this")
    assert [text for role, text in real.said() if role == "user"] == ["remember me", "and this"]
    assert not {
        "stopped_at",
        "stopped_at_epoch",
        "stop_reason",
        "termination_mode",
        "stopped_by",
        "resumable",
    } & set(real.row())
    again = answer(real.stop())
    assert again["conversation"]["id"] == stopped["conversation"]["id"]


def test_without_a_message_nothing_is_promised(real: Real) -> None:
    real.start()
    stopped = answer(real.stop())
    assert (stopped["resumable"], stopped["resume_command"]) == (False, None)
    assert stopped["conversation"]["id"] is not None
    assert real.row()["resumable"] is False
    assert refused(real) == "not_resumable"
    assert real.sessions() == set()


@for_each([Kind("parrot"), Kind("stranger"), Kind("stranger", BY_HAND)])
def test_no_resume_is_promised_of_an_agent_with_unknown_conversations(real: Real) -> None:
    real.start()
    real.say("hello")
    stopped = answer(real.stop())
    assert (stopped["outcome"], stopped["resumable"]) == ("stopped", False)
    assert stopped["conversation"]["id"] is None
    assert real.row()["resumable"] is False
    assert refused(real) == "not_resumable"
    assert real.sessions() == set()


def test_a_conversation_that_was_deleted_is_not_resumed_blank(real: Real) -> None:
    real.start()
    real.say("hello")
    assert answer(real.stop())["resumable"] is True
    conversation(real).unlink()
    before = real.registry.read_bytes()
    assert refused(real) == "not_resumable"
    assert real.registry.read_bytes() == before
    assert real.sessions() == set()
    assert answer(real.stop())["resumable"] is False


def test_a_conversation_with_only_a_half_written_line_does_not_count(real: Real) -> None:
    real.start()
    real.say("hello")
    real.stop()
    conversation(real).write_text(conversation(real).read_text().splitlines()[0][:-5])
    assert refused(real) == "not_resumable"


def test_two_live_panes_never_share_a_conversation(real: Real) -> None:
    real.start("one")
    real.say("hello", "one")
    answer(real.stop("one"))
    real.resume("one")
    text = json.dumps(
        {**real.row("one"), "name": "two", "status": "stopped", "tmux": {}, "pane": {"cwd": "/"}}
    )
    real.registry.write_text(real.registry.read_text() + f"  - {text}\n")
    assert refused(real, "two") == "conversation_in_use"
    assert real.sessions() == {"one"}


def test_clear_changes_the_conversation_and_the_new_one_is_recorded(real: Real) -> None:
    started = real.start()
    first = real.row()["demo_conversation_id_own"]
    assert started["conversation_id"] == first
    real.say("before")
    real.submit("/clear")
    until("another id", lambda: real.session_file()["sessionId"] != first)
    second = real.session_file()["sessionId"]
    real.say("after")
    stopped = answer(real.stop())
    assert (stopped["conversation"]["id"], stopped["resumable"]) == (second, True)
    assert real.row()["demo_conversation_id_own"] == second
    real.resume()
    real.shows("acme", "user: after")
    assert "before" not in real.screen()


def test_two_agents_in_one_folder_keep_their_own_conversations(real: Real) -> None:
    for name in ("one", "two"):
        real.start(name)
        real.say(f"I am {name}", name)
    ids = {name: real.session_file(name)["sessionId"] for name in ("one", "two")}
    for name in ("one", "two"):
        assert answer(real.stop(name))["conversation"]["id"] == ids[name]
    for name in ("one", "two"):
        real.resume(name)
        real.shows(name, f"user: I am {name}")


def test_a_good_id_is_never_replaced_by_nothing(real: Real) -> None:
    """The agent was killed from outside: only the row still has its conversation."""
    real.start()
    known = real.row()["demo_conversation_id_own"]
    real.say("hello")
    pid = real.pid()
    real.tmux("kill-session", "-t", "=acme")
    until("its end", lambda: not alive(pid))
    stopped = answer(real.stop())
    assert (stopped["stopped_by"], stopped["conversation"]["id"], stopped["resumable"]) == (
        "already_gone",
        known,
        True,
    )
    assert real.row()["demo_conversation_id_own"] == known


def test_a_kill_keeps_the_conversation(real: Real) -> None:
    real.start("acme", "--ignore", "term")
    real.say("hello")
    killed = answer(real.kill(grace_s=0))
    assert (killed["outcome"], killed["resumable"]) == ("killed", True)
    assert real.resume()["live"] == "alive"
    real.shows("acme", "user: hello")


def test_a_store_of_its_own_is_found_again(real: Real) -> None:
    store = real.folder / "other store"
    real.start(
        command=["env", f"TMUXREAP_DEMO_HOME={store}", sys.executable, "-m", "tmuxreap.demo_agent"]
    )
    real.say("hello")
    stopped = answer(real.stop())
    assert (stopped["resumable"], real.row()["store"]) == (True, str(store))
    assert str(store) in stopped["resume_command"]
    real.resume()
    real.shows("acme", "user: hello")


def test_a_crashed_agents_conversation_is_found_in_its_own_store(real: Real) -> None:
    """Its environment is gone: the row has recorded the store at its start."""
    real.bystander()
    store = real.folder / "store"
    real.start(command=["env", f"TMUXREAP_DEMO_HOME={store}", *DEMO])
    real.say("hello")
    os.kill(real.pid(), signal.SIGKILL)
    until("its end", lambda: real.sessions() == {"quiet"})
    with real.app() as app:
        reconcile.run(app)
    row = real.row()
    assert (row["termination_mode"], row["store"]) == ("lost", str(store))
    assert row["resumable"] is True


def test_the_last_words_of_an_agent_that_exited_below_its_shell_are_read(real: Real) -> None:
    """A user types /exit, and stops the session later."""
    real.tmux("new-session", "-d", "-s", "acme", "bash", "--norc", "--noprofile", "-i")
    real.keys("acme", " ".join(DEMO), "Enter")
    real.shows("acme", "demo agent · conversation")
    real.adopt()
    real.say("remember me")
    real.submit("/exit")
    until("the shell in front", lambda: real.ask("acme", "#{pane_current_command}") == "bash")
    real.shows("acme", "--resume")
    field = f"demo_conversation_id_own: {real.row()['demo_conversation_id_own']}"
    real.edit(field, "demo_conversation_id_own: null")
    result = answer(real.stop())
    assert (result["stopped_by"], result["resumable"]) == ("already_gone", True)
    assert result["conversation"] == {
        "id": conversation(real).stem,
        "source": "exit-banner",
        "path": str(conversation(real)),
        "exists": True,
    }
    assert real.row()["demo_conversation_id_own"] == conversation(real).stem
