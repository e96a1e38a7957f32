"""The words of the command line and of the agents, written by `scripts/vocabulary`: building the
command line takes too long for a key press."""

from __future__ import annotations

from pathlib import Path

PLACE = Path(__file__).with_suffix(".tsv")  # a line each, the flags below their verb

Flag = tuple[str, str]  # its value, its purpose
VERBS: dict[str, tuple[str, str, dict[str, Flag]]] = {}  # purpose, arguments, flags in order
AGENTS: dict[str, str] = {}


def _read() -> None:
    flags: dict[str, Flag] = {}
    for line in PLACE.read_text(encoding="utf-8").splitlines():
        kind, name, about, takes = line.split("\t")
        if kind == "verb":
            flags = {}
            VERBS[name] = (about, takes, flags)
        elif kind == "flag":
            flags[name] = (takes, about)
        else:
            AGENTS[name] = about


_read()
