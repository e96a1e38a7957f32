"""The words that users try first: each leads to a verb, or to the command that does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import tmuxreap
from tmuxreap.commands.targets import left_out
from tmuxreap.core.results import Ending, Result
from tmuxreap.core.text import Style
from tmuxreap.interfaces.cli import boundary

ROWS = "tmux_sessions:\n" + "".join(
    f"  - {{name: {name}, status: stopped, agent: demo}}\n" for name in ("a", "b")
)


@pytest.mark.parametrize(
    ("word", "verb"),
    [
        ("status", "list"),
        ("ps", "list"),
        ("rm", "forget"),
        ("delete", "forget"),
        ("end", "stop"),
        ("quit", "stop"),
        ("restore", "resume"),
        ("prompt", "send"),
        ("stpo", "stop"),
    ],
)
def test_a_word_of_another_program_leads_to_ours(registry: Path, word: str, verb: str) -> None:
    answer = tmuxreap(word, "acme", "--json")
    assert (answer.exit, answer.error["hint"]) == (2, f"did you mean: tmuxreap {verb}")


@pytest.mark.parametrize(
    "words", [("-h",), ("help",), ("--help",), ("-h", "help"), ("help", "help")]
)
def test_help_is_found_under_each_of_its_names(words: tuple[str, ...]) -> None:
    answer = tmuxreap(*words)
    assert (answer.exit, "Everyday:" in answer.out, "\n  hook " in answer.out) == (0, True, False)


@pytest.mark.parametrize(
    "words",
    [
        ("stop", "-h"),
        ("help", "stop"),
        ("stop", "--help"),
        ("heartbeat", "-h"),
        ("-h", "stop"),
        ("--help", "--registry", "x", "list"),
        ("-qh", "ls"),
        ("--quiet", "help", "stop"),
    ],
)
def test_a_verb_explains_itself(words: tuple[str, ...]) -> None:
    answer = tmuxreap(*words)
    assert answer.exit == 0
    verb = next(word for word in ("stop", "heartbeat", "list", "ls") if word in words)
    assert f"Usage: tmuxreap {'list' if verb == 'ls' else verb} " in answer.out


def test_a_usage_error_names_the_help_of_its_verb(registry: Path) -> None:
    assert (
        tmuxreap("stop", "--all", "--json").error["hint"]
        == "to stop every session: tmuxreap stop all"
    )
    assert tmuxreap("config", "--all", "--json").error["hint"] == "see: tmuxreap config --help"
    assert tmuxreap("list", "--nope", "--json").error["hint"] == "see: tmuxreap list --help"
    assert tmuxreap("stop", "acme", "--grace", "5x", "--json").error["hint"] == "as in: --grace 90s"


def test_a_verb_of_this_machine_refuses_other_hosts(registry: Path) -> None:
    error = tmuxreap("send", "acme", "go on", "--host", "gpu", "--json").error
    assert (error["code"], "on this machine only" in error["message"]) == ("usage", True)
    assert "ssh HOST tmuxreap send" in error["hint"]


def test_a_registry_that_is_given_twice_is_an_error(registry: Path) -> None:
    answer = tmuxreap("list", "--registry", "a.yaml", "--registry=b.yaml", "--json")
    assert (answer.exit, answer.error["code"]) == (2, "usage")
    assert "twice" in answer.error["message"]


def test_attach_says_why_it_cannot_attach(registry: Path) -> None:
    registry.write_text(ROWS)
    answer = tmuxreap("attach", "a")
    assert (answer.exit, "is not a terminal" in answer.err) == (2, True)


def test_a_question_names_the_sessions_and_their_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(boundary, "confirm", lambda words: bool(asked.append(words)) or True)
    dialog = {"state": "dialog", "doing": "waiting"}
    draft = {"state": "draft", "doing": "idle"}
    stopped = {"state": "unknown", "doing": "unknown"}
    gone = {"state": None, "rungs": [{"name": "keys", "skipped": "the agent is gone"}]}
    planned = [
        Ending("api", "planned", agent="demo"),
        Ending("docs", "planned", plan=dialog),
        Ending("notes", "planned", agent="demo", plan=draft),
        Ending("shop", "planned", agent="demo", plan=stopped),
        Ending("web", "planned", agent="demo", plan=gone),
    ]
    warnings = [left_out(["night"])]
    assert boundary.question(Style(), purge=False)(Result("stop", None, 0.0, planned, warnings))
    assert asked == ["stop 5 sessions?"]
    assert capsys.readouterr().err.splitlines() == [
        "stop 5 sessions:",
        "  api    demo",
        "  docs   -     waiting for an answer",
        "  notes  demo  has a draft",
        "  shop   demo  unknown",
        "  web    demo  its agent is gone",
        "to see every step, add --dry-run",
        "protected: left out night",
    ]


def test_forget_asks_before_more_goes_than_was_named(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fakes import Story
    from tmuxreap.commands.forget import ForgetRequest, run

    story = Story(registry.parent)
    asked: list[str] = []

    def no(words: str) -> bool:
        asked.append(words)
        return False

    for name in ("a", "b"):
        story.agent(name, status="stopped")
    before = story.path.read_bytes()
    for targets, history in ((("all",), False), (("a*",), False), (("a",), True)):
        answer = run(story.app(), ForgetRequest(targets, history, ask=no))
        assert (answer.results, answer.exit) == ((), 1)
    assert story.path.read_bytes() == before
    assert asked == [
        "forget 2 sessions (a, b)?",
        "forget 1 session (a)?",
        "forget 1 session and its history (a)?",
    ]
    assert len(run(story.app(), ForgetRequest(("a",), ask=no)).results) == 1
    story.close()


@pytest.mark.parametrize(
    "words", [("-q", "list"), ("--registry", "R", "list"), ("--json", "list"), ("-V",)]
)
def test_flags_before_the_verb_are_accepted(registry: Path, words: tuple[str, ...]) -> None:
    registry.write_text(ROWS)
    elsewhere = registry.with_name("other.yaml")
    elsewhere.write_text(ROWS.replace("name: a", "name: elsewhere"))
    answer = tmuxreap(*(str(elsewhere) if word == "R" else word for word in words))
    assert answer.exit == 0
    shown = {
        "-q": answer.out == "",
        "--registry": "elsewhere" in answer.out,
        "--json": answer.out.startswith("{"),
        "-V": answer.out.startswith("tmuxreap "),
    }
    assert shown[words[0]]


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"session": None, "processes": []}, "delete the conversation of acme for good?"),
        ({"session": "$1", "processes": []}, "stop acme, and delete its conversation for good?"),
    ],
)
def test_a_purge_of_what_has_ended_asks_about_the_conversation_alone(
    plan: dict[str, object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(boundary, "confirm", lambda words: bool(asked.append(words)) or True)
    one = Ending("acme", "planned", plan={"name": "acme", "verb": "stop", **plan})
    assert boundary.question(Style(), purge=True)(Result("stop", None, 0.0, [one]))
    assert asked == [words]
