"""The growth of cost with the work, as an SVG: both axes in powers of ten."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, MARGIN = 720, 420, 64
COLOURS = ("#4269d0", "#ff725c", "#3ca951", "#a463f2", "#efb118", "#6cc5b0")

Points = Mapping[str, Sequence[tuple[int, float]]]


def plotted(points: Points) -> str:
    points = {name: line for name, line in points.items() if len(line) > 1}
    everything = [point for line in points.values() for point in line]
    across = _scale([count for count, _ in everything], MARGIN, WIDTH - 170)
    up = _scale([seconds * 1000 for _, seconds in everything], HEIGHT - MARGIN, 24)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *(_grid(across(10**n), "v", f"{10**n:,}") for n in _powers([c for c, _ in everything])),
        *(
            _grid(up(ms), "h", f"{ms:,} ms")
            for ms in _round([seconds * 1000 for _, seconds in everything])
        ),
        f'<text x="{(WIDTH - 106) / 2}" y="{HEIGHT - 16}" text-anchor="middle">'
        "sessions, or rows</text>",
    ]
    for (name, line), colour in zip(points.items(), COLOURS, strict=False):
        places = [(across(count), up(seconds * 1000)) for count, seconds in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places]
        x, y = places[-1]
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _scale(values: Sequence[float], first: float, last: float):  # type: ignore[no-untyped-def]
    low, high = math.log10(max(min(values), 0.001)), math.log10(max(values))
    return lambda value: (
        first + (math.log10(max(value, 0.001)) - low) / ((high - low) or 1) * (last - first)
    )


def _powers(values: Sequence[float]) -> range:
    return range(
        math.ceil(math.log10(max(min(values), 0.001))), math.floor(math.log10(max(values))) + 1
    )


def _round(values: Sequence[float]) -> list[int]:
    steps = [step * 10**n for n in range(6) for step in (1, 2, 5)]
    return [step for step in steps if min(values) <= step <= max(values)]


def _grid(at: float, way: str, label: str) -> str:
    if way == "v":
        return (
            f'<line x1="{at:.1f}" y1="24" x2="{at:.1f}" y2="{HEIGHT - MARGIN}" stroke="#ddd"/>'
            f'<text x="{at:.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{label}</text>'
        )
    return (
        f'<line x1="{MARGIN}" y1="{at:.1f}" x2="{WIDTH - 170}" y2="{at:.1f}" stroke="#ddd"/>'
        f'<text x="{MARGIN - 8}" y="{at + 4:.1f}" text-anchor="end">{label}</text>'
    )
