"""Text output: nothing in it controls the terminal, and everything goes to the right stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.command_line import tmuxreap
from tmuxreap.core.answers import Drift, Event, Finding, Forgotten, Session, Shown, Skill
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Live, Outcome, Status, StoppedBy
from tmuxreap.core.results import (
    Ending,
    Item,
    Problem,
    Process,
    RemoteResult,
    Result,
    plain_json,
    problem_of,
)
from tmuxreap.core.text import Style, width
from tmuxreap.core.values import as_dict, replace
from tmuxreap.hosts.file import Host
from tmuxreap.hosts.wire import item_of
from tmuxreap.interfaces.text.report import by_host, lines, print_failure, report

EVIL = "\x1b]52;c;cm0gLXJm\x07\x9b2J\r\u202e"
PLAIN = "\\x1b]52;c;cm0gLXJm\\x07\\x9b2J\\r\\u202e"
SHOP = Session(
    name="shop",
    agent="demo",
    status=Status.RUNNING,
    live=Live.ALIVE,
    tmux_server=None,
    pane_id="%0",
    pid=7,
    cwd="/srv",
    tags=("web",),
    conversation_id="e4d745b8",
    resumable=False,
    idle_s=4,
    memory_mb=2.0,
)
PYTHON = Process(4990, "python", "pane", 0.0)


def told(command: str, *items: Item, style: Style | None = None) -> list[str]:
    return list(lines(Result(command, None, 0.0, items), style or Style()))


def shown(**facts: Any) -> Shown:
    return Shown(**as_dict(SHOP), **facts)


EVERYWHERE: dict[str, Sequence[Item]] = {
    "list": [replace(SHOP, name=EVIL, agent=EVIL, tags=(EVIL,), conversation_id=EVIL)],
    "show": [
        replace(
            shown(processes=(replace(PYTHON, name=EVIL, why=EVIL),), screen=EVIL),
            name=EVIL,
            cwd=EVIL,
        )
    ],
    "stop": [
        Ending(
            EVIL,
            Outcome.STOPPED,
            stopped_by=StoppedBy.HANGUP,
            swept=(replace(PYTHON, name=EVIL, why=EVIL),),
            spared=(replace(PYTHON, name=EVIL, why=EVIL),),
        )
    ],
    "events": [Event(EVIL, 1, "now", EVIL, {"reason": EVIL})],
    "reconcile": [Drift(EVIL, "dead", EVIL, hint=EVIL)],
    "doctor": [Finding("lock", "problem", EVIL, EVIL)],
}


@pytest.mark.parametrize("command", EVERYWHERE)
@pytest.mark.parametrize("style", [Style(), Style(width=200)])
def test_no_name_in_a_report_commands_the_terminal(command: str, style: Style) -> None:
    text = "\n".join(told(command, *EVERYWHERE[command], style=style))
    assert "cm0gLXJm" in text
    assert not [letter for letter in text if letter != "\n" and not letter.isprintable()]


def test_errors_are_printed_plainly_and_cannot_imitate_our_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failure = Failure(
        Code.START_FAILED, f"could not start {EVIL}: it said\nerror: all is well", EVIL
    )
    report(Result("start", None, 0.0, failure=failure, warnings=(EVIL,)), Style())
    said = capsys.readouterr().err
    assert said.splitlines() == [
        f"warning: {PLAIN}",
        f"error: could not start {PLAIN}: it said",
        "    error: all is well",
        f"hint: {PLAIN}",
    ]


@pytest.mark.parametrize("verb", ["stop", "interrupt", "forget", "kill"])
def test_a_host_that_was_not_reached_does_not_count_as_nothing_to_do(verb: str) -> None:
    assert list(lines(Result(verb, None, 0.0), Style())) == [f"nothing to {verb}"]
    unreachable = Failure(Code.HOST_UNREACHABLE, "could not reach gpu")
    assert list(lines(Result(verb, None, 0.0, others=(unreachable,)), Style())) == []


def test_our_own_colours_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    print_failure(Failure(Code.USAGE, "no"), Style(color=True))
    assert capsys.readouterr().err == "\x1b[31merror:\x1b[0m no\n"


def test_show_says_of_each_process_why_it_is_there() -> None:
    other = replace(PYTHON, pid=12, name="sh", why="child of 4990")
    one = shown(processes=(PYTHON, other), pane_state="idle", screen="> \nbye")
    assert told("show", one) == [
        "shop: running, alive",
        "  agent         demo",
        "  pane          %0 (pid 7)",
        "  folder        /srv",
        "  memory        2 MB",
        "  idle          4s",
        "  state         idle",
        "  conversation  e4d745b8",
        "  tags          web",
        "  processes",
        "       4990  python  pane",
        "         12  sh      child of 4990",
        "  screen",
        "  | > ",
        "  | bye",
    ]


def test_a_screen_is_cut_where_the_terminal_ends() -> None:
    one = shown(processes=(PYTHON,), screen="日本語" * 20)
    said = told("show", one, style=Style(width=30))
    assert max(map(width, said)) <= 30
    assert said[-1] == "  | " + "日本語" * 4 + "…"


def test_an_empty_list_names_the_next_step(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told("list") == ["no sessions yet; begin with: tmuxreap start NAME --agent AGENT"]
    monkeypatch.chdir(str(tmp_path))
    monkeypatch.delenv("TMUXREAP_REGISTRY", raising=False)
    answer = tmuxreap("list")
    assert (answer.exit, answer.out) == (6, "")
    assert "\nhint: create one with: tmuxreap start NAME --agent AGENT" in answer.err


def test_an_empty_selection_is_not_reported_as_an_empty_registry(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(f"{tmp_path}/r.yaml", "w") as registry:
        registry.write("tmux_sessions:\n  - name: shop\n    status: stopped\n")
    answer = tmuxreap("list", "--status", "running", "--registry", f"{tmp_path}/r.yaml")
    assert (answer.exit, answer.out) == (0, "no sessions match; see all with: tmuxreap list\n")


def test_forget_and_install_print_sentences() -> None:
    gone = Forgotten("shop", forgotten=True, history=True)
    assert told("forget", gone) == ["shop: removed from the registry, with its history"]
    assert told("forget", Forgotten("shop")) == ["shop: would be removed from the registry"]
    assert told("skills", Skill("create", "installed", "/p")) == ["create: installed in /p"]


def test_a_pane_without_its_number_does_not_print_none() -> None:
    assert "  pane          - (pid 7)" in told("show", replace(SHOP, pane_id=None))


def test_several_that_were_registered_have_a_line_each_and_a_sum() -> None:
    two = [SHOP, replace(SHOP, name="web")]
    said = list(lines(Result("adopt", None, 0.0, two), Style()))
    assert [line.split(":")[0] for line in said] == ["shop", "web", "2 registered"]
    assert "demo" in said[0]
    failed = [SHOP, replace(SHOP, name="x", live=None, error=Problem("usage", "no", ""))]
    assert list(lines(Result("adopt", None, 0.0, failed), Style()))[-1] == "1 registered, 1 failed"
    assert len(list(lines(Result("adopt", None, 0.0, [SHOP]), Style()))) > 3


def answer_of(host: str, failure: Failure | None = None, **facts: object) -> RemoteResult:
    verb = "stop" if "outcome" in facts else "list"
    error = plain_json(problem_of(failure))
    return item_of(Host(host), {"name": "x", **facts, "error": error}, verb=verb)


def test_endings_are_summed_up_by_host() -> None:
    items = [
        answer_of("a", outcome="stopped"),
        answer_of("b", outcome="already_stopped"),
        answer_of("a", outcome="killed"),
        answer_of("b", Failure(Code.STILL_RUNNING, "m"), outcome="survived"),
    ]
    assert list(by_host(items)) == ["by host: a 2 of 2 ended; b 0 of 2 ended, 1 failed"]


def test_sessions_are_summed_up_by_host() -> None:
    items = [answer_of("a", live="alive"), answer_of("\x1b[2Jb", live="gone")]
    (line,) = by_host(items)
    assert line.startswith("by host: a 1 of 1 alive; ")
    assert "\x1b" not in line


def test_one_host_needs_no_sum() -> None:
    assert list(by_host([answer_of("a", live="alive"), answer_of("a", live="gone")])) == []
    assert list(by_host([Ending("x")])) == []


def test_a_quiet_command_prints_warnings_only_beside_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    went_well = Result("stop", None, 0.0, [], warnings=("folder_in_use: a and b",))
    report(went_well, Style(quiet=True))
    assert capsys.readouterr() == ("", "")
    failure = Failure(Code.LOCK_TIMEOUT, "could not stop acme: it is locked", "try again")
    report(replace(went_well, failure=failure), Style(quiet=True))
    assert capsys.readouterr() == (
        "",
        "warning: folder_in_use: a and b\n"
        "error: could not stop acme: it is locked\nhint: try again\n",
    )
