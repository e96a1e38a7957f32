"""Reads an agent's state from its screen, by the patterns of its profile. Never does I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from itertools import pairwise

from tmuxreap.core.values import field, frozen


class State(Enum):
    """The state of an agent, as far as keys are concerned."""

    IDLE = "idle"
    DRAFT = "draft"
    BUSY = "busy"
    DIALOG = "dialog"
    UNKNOWN = "unknown"


FRAME_SIGNS = " \xa0│❯>↳"  # noqa: RUF001 - what agents put before a line
FRAMES = " \xa0│┃║|─━═▔▁╭╮╰╯┌┐└┘╹▀"  # what agents draw around a dialog
QUESTION = re.compile(r".*?\w.*?\?(?=\s|$)")
WORD = re.compile(r"\w")
OPTION = re.compile(r"\W*\d+\. ")
QUESTION_ROWS = 15  # how far above its options a question may be
RIGHT_FRAME = re.compile(r" *│?$", re.MULTILINE)  # the right side of a frame
# A dialog hides everything else, and a busy agent may show a prompt: the riskiest state wins.
RISKIEST_FIRST = (State.DIALOG, State.BUSY, State.DRAFT, State.IDLE)
UNDER_WAY = frozenset({State.DIALOG, State.BUSY})
STYLES = re.compile(r"\x1b\[[0-9;:]*m|\x1b\].*?(?:\x1b\\|\x07)|[\x0e\x0f]")
MARKS = (
    *("setup", "queued", "shortened", "cut", "scrolled", "split", "stashed", "limited"),
    *("suggested", "live", "edge", "words", "armed", "deaf", "view"),
)
LAST_BLOCK = re.compile(r"^.*\S.*(?:\n.*\S.*)*\s*\Z", re.MULTILINE)
SPARE_ROWS = 2  # rows around the input, within its share of the screen
WRAPS_FROM = 0.8  # share of the widest line; shorter lines were broken by the user


@frozen
class Tall:
    """How many lines of a draft an agent shows at most: a number, or a share of the screen."""

    rows: int
    share: float = 0.0

    def is_full(self, draft: str, text: str) -> bool:
        shown = int(self.share * len(text.split("\n"))) - SPARE_ROWS
        return len(draft.split("\n")) >= max(self.rows, shown)


@frozen
class Screen:
    state: State
    draft: str = ""
    queued: str = ""  # prompts that it will start when its turn has ended
    partial: bool = False  # the screen shows only a part of the draft
    setup: bool = False  # a dialog before its first prompt (trust, keys): most keys answer it
    blank: bool = False
    stashed: bool = False  # a draft was stashed and is not visible
    background: bool = False  # a program of it runs in the background: its exit command would ask
    limit: str | None = None  # when a limit ends; empty if the screen does not show it
    armed: bool = field(default=False, compare=False)  # the first of two keys was heard
    deaf: bool = field(default=False, compare=False)  # a dialog that only an answer closes
    asks: str = field(default_factory=str, compare=False)  # the question of a dialog, in one line
    view: str = field(default_factory=str, compare=False)  # a menu or view that hides the input


def read_screen(
    text: str,
    patterns: Mapping[State, re.Pattern[str]],
    marks: Mapping[str, re.Pattern[str]] | None = None,
    tall: Tall | None = None,
) -> Screen:
    """Read the state and the draft, which a busy agent may have, too. `marks`: the patterns of what
    else a screen may show, by the words of MARKS."""
    marks = marks or {}
    styled = text
    text = unstyled(text, marks.get("suggested"))
    if not text.strip():
        return Screen(State.UNKNOWN, blank=True)
    live = live_region(text, marks.get("live"), marks.get("edge"))
    live_start = _live_start(text, marks.get("live"))
    if _shows(marks.get("setup"), live or text):
        return Screen(State.DIALOG, setup=True, asks=_question(live or text))
    if not live:
        return Screen(State.UNKNOWN)
    limit = _limit(marks.get("limited"), text, live_start)
    width = max(len(line) for line in (live if "edge" in marks else text).split("\n"))
    splits_words = "split" in marks
    typed = _search(patterns.get(State.DRAFT), live)
    draft = _typed_draft(typed, "draft", live, width, splits_words)
    partial = bool(draft) and (
        _shows(marks.get("shortened"), draft)
        or _shows(marks.get("cut"), live)
        or (tall is not None and tall.is_full(_draft_as_shown(typed), text))
    )
    if typed:
        more = None
    else:
        more = _search(marks.get("scrolled"), live)
    around = _without_typed(live, typed or more)
    queued = _queued(marks.get("queued"), live)
    stashed = _shows(marks.get("stashed"), live)
    for state in RISKIEST_FIRST:
        if _shows(patterns.get(state), around if state in UNDER_WAY else live):
            if state in UNDER_WAY and not queued:  # one that is missed would begin after a key
                queued = _queued(marks.get("queued"), text)
            asks = ""
            if state is State.DIALOG:
                above = text[:live_start]
                asks = _question(around, above)
                if "words" in marks:  # what looks like an input is a field of the dialog
                    words = _search(marks["words"], _below(styled, above.count("\n")))
                    draft = _typed_words(words, width, splits_words)
                    partial = words is not None and words.groupdict().get("part") is not None
            armed = _shows(marks.get("armed"), around)
            deaf = _shows(marks.get("deaf"), around)
            view = _view(marks.get("view"), around)
            return Screen(
                state,
                draft,
                queued,
                partial,
                stashed=stashed,
                limit=limit,
                armed=armed,
                deaf=deaf,
                asks=asks,
                view=view,
            )
    scrolled = _typed_draft(more, "scrolled", live, width, splits_words)
    if scrolled:
        return Screen(State.DRAFT, scrolled, queued, partial=True, stashed=stashed, limit=limit)
    view = _view(marks.get("view"), live)
    return Screen(State.UNKNOWN, "", queued, stashed=stashed, limit=limit, view=view)


def live_region(
    text: str, live: re.Pattern[str] | None, edge: re.Pattern[str] | None = None
) -> str:
    """Cut the live region out of the screen: the input or the dialog at the bottom, with what
    belongs to it. The conversation above it may show anything. Empty if there is none; without a
    pattern it is the last block. `edge`: its end is the right edge, beside which a sidebar is."""
    match = (live or LAST_BLOCK).search(text)
    if match is None:
        return ""
    region = match.group()
    drawn = edge.search(region) if edge else None
    if drawn is None:
        return region
    width = len(drawn.group())
    return "\n".join(line[:width].rstrip(" ") for line in region.split("\n"))


def _live_start(text: str, live: re.Pattern[str] | None) -> int:
    match = (live or LAST_BLOCK).search(text)
    return len(text) if match is None else match.start()


def _without_typed(live: str, typed: re.Match[str] | None) -> str:
    """Return the live region without what a person typed into it, which may look like anything."""
    if typed is None:
        return live
    groups = typed.groupdict()
    named = [name for name in ("draft", "scrolled") if groups.get(name) is not None]
    if groups and not named:
        return live  # an empty input
    group: str | int = named[0] if named else 0
    return live[: typed.start(group)] + live[typed.end(group) :]


def _question(live: str, above: str = "") -> str:
    """Return the question of a dialog in one line: its first question, else its first words. Where
    the live region begins with the options, the question is the last one right above them."""
    first = next((line for line in live.split("\n") if WORD.search(line)), "")
    if OPTION.match(first):
        last = above.rstrip().split("\n")[-QUESTION_ROWS:]
        found = [QUESTION.match(line.strip(FRAMES)) for line in last]
        return next((match.group() for match in reversed(found) if match), "")
    lines = [line.strip(FRAMES) for line in live.split("\n")]
    for before, line in pairwise(["", *lines]):
        asked = QUESTION.match(line)
        if asked is not None:
            wrapped = bool(before) and line[0].islower()
            if wrapped:
                return f"{before} {asked.group()}"
            return asked.group()
    return next((line for line in lines if WORD.search(line)), "")


def _below(text: str, lines: int) -> str:
    return "\n".join(text.split("\n")[lines:])


def _typed_words(match: re.Match[str] | None, width: int, splits_words: bool) -> str:
    """Return the words that were typed into a dialog, from a screen with styles: often only the
    cursor or its style tells them from an option or a placeholder."""
    if match is None:
        return ""
    start = match.start("words")
    row = match.string.rfind("\n", 0, start) + 1
    before = STYLES.sub("", match.string[row:start])
    shown = [line.rstrip() for line in STYLES.sub("", match.group("words")).split("\n")]
    return _as_typed("\n".join(shown), before, width, splits_words).strip()


def unstyled(text: str, suggested: re.Pattern[str] | None = None) -> str:
    """Return the screen's text without styles, and without the placeholder or suggestion in an
    empty input, which only its style tells from typed text."""
    if "\x1b" not in text:
        return text
    match = suggested.search(text) if suggested else None
    if match is not None:
        text = text[: match.start("suggested")] + text[match.end("suggested") :]
    return "\n".join(line.rstrip(" ") for line in STYLES.sub("", text).split("\n"))


def _draft_as_shown(match: re.Match[str] | None) -> str:
    """Return the draft as shown, line by line."""
    if match:
        return match.groupdict().get("draft") or match.group(0)
    return ""


def _search(pattern: re.Pattern[str] | None, text: str) -> re.Match[str] | None:
    return pattern.search(text) if pattern else None


def _shows(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.search(text) is not None


def _view(pattern: re.Pattern[str] | None, text: str) -> str:
    """Return what a menu or a view shows: it changes when a key is heard."""
    match = _search(pattern, text)
    return match.group() if match else ""


def _limit(pattern: re.Pattern[str] | None, text: str, live_start: int) -> str | None:
    """Return when a limit ends. It is told in the live region or right above it: what stands in the
    conversation is over, or somebody's words."""
    found = pattern.finditer(text) if pattern else ()
    match = next((each for each in found if each.end() > live_start), None)
    if match is None:
        return None
    return (match.groupdict().get("until") or "").strip()


