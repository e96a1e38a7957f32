"""The popup's keys in one table: the source of its bindings, footer line and help."""

from __future__ import annotations

from tmuxreap.core.values import frozen


@frozen
class Key:
    """One key: `pressed` is the toolkit's name, `shown` the displayed one. Keys of the least
    `worth` leave a narrow line first."""

    pressed: str
    shown: str
    action: str
    word: str
    what: str
    worth: int = 0


KEYS = (
    Key("enter", "⏎", "jump", "Jump", "go there: the tmux client switches to its pane", 6),
    Key("s", "s", "end('stop')", "Stop", "stop it; its conversation is saved", 8),
    Key("x", "x", "end('kill')", "Kill", "kill it; its conversation is saved first", 5),
    Key("r", "r", "resume", "Resume", "resume the conversation of a stopped one", 7),
    Key("space", "spc", "mark", "Mark", "mark it, for the keys above", 2),
    Key("a", "a", "mark_all", "All", "mark all that run, or none", 1),
    Key("n", "n", "new", "New", "start an agent", 3),
    Key("plus", "+", "adopt", "Adopt", "register an agent that is not registered", 3),
    Key("slash", "/", "filter", "Filter", "show only names, tags, agents, states with this", 4),
    Key("o", "o", "sort", "Sort", "another order: attention, name, idle, memory, agent", 0),
    Key("e", "e", "fold", "Ended", "show ended sessions, or fold them away", 0),
    Key(
        "h", "h", "hosts", "Hosts", "show sessions of other hosts too, or of this machine alone", 0
    ),
    Key("v", "v", "turn", "View", "the screen alone, or the list again", 2),
    Key("question_mark", "?", "help", "Help", "this page", 9),
    Key("q,escape", "q", "leave", "Close", "close; what was begun is finished first", 10),
)
MOVING = (("j k ↑ ↓", "move"), ("click", "choose; again: jump"))


def fitting(width: int) -> tuple[Key, ...]:
    """Return the keys that fit into a line, in table order; those of most worth are kept."""
    kept: list[Key] = []
    left = width
    for key in sorted(KEYS, key=lambda one: -one.worth):
        needed = len(key.shown) + len(key.word) + 3
        if needed > left:
            break
        kept.append(key)
        left -= needed
    return tuple(key for key in KEYS if key in kept)


def line(width: int) -> str:
    """Return the footer line, with an action for a click on each word."""
    return "  ".join(
        f"[@click=app.{key.action}][b]{key.shown}[/b] {key.word}[/]" for key in fitting(width)
    )
