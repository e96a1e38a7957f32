"""Rows read from lines: the same as the parser's, if written in the usual style."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tmuxreap.core.model import Row
from tmuxreap.interfaces.hook.sketch import Sketch, rows_of
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


WORDS = st.sampled_from(["api", "web-1", "a b", "it's", "x#y", "night: no", "true1", "a,b"])
VALUES = {
    "name": WORDS,
    "status": st.sampled_from(["running", "stopped", "terminated"]),
    "agent": st.sampled_from(["demo", "claude"]),
    "tmux_server": st.sampled_from(["work", "/tmp/s"]),
    "resumable": st.sampled_from(["true", "false"]),
    "stop_reason": st.sampled_from(["night # run", "status: x"]),
}
QUOTES = (json.dumps, lambda word: "'" + word.replace("'", "''") + "'")
COMMENTS = st.sampled_from(["", " # status: stopped", "  # 'x"])


@st.composite
def registries(draw: st.DrawFn) -> str:
    """Return registries in the usual style: block rows or one-line rows, with comments."""
    lines = [f"tmux_sessions:{draw(COMMENTS)}"]
    for name in draw(st.lists(WORDS, min_size=1, max_size=3, unique=True)):
        known = {key: draw(value) for key, value in VALUES.items() if draw(st.booleans())}
        row = {"status": draw(VALUES["status"]), **known, "name": name}
        told = {key: _written(draw, key, value) for key, value in row.items()}
        tags = draw(st.lists(WORDS.filter(lambda word: "," not in word), max_size=2, unique=True))
        told["tags"] = f"[{', '.join(map(json.dumps, tags))}]"
        pairs = [f"{key}: {told[key]}" for key in draw(st.permutations(list(told)))]
        if draw(st.booleans()):
            lines.append(f"  - {{{', '.join(pairs)}}}{draw(COMMENTS)}")
        else:
            lines += [
                f"  {'-' if not at else ' '} {it}{draw(COMMENTS)}" for at, it in enumerate(pairs)
            ]
    return "\n".join(lines) + "\n"


def _written(draw: st.DrawFn, key: str, word: str) -> str:
    plain = word.replace("-", "").replace("/", "").isalnum()
    if key == "resumable" or (plain and draw(st.booleans())):
        return word
    return draw(st.sampled_from(QUOTES))(word)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=registries())
def test_lines_tell_what_the_parser_tells(tmp_path: Path, text: str) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(text)
    rows = [row for row in Registry(file).look().rows if isinstance(row, Row)]
    assert [one.name for one in rows_of(text)] == [row.name for row in rows]
    for one, row in zip(rows_of(text), rows, strict=True):
        assert (one.status, one.agent, one.server, one.resumable) == (
            row.status.value,
            row.agent or "",
            row.tmux_server or "",
            row.resumable is True,
        )
        assert one.tags == row.tags
