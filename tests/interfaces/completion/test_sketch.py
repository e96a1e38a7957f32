"""What lines tell of a registry: the rows that the parser reads, where they are written as people
and programs do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tmuxreap.agents.load import load_profiles
from tmuxreap.core.model import Row
from tmuxreap.interfaces.cli.main import VERBS as DECLARED
from tmuxreap.interfaces.completion.sketch import Sketch, agents_of, rows_of
from tmuxreap.interfaces.completion.vocabulary import AGENTS, VERBS
from tmuxreap.registry.file import Registry

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / ".hermes-example" / "agent-sessions.yaml"


def test_the_example_is_read_as_the_parser_reads_it() -> None:
    parsed = [row for row in Registry(EXAMPLE).look().rows if isinstance(row, Row)]
    assert rows_of(EXAMPLE.read_text()) == [
        Sketch(
            row.name,
            row.status.value,
            row.agent or "",
            row.tmux_server or "",
            row.tags,
            row.resumable is True,
        )
        for row in parsed
    ]


WAYS = {
    "no indentation": (
        """\
tmux_sessions:
- name: a
  status: running
  agent: demo
- status: stopped
  name: b
"""
    ),
    "quoted, with comments": (
        """\
tmux_sessions:  # ours
  # the first
  - name: 'a' # first
    status: "running"

    agent: demo
  - "name": "escaped \\t"
    status: running
  - name: b
    status: stopped # long ago
"""
    ),
    "a screen that looks like rows": (
        """\
tmux_sessions:
  - name: a
    status: running
    agent: demo
    last_visible_status: |
      - name: c
        status: stopped
      tmux_sessions:
  - name: b
    status: stopped
other:
  - name: d
"""
    ),
    "names that are deeper": (
        """\
tmux_sessions:
  - pane: {name: x}
    job:
      name: y
    name: a
    status: running
    agent: demo
  - {name: b, status: stopped, pane: {pid: 1, name: z}}
"""
    ),
}


@pytest.mark.parametrize("text", WAYS.values(), ids=WAYS)
def test_rows_are_told_by_their_lines(text: str) -> None:
    found = [(row.name, row.status, row.agent) for row in rows_of(text)]
    assert found == [("a", "running", "demo"), ("b", "stopped", "")]


def test_the_line_ends_of_windows_are_line_ends() -> None:
    text = WAYS["no indentation"]
    assert rows_of(text.replace("\n", "\r\n")) == rows_of(text)


def test_tags_are_read_in_both_forms() -> None:
    text = (
        "tmux_sessions:\n  - name: a\n    tags: [x, 'y z']\n  - name: b\n    tags:\n      - x\n    "
        "  - w # why\n"
    )
    assert [row.tags for row in rows_of(text)] == [("x", "y z"), ("x", "w")]


@pytest.mark.parametrize(
    "text",
    ["", "\0\n\t- name", "tmux_sessions: [", "tmux_sessions:\n  - &a\n  - *a\n  - name: !x y\n"],
)
def test_what_is_not_understood_is_no_row(text: str) -> None:
    assert rows_of(text) == []


def test_agents_of_a_file_are_its_keys() -> None:
    text = (ROOT / "tmuxreap" / "agents" / "agents.yaml").read_text()
    assert agents_of(text) == list(load_profiles(None).agents) == list(AGENTS)


def test_every_verb_has_its_words() -> None:
    assert set(DECLARED) < VERBS.keys()
