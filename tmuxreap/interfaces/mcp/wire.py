"""What comes in on stdin, line by line, with every lone half of a surrogate pair replaced: the SDK
skips a line that it cannot validate, and its caller would wait for ever. Judges nothing else of
it."""

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
    """The lines of stdin, which nothing else of this process reads from then on."""

    def __init__(self) -> None:
        private, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._lines = anyio.wrap_file(
            os.fdopen(private, encoding="utf-8", errors="replace", closefd=False)
        )

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield mended(line)


def mended(line: str) -> str:
    return _ESCAPE.sub(lambda found: r"\ufffd" if _LONE.fullmatch(found[0]) else found[0], line)
