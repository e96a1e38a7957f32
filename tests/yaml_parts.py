"""What registries as text are made of: words, keys, comments, and the places of what was made."""

from __future__ import annotations

from dataclasses import dataclass, field

WORDS = (
    "running",
    "claude",
    "x",
    "two words",
    "a-b_c",
    "/home/x/y",
    "é",
    "😀",
    "v1.2",
    "T-9",
    "it's",
    "a:b",
    "~/p",
    "100%",
)
ODD = (
    "# no comment",
    "key: value",
    " lead",
    "trail ",
    "%1",
    "[x",
    "{y",
    "- z",
    "*s",
    "&s",
    "!s",
    "no",
    "null",
    "1e3",
    "0x1f",
)
SCALARS = (
    "7",
    "-3",
    "1.5",
    "0123",
    "true",
    "no",
    "null",
    "~",
    "2026-11-18",
    "12:30:45",
    "2026-11-18T09:12:33Z",
    ".inf",
    "0o17",
)
KEYS = (
    "name",
    "status",
    "agent",
    "tags",
    "pane",
    "tmux",
    "stop_reason",
    "resumable",
    "note",
    "x-unknown",
    "ключ",
    "cwd",
)
COMMENTS = ("# c", "# status: old", "#", "# - name: gone", '# 😀 note: it\'s "quoted" {[')


@dataclass
class Field:
    path: tuple[str, ...]
    start: int  # of the key
    value: int  # where its value may begin: behind the colon
    end: int  # of the value
    flow: bool
    only: bool = False  # the only key of its mapping


@dataclass
class RowPlace:
    start: int  # its dash or first character
    end: int
    flow: bool
    clean: bool
    fields: list[Field] = field(default_factory=list)


@dataclass
class Named:
    """An anchored value that is complete."""

    anchor: str
    mapping: bool
    clean: bool


@dataclass
class Made:
    text: str = ""
    rows: list[RowPlace] = field(default_factory=list)
    shape: str = "block"
