"""Helpers for editing a registry's text in tests."""

from __future__ import annotations

from typing import Any

from tmuxreap.registry.edits import (
    parse,
    set_fields,
)

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


def set_one(text: str, changes: Any, index: int = 0) -> str:
    return set_fields(parse(text), index, changes)


def swapped(old: str, new: str, text: str = REGISTRY) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)
