"""A purge deletes this conversation and nothing else, and only what is certain."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real import Real, answer
from tmuxreap.commands import stop
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.core.text import Style
from tmuxreap.ending.policy import Policy
from tmuxreap.interfaces.text.report import lines

pytestmark = pytest.mark.live


def conversations(real: Real) -> set[str]:
    return {path.stem for path in (real.store / "conversations").iterdir()}


def talked(real: Real, name: str = "acme") -> str:
    real.start(name)
    real.say("hello", name)
    return real.session_file(name)["sessionId"]


def purged(real: Real) -> Result:
    request = stop.EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop", purge=True), yes=True)
    with real.app() as app:
        return stop.run(app, request)


def test_a_purge_deletes_this_conversation_alone(real: Real) -> None:
    mine, other = talked(real), talked(real, "other")
    (real.store / "conversations" / mine).mkdir()
    (real.store / "conversations" / mine / "notes").write_text("deep")
    (real.store / "history.jsonl").write_text(f"{mine} hello\n{other} hello\n")
    result = answer(purged(real))
    assert (result["outcome"], result["status"], result["resumable"]) == (
        "terminated",
        "terminated",
        False,
    )
    assert [Path(path).name for path in result["purged"]] == [mine, f"{mine}.jsonl"]
    assert result["left"] == [str(real.store / "history.jsonl")]
    assert conversations(real) == {other}
    (event,) = real.events("terminated")
    assert (event["purged"], event["left"]) == (result["purged"], result["left"])
    row = real.row()
    assert (row["status"], row["termination_mode"], row["resumable"]) == (
        "terminated",
        "purge",
        False,
    )
    assert row["demo_conversation_id_own"] == mine
    assert "stopped_at" not in row
    assert "other" in real.sessions()


def test_an_ended_row_keeps_how_it_ended(real: Real) -> None:
    talked(real)
    real.stop(reason="night")
    before = real.row()
    result = answer(purged(real))
    assert (result["outcome"], len(result["purged"])) == ("terminated", 1)
    assert real.events("terminated")[-1]["purged"] == result["purged"]
    assert conversations(real) == set()
    row = real.row()
    kept = ("stopped_at", "stop_reason", "stopped_by", "last_visible_status")
    assert [row[name] for name in kept] == [before[name] for name in kept]
    text = real.registry.read_bytes()
    assert answer(purged(real))["outcome"] == "already_stopped"
    assert real.registry.read_bytes() == text


def test_a_conversation_that_another_row_has_is_kept(real: Real) -> None:
    mine = talked(real)
    other = f"  - {{name: other, status: stopped, agent: demo, demo_conversation_id_own: {mine}}}\n"
    real.registry.write_text(real.registry.read_text() + other)
    result = purged(real)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.CONVERSATION_IN_USE
    ]
    assert conversations(real) == {mine}
    assert "acme" in real.sessions()


@pytest.mark.parametrize("hostile", ["../../victim", "/etc/passwd", "*", "..", "a\\0b"])
def test_an_id_that_is_no_id_deletes_nothing(real: Real, hostile: str) -> None:
    real.start()
    real.stop()
    victim = real.store.parent / "victim.jsonl"
    victim.write_text("precious")
    field = "demo_conversation_id_own: "
    real.edit(f"{field}{real.row()['demo_conversation_id_own']}", f'{field}"{hostile}"')
    result = purged(real)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.AMBIGUOUS_CONVERSATION
    ]
    assert victim.read_text() == "precious"
    assert real.row()["status"] == "stopped"


def test_a_link_out_of_the_store_is_not_followed(real: Real, tmp_path: Path) -> None:
    mine = talked(real)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep")
    os.symlink(precious, real.store / "conversations" / mine)
    result = purged(real)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.AMBIGUOUS_CONVERSATION
    ]
    assert (precious / "file").exists()
    assert mine in conversations(real)
    assert "acme" in real.sessions()


def test_a_purge_off_a_terminal_needs_a_flag(real: Real) -> None:
    mine = talked(real)
    words = [
        sys.executable,
        "-m",
        "tmuxreap",
        "stop",
        "acme",
        "--purge-conversation",
        "--registry",
        str(real.registry),
    ]
    refused = subprocess.run(
        words, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    assert refused.returncode == 2
    assert (mine in conversations(real), "acme" in real.sessions()) == (True, True)
    assert (
        subprocess.run([*words, "--yes"], capture_output=True, timeout=60, check=False).returncode
        == 0
    )
    assert conversations(real) == set()


def test_a_plan_deletes_nothing(real: Real) -> None:
    mine = talked(real)
    real.stop(purge=True, dry_run=True)
    assert (mine in conversations(real), "acme" in real.sessions()) == (True, True)


GUESSED = "agents: {demo: {launch: null, conversation: {locators: [sole-candidate]}}}\n"


@pytest.fixture
def guessed(real: Real) -> Real:
    """Make the demo agent report its conversation to no one."""
    own = Path(os.environ["XDG_CONFIG_HOME"]) / "tmuxreap" / "agents.yaml"
    own.parent.mkdir()
    own.write_text(GUESSED)
    return real


def test_a_conversation_ambiguous_at_the_kill_is_not_purged(guessed: Real) -> None:
    talked(guessed)
    talked(guessed, "other")
    kept = conversations(guessed)
    ended = answer(guessed.kill(grace_s=0.0))
    assert (ended["conversation"]["id"], ended["warnings"][0].split(":")[0]) == (
        None,
        "ambiguous_conversation",
    )
    before = guessed.registry.read_bytes()
    result = purged(guessed)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.AMBIGUOUS_CONVERSATION
    ]
    assert (answer(result)["purged"], conversations(guessed)) == ([], kept)
    assert guessed.registry.read_bytes() == before


def test_an_unknown_conversation_is_not_purged(real: Real) -> None:
    mine = talked(real)
    real.stop()
    real.edit(f"demo_conversation_id_own: {mine}", "demo_conversation_id_own: null")
    result = purged(real)
    assert [Code.of(item.error.code) for item in result.results if item.error] == [
        Code.AMBIGUOUS_CONVERSATION
    ]
    assert (conversations(real), real.row()["status"]) == ({mine}, "stopped")


def test_a_session_without_a_message_has_nothing_to_purge(guessed: Real) -> None:
    guessed.start()
    result = answer(purged(guessed))
    assert (result["conversation"]["id"], result["outcome"], result["purged"]) == (
        None,
        "terminated",
        [],
    )
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["nothing_purged"]


def test_a_purge_that_finds_nothing_says_so(real: Real) -> None:
    real.start()
    result = answer(purged(real))
    assert (result["outcome"], result["purged"]) == ("terminated", [])
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["nothing_purged"]


def test_the_plan_names_every_file(real: Real) -> None:
    mine = talked(real)
    side = real.store / "conversations" / mine
    side.mkdir()
    (side / "notes").write_text("deep")
    (real.store / "history.jsonl").write_text(f"{mine} hello\n")
    result = real.stop(purge=True, dry_run=True)
    plan = answer(result)["plan"]
    assert plan["purges"] == [str(side), f"{side}.jsonl"]
    assert plan["left"] == [str(real.store / "history.jsonl")]
    told = list(lines(result, Style(json=False, quiet=False, color=False, width=None)))
    assert [line for line in told if line.startswith("  deletes")] == [
        f"  deletes       {side}",
        f"  deletes       {side}.jsonl",
    ]
    receipt = list(lines(purged(real), Style(json=False, quiet=False, color=False, width=None)))
    assert [line.split()[-1] for line in receipt if "purged" in line] == [
        str(side),
        f"{side}.jsonl",
    ]
    assert [line.split()[-1] for line in receipt if "left" in line.split()[:1]] == [
        str(real.store / "history.jsonl")
    ]


@pytest.fixture
def loose(real: Real) -> str:
    """Return the conversation of an agent on the default server that no row means."""
    default = Path(os.environ["TMUX_TMPDIR"], f"tmux-{os.getuid()}", "default")
    default.parent.mkdir(mode=0o700)
    real.socket = str(default)
    conversation = talked(real)
    real.registry.write_text("tmux_sessions: []\n")
    return conversation


def ended_unregistered(real: Real) -> Result:
    policy = Policy(EndVerb.STOP, "manual_stop", purge=True, unregistered=True)
    with real.app() as app:
        return stop.run(app, stop.EndRequest(("acme",), policy, yes=True))


def test_a_session_without_a_row_is_purged_too(real: Real, loose: str) -> None:
    result = answer(ended_unregistered(real))
    assert (result["outcome"], result["error"]) == ("terminated", None)
    assert [Path(path).name for path in result["purged"]] == [f"{loose}.jsonl"]
    assert conversations(real) == set()


def test_a_session_without_a_registry_is_purged_too(real: Real, loose: str) -> None:
    real.registry.unlink()
    assert answer(ended_unregistered(real))["outcome"] == "terminated"
    assert (loose in conversations(real), real.registry.exists()) == (False, False)


def test_nothing_is_purged_beside_a_registry_that_cannot_be_read(real: Real, loose: str) -> None:
    """Another row may have the conversation."""
    real.registry.write_text("tmux_sessions: [\n")
    with pytest.raises(Failure) as refused:
        ended_unregistered(real)
    assert refused.value.code is Code.REGISTRY_INVALID
    assert conversations(real) == {loose}
    assert real.sessions() == {"acme"}
