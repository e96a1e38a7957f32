"""Messages for unexpected situations, provoked on the real program. Each has the same form, and
each command in a hint is run where the hint was printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.command_line import Answer, tmuxreap
from tests.live.test_bulk import herd
from tests.real import DEMO, Real

SHAPE = re.compile(r"could not [a-z]+\b[^\n]*?(?:: .+|$)", re.DOTALL)
# Our commands in a hint, up to the next word of the surrounding sentence.
HINTED = re.compile(r"tmuxreap (?:'[^']*'|[^\s,;')]+)(?: (?!or\b)(?:'[^']*'|[^\s,;')]+))*")
# Placeholders in a hint for what only the reader knows.
MEANT = {"NAME": "api", "AGENT": "demo", "COMMAND": " ".join(DEMO), "NAME...": "api"}
OTHERS_WORDS = re.compile(
    r"\b(?:mend|way out|such a one|for want of|none such|could be had|ain't|e\.g\.)\b", re.I
)


def shape_of(said: Answer) -> list[str]:
    """Return the hints; each error and hint starts a line, and errors say what, then why."""
    errors = re.findall(r"^error: ((?:.|\n(?=    ))*)$", said.err, flags=re.MULTILINE)
    hints = re.findall(r"^hint: ((?:.|\n(?=    ))*)$", said.err, flags=re.MULTILINE)
    assert errors, said.err
    for error in errors:
        assert SHAPE.fullmatch(error), error
        assert not OTHERS_WORDS.search(error), error
        assert not error.endswith((".", " ", ":")), error
    assert len(hints) == len(errors), "an error without a next step"
    for hint in hints:
        assert not OTHERS_WORDS.search(hint), hint
        assert not hint.endswith((".", " ", ":")), hint
    return hints


def commands_of(hints: list[str]) -> list[str]:
    return [found[0] for hint in hints for found in HINTED.finditer(hint)]


@pytest.fixture
def world(real: Real, monkeypatch: pytest.MonkeyPatch) -> Iterator[Real]:
    """Two registered agents, an unregistered one and a stopped one; their registry is the
    default."""
    monkeypatch.setenv("TMUXREAP_REGISTRY", str(real.registry))
    monkeypatch.setenv("TMUX_PANE", "")
    monkeypatch.chdir(real.folder)
    herd(real, ["api", "web"])
    yield real


def as_typed(call: str) -> list[str]:
    words = [MEANT.get(word, word) for word in shlex.split(call.replace("start NAME", "start new"))]
    return [
        part for word in words for part in (word.split() if word == MEANT["COMMAND"] else [word])
    ]


Prepare = Callable[[Real], Any]


def nothing(real: Real) -> None: ...


def stopped(real: Real) -> None:
    real.stop("api")


def other_pane(real: Real) -> None:
    real.tmux("split-window", "-d", "-t", "=api:", "sleep 600")


def broken(real: Real) -> None:
    real.registry.write_text('tmux_sessions:\n  - name: a\n    status: "runn\n')


# The command line, its exit status, and the exit status of each command in its hint.
SITUATIONS: list[tuple[str, Prepare, str, int, list[int]]] = [
    ("no target", nothing, "stop", 2, [0]),
    ("a name that is nearly right", nothing, "stop ap", 3, [0]),
    ("a word of another program", nothing, "status", 2, [0]),
    ("all as an option", nothing, "stop --all", 2, [0]),
    ("a reserved name", nothing, "adopt all", 2, [0]),
    ("a verb that takes no such option", nothing, "list --nope", 2, [0]),
    ("a bad duration", nothing, "stop api --grace 5x", 2, []),
    ("no agent", nothing, "start x", 2, [0]),
    ("an agent that nobody knows", nothing, "start x --agent nope", 2, [0, 1]),
    ("a program that is not there", nothing, "start x --agent demo -- env nosuch-x", 1, []),
    ("one that runs", nothing, "start api --agent demo --server {socket}", 1, [2]),
    ("panes of others", other_pane, "stop api", 1, []),
    ("no conversation to resume", stopped, "resume api", 1, [0]),
    ("a folder that is not there", nothing, "start y --agent demo --cwd /nope", 2, []),
    ("an unknown status", nothing, "list --status run", 2, []),
    (
        "a server's folder that is not there",
        nothing,
        "start z --agent demo --server /nope/d/s",
        1,
        [],
    ),
    ("a registry that is broken", broken, "list", 6, []),
    ("a purge that nobody agreed to", nothing, "stop api --purge-conversation", 2, []),
    ("an action that there is not", nothing, "skills remove", 2, [0]),
    ("a pattern without a match", nothing, "list 'q*'", 3, [0]),
    ("a heartbeat of nobody", nothing, "heartbeat", 3, [0]),
    ("a session that is not there", nothing, "adopt nosuch", 3, []),
    ("no terminal", nothing, "attach api", 2, [0]),
    ("what excludes each other", nothing, "stop api --whole-session --pane-only", 2, []),
    ("a wait for nothing", nothing, "wait api", 2, []),
    ("a row that runs", nothing, "forget api", 1, [0]),
    ("hooks of nobody", nothing, "hooks install nope", 2, [0]),
    ("a registry given twice", nothing, "list --registry a --registry b", 2, []),
    ("a registry that is not there", nothing, "list --registry /nope.yaml", 6, [0]),
    ("a program that --exec cannot run", nothing, "watch --exec /nope/x", 2, []),
    ("a shell that nobody knows", nothing, "completion csh", 2, []),
    ("a session to jump to that ended", stopped, "show nosuch", 3, [0]),
]


@pytest.mark.live
@pytest.mark.parametrize(
    ("prepare", "typed", "exit_status", "leads_to"),
    [pytest.param(*one[1:], id=one[0].replace(" ", "-")) for one in SITUATIONS],
)
def test_each_message_has_its_form_and_its_hint_works(
    world: Real, prepare: Prepare, typed: str, exit_status: int, leads_to: list[int]
) -> None:
    prepare(world)
    answer = tmuxreap(*shlex.split(typed.format(socket=world.socket)))
    assert answer.exit == exit_status, answer.err
    calls = commands_of(shape_of(answer))
    assert bool(calls) == bool(leads_to), calls
    for call in calls:
        followed = tmuxreap(*as_typed(call)[1:])
        assert followed.exit in leads_to, (call, followed.out, followed.err)
