"""What an agent's screen says of its state, by the patterns of its profile. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from itertools import pairwise

from tmuxreap.core.values import frozen


class State(Enum):
    """What an agent does, as far as keys are concerned."""

    IDLE = "idle"
    DRAFT = "draft"
    BUSY = "busy"
    DIALOG = "dialog"
    UNKNOWN = "unknown"


FRAME = " \xa0│❯>↳"  # noqa: RUF001 - what agents put before a line
RIGHT = re.compile(r" *│?$", re.MULTILINE)  # of a frame around it
# A dialog hides everything else, and a busy agent may show a prompt: the most dangerous reading
# wins.
ORDER = (State.DIALOG, State.BUSY, State.DRAFT, State.IDLE)
STYLES = re.compile(r"\x1b\[[0-9;:]*m|\x1b\].*?(?:\x1b\\|\x07)|[\x0e\x0f]")
MARKS = (
    *("setup", "queued", "shortened", "cut", "scrolled", "split", "stashed", "limited"),
    "suggested",
)
SPARE_ROWS = 2  # of a share: around the input
WRAPS_FROM = 0.8  # of the widest line: shorter lines were broken by a person


@frozen
class Tall:
    """How many lines of a draft an agent shows at most: so many, or a share of the screen's."""

    rows: int
    share: float = 0.0

    def is_full(self, draft: str, text: str) -> bool:
        shown = int(self.share * len(text.split("\n"))) - SPARE_ROWS
        return len(draft.split("\n")) >= max(self.rows, shown)


@frozen
class Screen:
    state: State
    draft: str = ""
    queued: str = ""  # prompts that it is going to begin when its turn has ended
    partial: bool = False  # more is half-typed than the screen shows
    setup: bool = (
        False  # it asks before its first prompt: trust, keys; most keys answer that for good
    )
    blank: bool = False
    stashed: bool = False  # a draft was laid aside, and is not to be seen
    limit: str | None = None  # it may not go on before that time, empty where that is not told


def read_screen(
    text: str,
    patterns: Mapping[State, re.Pattern[str]],
    marks: Mapping[str, re.Pattern[str]] | None = None,
    tall: Tall | None = None,
) -> Screen:
    """Its state, and what is half-typed: also a busy agent can hold a draft. `marks`: what else a
    screen may show, by the words of MARKS."""
    marks = marks or {}
    text = unstyled(text, marks.get("suggested"))
    if not text.strip():
        return Screen(State.UNKNOWN, blank=True)
    if _shows(marks.get("setup"), text):
        return Screen(State.DIALOG, setup=True)
    queued = _queued(marks.get("queued"), text)
    inside = "split" in marks
    draft = _half_typed(patterns.get(State.DRAFT), "draft", text, inside)
    partial = bool(draft) and (
        _shows(marks.get("shortened"), draft)
        or _shows(marks.get("cut"), text)
        or (tall is not None and tall.is_full(_raw(patterns[State.DRAFT], text), text))
    )
    stashed = _shows(marks.get("stashed"), text)
    limit = _limit(marks.get("limited"), text)
    for state in ORDER:
        if _shows(patterns.get(state), text):
            return Screen(state, draft, queued, partial, stashed=stashed, limit=limit)
    scrolled = _half_typed(marks.get("scrolled"), "scrolled", text, inside)
    state = State.DRAFT if scrolled else State.UNKNOWN
    return Screen(state, scrolled, queued, bool(scrolled), stashed=stashed, limit=limit)


def unstyled(text: str, suggested: re.Pattern[str] | None = None) -> str:
    """A screen's text as it stands there. What the agent shows in its empty input (a placeholder, a
    suggestion) is told from what a person has typed by its style alone, and is left out."""
    if "\x1b" not in text:
        return text
    found = suggested.search(text) if suggested else None
    if found is not None:
        text = text[: found.start("suggested")] + text[found.end("suggested") :]
    return "\n".join(line.rstrip(" ") for line in STYLES.sub("", text).split("\n"))


def _raw(pattern: re.Pattern[str], text: str) -> str:
    """A draft line by line as it stands there."""
    found = pattern.search(text)
    return (found.groupdict().get("draft") or found.group(0)) if found else ""


def _shows(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.search(text) is not None


def _limit(pattern: re.Pattern[str] | None, text: str) -> str | None:
    found = pattern.search(text) if pattern else None
    return None if found is None else (found.groupdict().get("until") or "").strip()


def _queued(pattern: re.Pattern[str] | None, text: str) -> str:
    """Each prompt as it stands there, without what comes before it on its line."""
    found = pattern.search(text) if pattern else None
    if found is None:
        return ""
    prompts = found.groupdict().get("queued") or found.group(0)
    return "\n".join(line.strip(FRAME) for line in prompts.strip("\n").split("\n")).strip("\n")


def _half_typed(pattern: re.Pattern[str] | None, group: str, text: str, inside: bool) -> str:
    """As it was typed: without the indent, the frame or the prompt before its later lines, and
    without the ends of lines where it was wrapped; a command for the shell with its sign.
    `inside`: it is wrapped inside of words."""
    found = pattern.search(text) if pattern else None
    if found is None:
        return ""
    groups = found.groupdict()
    draft = groups.get(group)
    if draft is None:
        return found.group(0)
    start = found.start(group)
    prompt = text[text.rfind("\n", 0, start) + 1 : start]
    if inside:
        draft = _rejoined(draft, prompt, text)
    if prompt:
        bare = f"{re.escape(prompt.rstrip())}$|" if prompt.strip() else ""
        before = rf"(?m)\n(?:{re.escape(prompt)}|{bare}[^\w\n]{{1,{len(prompt)}}})"
        draft = re.sub(before, "\n", draft)
    draft = RIGHT.sub("", draft) if "│" in prompt else draft
    return ("!" if groups.get("shell") else "") + (draft if inside else _unwrapped(draft, text))


def _rejoined(draft: str, prompt: str, text: str) -> str:
    """A line that reaches the edge, as the widest of the screen does, goes on in the next; one that
    is a sign shorter ends with a space."""
    room = max(len(line) for line in text.split("\n"))
    first, *rest = draft.split("\n")
    joined, width = first, len(prompt) + len(first)
    for line in rest:
        again = prompt.strip() and line.startswith(prompt.rstrip())
        between = {0: "", 1: " "}.get(max(room - width, 0), "\n")
        joined += between + (line[len(prompt) :] if again else line)
        width = len(line)
    return joined


def _unwrapped(draft: str, text: str) -> str:
    """A line of the greatest width is followed by what did not fit into it."""
    lines = draft.split("\n")
    width = max(len(line) for line in lines)
    if width < WRAPS_FROM * max(len(line) for line in text.split("\n")):
        return draft
    joined = lines[:1]
    for before, line in pairwise(lines):
        rest = line.removeprefix(" ")  # some leave the space before the word that did not fit
        word = rest.partition(" ")[0]
        if before and word and len(before) + 1 + len(word) > width:
            joined[-1] += " " + rest
        else:
            joined.append(line)
    return "\n".join(joined)
