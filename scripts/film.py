"""Turns a folder of screens, each named by its milliseconds, into one animated SVG:

    film.py FOLDER COLUMNS ROWS STILL TITLE

A line is drawn once for as long as it is unchanged; the file has no external references. Where
animation does not run, the screen at STILL milliseconds is shown."""

from __future__ import annotations

import html
import sys
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

NBSP = "\u00a0"  # browsers collapse spaces despite xml:space
CELL, LINE, SIZE, EDGE = 8.4, 17, 14, 12
LAST_MS = 1500  # the last frame stays longer
GROUND, INK = "181820", "d0d0d8"
NORMAL = f"{GROUND} e26060 7ec674 deb860 689ce8 be84dc 60c4c8 {INK}"
BRIGHT = "686874 f08080 98da8c f0d080 8cb8f8 d4a4f0 88dce0 f0f0f4"


def colours(words: str) -> list[tuple[int, int, int]]:
    return [(int(word[:2], 16), int(word[2:4], 16), int(word[4:], 16)) for word in words.split()]


THEME = TerminalTheme(*colours(f"{GROUND} {INK}"), colours(NORMAL), colours(BRIGHT))
CONSOLE = Console(width=500, color_system="truecolor", force_terminal=True, legacy_windows=False)

Stand = tuple[float, float, str]  # start and end as fractions of the whole, and the line


def drawn(line: str, at: int) -> str:
    """Draw the spans of one line as SVG text, each as wide as its cells."""
    y = EDGE + at * LINE
    parts: list[str] = []
    column = 0
    for segment in Segment.simplify(CONSOLE.render(Text.from_ansi(line), CONSOLE.options)):
        cells = segment.cell_length
        if segment.text.strip():
            parts.append(_span(segment.text, segment.style or Style(), column, cells, y))
        elif segment.style and (segment.style.reverse or segment.style.bgcolor):
            parts.append(_box(segment.style, column, cells, y))
        column += cells
    return "".join(parts)


def _colour(style: Style, *, ground: bool) -> str:
    is_ink = ground == bool(style.reverse)
    colour = style.color if is_ink else style.bgcolor
    found = colour.get_truecolor(THEME, foreground=is_ink) if colour else None
    default = THEME.foreground_color if is_ink else THEME.background_color
    return (found or default).hex


def _box(style: Style, column: int, cells: int, y: float) -> str:
    fill = _colour(style, ground=True)
    x = EDGE + column * CELL
    return f'<rect x="{x:.1f}" y="{y}" width="{cells * CELL:.1f}" height="{LINE}" fill="{fill}"/>'


def _span(text: str, style: Style, column: int, cells: int, y: float) -> str:
    lead = len(text) - len(text.lstrip(" "))
    shown = text.strip(" \n")
    width = Text(shown).cell_len
    box = _box(style, column, cells, y) if style.reverse or style.bgcolor else ""
    marks = f' fill="{_colour(style, ground=False)}"'
    marks += ' font-weight="bold"' if style.bold else ""
    marks += ' opacity=".6"' if style.dim else ""
    x, base = EDGE + (column + lead) * CELL, y + LINE - 4.5
    return (
        f'{box}<text x="{x:.1f}" y="{base:.1f}" textLength="{width * CELL:.1f}"{marks}>'
        f"{html.escape(shown).replace(' ', NBSP)}</text>"
    )


def stands(folder: Path, rows: int) -> tuple[list[list[Stand]], float]:
    """Return for each screen line its texts and their times, and the total duration."""
    screens = [
        (int(file.name), file.read_text(encoding="utf-8").split("\n"))
        for file in sorted(folder.iterdir())
        if file.stat().st_size
    ]
    first = screens[0][0]
    whole = screens[-1][0] - first + LAST_MS
    found: list[list[Stand]] = []
    for row in range(rows):
        lines = [(at - first, screen[row] if row < len(screen) else "") for at, screen in screens]
        changes = [
            (at, line) for n, (at, line) in enumerate(lines) if not n or line != lines[n - 1][1]
        ]
        ends = [at for at, _ in changes[1:]] + [whole]
        found.append(
            [(at / whole, end / whole, line) for (at, line), end in zip(changes, ends, strict=True)]
        )
    return found, whole / 1000


def moving(stand: Stand, at: int, seconds: float, still: float) -> str:
    """Draw a line for its time; without animation, whether it is on the still picture."""
    since, to, line = stand
    spans = drawn(line, at)
    if not spans or (since, to) == (0.0, 1.0):
        return spans
    values = ["none", "inline", "none"] if since else ["inline", "none"]
    times = [0.0, since, to] if since else [0.0, to]
    if to == 1.0:
        values.pop()
        times.pop()
    hidden = "" if since <= still < to else ' display="none"'
    return (
        f'<g{hidden}><animate attributeName="display" calcMode="discrete"'
        f' dur="{seconds:.2f}s" repeatCount="indefinite" values="{";".join(values)}"'
        f' keyTimes="{";".join(f"{time:.4f}" for time in times)}"/>{spans}</g>'
    )


def main(folder: Path, columns: int, rows: int, still_ms: int, title: str) -> None:
    lines, seconds = stands(folder, rows)
    still = still_ms / 1000 / seconds
    width, height = columns * CELL + 2 * EDGE, rows * LINE + 2 * EDGE
    ground = THEME.background_color.hex
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="{SIZE}"'
        f' role="img">'
        f"<title>{html.escape(title)}</title>"
        f'<rect width="100%" height="100%" rx="8" fill="{ground}"/>'
    )
    for at, row in enumerate(lines):
        print("".join(moving(stand, at, seconds, still) for stand in row))
    print("</svg>")


main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