def _queued(pattern: re.Pattern[str] | None, text: str) -> str:
    """Return the queued prompts, without the frame or sign before each line."""
    match = pattern.search(text) if pattern else None
    if match is None:
        return ""
    prompts = match.groupdict().get("queued") or match.group(0)
    lines = [line.strip(FRAME_SIGNS) for line in prompts.strip("\n").split("\n")]
    return "\n".join(lines).strip("\n")


def _typed_draft(
    match: re.Match[str] | None, group: str, text: str, width: int, splits_words: bool
) -> str:
    """Return the draft as it was typed: without the indent, frame or prompt before its later lines,
    with wrapped lines rejoined, and a shell command with its sign. `width`: of the screen.
    `splits_words`: lines wrap inside words."""
    if match is None:
        return ""
    groups = match.groupdict()
    draft = groups.get(group)
    if draft is None:
        return "" if group in groups else match.group(0)
    start = match.start(group)
    prompt = text[text.rfind("\n", 0, start) + 1 : start]
    typed = _as_typed(draft, prompt, width, splits_words)
    return f"!{typed}" if groups.get("shell") else typed


def _as_typed(draft: str, prompt: str, width: int, splits_words: bool) -> str:
    if splits_words:
        draft = _rejoined(draft, prompt, width)
    if prompt:
        if prompt.strip():
            bare = f"{re.escape(prompt.rstrip())}$|"
        else:
            bare = ""
        before = rf"(?m)\n(?:{re.escape(prompt)}|{bare}[^\w\n]{{1,{len(prompt)}}})"
        draft = re.sub(before, "\n", draft)
    if "│" in prompt:
        draft = RIGHT_FRAME.sub("", draft)
    return draft if splits_words else _unwrapped(draft, width)


def _rejoined(draft: str, prompt: str, room: int) -> str:
    """Rejoin lines wrapped inside words: a line as wide as the screen continues in the next one; a
    line one column shorter ended with a space."""
    first, *rest = draft.split("\n")
    joined = first
    width = len(prompt) + len(first)
    for line in rest:
        again = prompt.strip() and line.startswith(prompt.rstrip())
        between = {0: "", 1: " "}.get(max(room - width, 0), "\n")
        joined += between + (line[len(prompt) :] if again else line)
        width = len(line)
    return joined


def _unwrapped(draft: str, room: int) -> str:
    """Rejoin lines wrapped between words: a line was wrapped if the next word did not fit."""
    lines = draft.split("\n")
    width = max(len(line) for line in lines)
    if width < WRAPS_FROM * room:
        return draft
    joined = lines[:1]
    for before, line in pairwise(lines):
        rest = line.removeprefix(" ")  # some agents leave the space before the wrapped word
        word = rest.partition(" ")[0]
        if before and word and len(before) + 1 + len(word) > width:
            joined[-1] += " " + rest
        else:
            joined.append(line)
    return "\n".join(joined)
