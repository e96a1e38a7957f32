"""Helpers for tests of `doctor`: requests and lookups in its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.command_line import Answer, tmuxreap
from tmuxreap.agents.load import load_profiles

BIN = "/usr/bin:/bin"
TRIED = (
    load_profiles(None).agents["claude"].verified.partition(",")[0]
)  # it changes with each matrix
REGISTRY = "tmux_sessions:\n  - name: shop\n    status: stopped\n"


def doctor(*words: str) -> Answer:
    return tmuxreap("doctor", "--json", *words)


def of(answer: Answer, check: str, level: str = "problem") -> list[dict[str, Any]]:
    return [one for one in answer.json["results"] if (one["name"], one["level"]) == (check, level)]


def the_only(answer: Answer, check: str, level: str = "problem") -> dict[str, Any]:
    (one,) = of(answer, check, level)
    return one


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
