"""The command that runs this program again. Never `python -m`: that imports modules of the working
directory, which may be anybody's project, before any of ours."""

from __future__ import annotations

import sys
from pathlib import Path

import tmuxreap

PROGRAM = Path(tmuxreap.__file__).with_name("__main__.py")


def own_command(*words: str) -> tuple[str, ...]:
    return (sys.executable, str(PROGRAM), *words)
