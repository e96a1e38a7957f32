"""What people are told: nothing in it commands their terminal, and each thing stands where it is
looked for."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from tests.command_line import tmuxreap
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Live, Outcome, Process, ProcessId, Status, StoppedBy
from tmuxreap.core.results import Item, PlainResult, Result
from tmuxreap.core.text import Voice, width
from tmuxreap.core.values import replace
from tmuxreap.ending.results import EndResult
from tmuxreap.interfaces.text.report import lines, report, tell_failure
from tmuxreap.sessions.ownership import Belonging
from tmuxreap.sessions.results import SessionResult

EVIL = "\x1b]52;c;cm0gLXJm\x07\x9b2J\r\u202e"
PLAIN = "\\x1b]52;c;cm0gLXJm\\x07\\x9b2J\\r\\u202e"
SHOP = SessionResult(
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
PYTHON = {"pid": 4990, "started": 0.0, "name": "python", "why": "pane"}


def told(command: str, *items: Item, voice: Voice | None = None) -> list[str]:
    return list(lines(Result(command, None, 0.0, items), voice or Voice()))


def evil_process() -> Belonging:
    return Belonging(Process(ProcessId(9, 1), 1, 9, 9, 0, 0, "S", EVIL), EVIL)


EVERYWHERE: dict[str, Sequence[Item]] = {
    "list": [replace(SHOP, name=EVIL, agent=EVIL, tags=(EVIL,), conversation_id=EVIL)],
    "show": [
        replace(
            SHOP,
            name=EVIL,
            cwd=EVIL,
            facts={"processes": [{**PYTHON, "name": EVIL, "why": EVIL}], "screen": EVIL},
        )
    ],
    "stop": [
        EndResult(
            EVIL,
            Outcome.STOPPED,
            stopped_by=StoppedBy.HANGUP,
            swept=(evil_process(),),
            spared=(evil_process(),),
        )
    ],
    "events": [PlainResult(EVIL, {"kind": EVIL, "timestamp": "now", "data": {"reason": EVIL}})],
    "reconcile": [PlainResult(EVIL, {"drift": "dead", "evidence": EVIL, "hint": EVIL})],
    "doctor": [PlainResult("lock", {"level": "problem", "message": EVIL, "hint": EVIL})],
}


@pytest.mark.parametrize("command", EVERYWHERE)
@pytest.mark.parametrize("voice", [Voice(), Voice(width=200)])
def test_no_name_of_anybody_commands_the_terminal(command: str, voice: Voice) -> None:
    text = "\n".join(told(command, *EVERYWHERE[command], voice=voice))
    assert "cm0gLXJm" in text
    assert not [letter for letter in text if letter != "\n" and not letter.isprintable()]


def test_what_went_wrong_is_told_plainly_and_cannot_pass_for_a_line_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failure = Failure(
        Code.START_FAILED, f"could not start {EVIL}: it said\nerror: all is well", EVIL
    )
    report(Result("start", None, 0.0, failure=failure, warnings=(EVIL,)), Voice())
    said = capsys.readouterr().err
    assert said.splitlines() == [
        f"warning: {PLAIN}",
        f"error: could not start {PLAIN}: it said",
        "    error: all is well",
        f"hint: {PLAIN}",
    ]


def test_our_own_colours_stay() -> None:
    to = io.StringIO()
    tell_failure(Failure(Code.USAGE, "no"), Voice(colour=True), to)
    assert to.getvalue() == "\x1b[31merror:\x1b[0m no\n"


def test_show_says_of_each_process_why_it_is_there() -> None:
    other = {**PYTHON, "pid": 12, "name": "sh", "why": "child of 4990"}
    facts = {
        "processes": [PYTHON, other],
        "protected": [],
        "pane_state": "idle",
        "screen": "> \nbye",
    }
    assert told("show", replace(SHOP, facts=facts)) == [
        "shop: running, alive",
        "  agent         demo",
        "  pane          %0 (pid 7)",
        "  folder        /srv",
        "  tags          web",
        "  conversation  e4d745b8",
        "  memory        2 MB",
        "  idle          4s",
        "  state         idle",
        "  processes",
        "       4990  python  pane",
        "         12  sh      child of 4990",
        "  screen",
        "  | > ",
        "  | bye",
    ]


def test_a_screen_is_cut_where_the_terminal_ends() -> None:
    facts = {"processes": [PYTHON], "screen": "日本語" * 20}
    shown = told("show", replace(SHOP, facts=facts), voice=Voice(width=30))
    assert max(map(width, shown)) <= 30
    assert shown[-1] == "  | " + "日本語" * 4 + "…"


def test_a_list_of_nothing_greets_with_the_next_step(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told("list") == ["no sessions yet; begin with: tmuxreap start NAME --agent AGENT"]
    monkeypatch.chdir(str(tmp_path))
    monkeypatch.delenv("TMUXREAP_REGISTRY", raising=False)
    answer = tmuxreap("list")
    assert (answer.exit, answer.out) == (6, "")
    assert "\nhint: make one with: tmuxreap start NAME --agent AGENT" in answer.err


def test_a_list_of_none_that_were_asked_for_is_not_an_empty_one(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(f"{tmp_path}/r.yaml", "w") as registry:
        registry.write("tmux_sessions:\n  - name: shop\n    status: stopped\n")
    answer = tmuxreap("list", "--status", "running", "--registry", f"{tmp_path}/r.yaml")
    assert (answer.exit, answer.out) == (0, "no sessions match; see all with: tmuxreap list\n")


def test_what_is_forgotten_and_installed_is_said_in_words() -> None:
    gone, kept = {"forgotten": True, "history": True}, {"forgotten": False, "history": False}
    assert told("forget", PlainResult("shop", gone)) == [
        "shop: removed from the registry, with its history"
    ]
    assert told("forget", PlainResult("shop", kept)) == ["shop: would be removed from the registry"]
    assert told("skills", PlainResult("create", {"outcome": "installed", "folder": "/p"})) == [
        "create: installed in /p"
    ]


def test_a_pane_without_its_number_is_no_none() -> None:
    assert "  pane          - (pid 7)" in told("show", replace(SHOP, pane_id=None))
