"""Helpers for editing a registry's text in tests."""

from __future__ import annotations

from typing import Any

from tmuxreap.registry.edits import edit_rows
from tmuxreap.registry.yaml.parse import Document, parse

REGISTRY = """\
# Agents of this project.
version: 1
tmux_sessions:
  # the first
  - name: alpha   # main
    status: running
    'resumable': "no"
    pane:
      pid: 12
      cwd: /home/x
    notes: |
      line one

      # still text

  # the second
  - {name: beta, status: running, pane: {}}
other: [1, 2] # end
"""


def set_fields(document: Document, index: int, changes: Any) -> str:
    return edit_rows(document, {index: changes})


def set_one(text: str, changes: Any, index: int = 0) -> str:
    return set_fields(parse(text), index, changes)


def swapped(old: str, new: str, text: str = REGISTRY) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


# Good rows and bad ones of each kind.
ROWS = """\
tmux_sessions:
  - name: a
    status: running   # of a
  - {name: b, status: stopped}
  - !session
    name: c
    status: running
  - name: d
    status: odd
  - name: e
    status: running
  - name: e
    status: stopped
  - status: running
"""
