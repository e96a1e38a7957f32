"""Shows how far each ending is while it runs: one line, redrawn on a terminal; elsewhere plain
lines for slow ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TextIO

from tmuxreap.core.ports import DRAW_S
from tmuxreap.core.text import cut, plain
from tmuxreap.core.values import field, slotted
from tmuxreap.interfaces.text.receipt import RUNGS
from tmuxreap.interfaces.text.report import terminal_columns

SHOWN_NAMES = 6
LONG_S = 2.0  # off a terminal, faster endings only print a receipt


@slotted
class ProgressText:
    """The progress line. `monotonic` is the clock; `live`: the line can be redrawn."""

    to: TextIO
    monotonic: Callable[[], float]
    live: bool
    total: int = 0
    ended: int = 0
    at: dict[str, tuple[Enum, float]] = field(default_factory=dict)
    turns: dict[str, float] = field(default_factory=dict)  # awaited turns, since when
    drawn: float = 0.0

    def begin(self, total: int) -> None:
        self.total += total

    def rung(self, name: str, rung: Enum) -> None:
        name = plain(name)
        self.turns.pop(name, None)
        now = self.monotonic()
        started = self.at.get(name, (rung, now))[1]
        self.at[name] = (rung, started)
        if not self.live and now - started >= LONG_S:
            self._say(
                f"{name}: still there after {now - started:.0f} s, {RUNGS[rung.value].doing}\n"
            )
        self.draw()

    def strays(self, name: str, programs: Sequence[str]) -> None:
        shown = [*programs[:SHOWN_NAMES], *(["..."] if len(programs) > SHOWN_NAMES else [])]
        self.waits(name, f"also ends what it started in the background: {', '.join(shown)}")

    def turn(self, name: str) -> None:
        """Show that the session may finish its turn first."""
        name = plain(name)
        if name not in self.turns:
            self.turns[name] = self.monotonic()
            if not self.live:
                self._say(f"{name}: waiting for its turn to end\n")
        self.draw()

    def waits(self, name: str, why: str) -> None:
        """Print a separate line, on a terminal too: the user may have to act."""
        before = "\r\x1b[K" if self.live else ""
        self._say(f"{before}{plain(name)}: {plain(why)}\n")

    def done(self, name: str) -> None:
        self.at.pop(plain(name), None)
        self.turns.pop(plain(name), None)
        self.ended += 1
        self.draw()

    def draw(self) -> None:
        """Redraw the line with all running endings, at most every `DRAW_S` seconds."""
        now = self.monotonic()
        if not self.live or (now - self.drawn < DRAW_S and (self.at or self.turns)):
            return
        self.drawn = now
        parts = []
        for name, (rung, started) in self.at.items():
            parts.append(f"{name} {rung.value} {now - started:.1f} s")
        parts += [f"{name} turn {now - since:.1f} s" for name, since in self.turns.items()]
        if parts:
            line = " · ".join([f"{self.ended} of {self.total} ended", *parts])
        else:
            line = ""
        self._say(f"\r\x1b[K{cut(line, terminal_columns() - 1)}")

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a closed stream must not leave an ending half done
            self.to.write(text)
            self.to.flush()
