"""Owns stdin as lines, with unpaired surrogates replaced: the SDK drops a line that it cannot
validate, and the caller would wait forever. Changes nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator

import anyio

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
)
_LONE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class Lines:
    """The lines of stdin; from then on no other code of this process can read it."""

    def __init__(self) -> None:
        private, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._lines = anyio.wrap_file(
            os.fdopen(private, encoding="utf-8", errors="replace", closefd=False)
        )

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield without_lone_surrogates(line)


def without_lone_surrogates(line: str) -> str:
    return _ESCAPE.sub(lambda match: r"\ufffd" if _LONE.fullmatch(match[0]) else match[0], line)
