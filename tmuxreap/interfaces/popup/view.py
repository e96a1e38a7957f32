"""What the popup shows, as text and as the user's choices: cells, receipts and questions, the table
of keys, the order and the filter. Knows no widgets. Never shows external text unsanitized: a name
may contain markup and escape sequences."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from rich.text import Text

from tmuxreap.core.answers import Session
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.model import BY_ATTENTION, AgentState, EndVerb, Live
from tmuxreap.core.results import Item, Problem, RemoteResult, Result, local
from tmuxreap.core.text import Style, cut_middle, plain, plain_value
from tmuxreap.core.text import width as cells_of
from tmuxreap.core.times import short_duration
from tmuxreap.core.values import frozen, replace
from tmuxreap.interfaces.text.receipt import RUNGS
from tmuxreap.interfaces.text.report import lines, to_resume
from tmuxreap.interfaces.text.table import totals

FILE = Path("tmuxreap") / "popup.json"
# Sessions waiting for a person first, then those that differ from the registry (None).
ATTENTION = (*BY_ATTENTION[:2], None, *BY_ATTENTION[2:])
SORTS: dict[str, Callable[[Session], object]] = {
    "attention": lambda one: (_attention(one), one.name),
    "name": lambda one: one.name,
    "idle": lambda one: (-(one.idle_s or 0), one.name),
    "memory": lambda one: (-one.memory_mb, one.name),
    "agent": lambda one: (one.agent or "", one.name),
}


@frozen
class Choices:
    sort: str = "attention"
    ended: bool = False
    only: str = ""
    hosts: bool = False

    def next_sort(self) -> Choices:
        names = [*SORTS]
        return replace(self, sort=names[(names.index(self.sort) + 1) % len(names)])


def arranged(
    sessions: Sequence[Session], choices: Choices, kept: Container[str] = ()
) -> list[Session]:
    """Return the visible sessions in order, ended ones last. `kept`: ended sessions that stay
    visible, because the popup has just acted on them."""
    shown = []
    for one in sessions:
        if matches(one, choices.only) and (
            choices.ended or choices.only or not one.ended or one.drift or one.name in kept
        ):
            shown.append(one)
    shown.sort(key=SORTS[choices.sort])  # type: ignore[arg-type]
    return sorted(shown, key=lambda one: one.ended and one.drift is None)


def matches(one: Session, words: str) -> bool:
    """Tell whether the row's text contains all of the words."""
    facts = [one.name, one.agent or "", str(one.status), one.state or "", *one.tags]
    text = plain(" ".join([*facts, one.drift or ""])).lower()
    return all(word in text for word in words.lower().split())


def _attention(one: Session) -> int:
    return ATTENTION.index(None if one.drift is not None else one.state)


def choices_path(environ: Mapping[str, str], home: Path | None) -> Path | None:
    """Return the file of the choices, below `$XDG_STATE_HOME` or HOME; None if neither is set."""
    given = environ.get("XDG_STATE_HOME", "")
    if given.startswith("/"):
        return Path(given) / FILE
    return home / ".local" / "state" / FILE if home else None


def load_choices(path: Path | None) -> Choices:
    try:
        if path:
            data = json.loads(path.read_text(encoding="utf-8"))
        else:
            data = {}
    except (OSError, ValueError, RecursionError):
        return Choices()
    if not isinstance(data, dict) or str(data.get("sort")) not in SORTS:
        return Choices()
    ended, hosts = (data.get(flag) is True for flag in ("ended", "hosts"))
    return Choices(str(data["sort"]), ended, hosts=hosts)


def save_choices(path: Path | None, choices: Choices) -> None:
    """Save the choices; a file that cannot be written only loses them."""
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        words = {"sort": choices.sort, "ended": choices.ended, "hosts": choices.hosts}
        path.write_text(json.dumps(words) + "\n", encoding="utf-8")


@frozen
class PopupKey:
    """One key: `pressed` is the toolkit's name, `shown` the displayed one. Keys of the least
    `worth` leave a narrow line first."""

    pressed: str
    shown: str
    action: str
    word: str
    what: str
    worth: int = 0


KEYS = (
    PopupKey("enter", "⏎", "jump", "Jump", "go there: the tmux client switches to its pane", 6),
    PopupKey("s", "s", "end('stop')", "Stop", "stop it; its conversation is saved", 8),
    PopupKey("x", "x", "end('kill')", "Kill", "kill it; its conversation is saved first", 5),
    PopupKey("r", "r", "resume", "Resume", "resume the conversation of a stopped one", 7),
    PopupKey("R", "R", "end('restart')", "Restart", "restart it in its pane, draft and all", 2),
    PopupKey("space", "spc", "mark", "Mark", "mark it, for the keys above", 2),
    PopupKey("a", "a", "mark_all", "All", "mark all that run, or none", 1),
    PopupKey("n", "n", "new", "New", "start an agent", 3),
    PopupKey("plus", "+", "adopt", "Adopt", "register an agent that is not registered", 3),
    PopupKey(
        "slash", "/", "filter", "Filter", "show only names, tags, agents, states with this", 4
    ),
    PopupKey("o", "o", "sort", "Sort", "another order: attention, name, idle, memory, agent", 0),
    PopupKey("e", "e", "fold", "Ended", "show ended sessions, or fold them away", 0),
    PopupKey(
        "h", "h", "hosts", "Hosts", "show sessions of other hosts too, or of this machine alone", 0
    ),
    PopupKey("v", "v", "turn", "View", "the screen alone, or the list again", 2),
    PopupKey("question_mark", "?", "help", "Help", "this page", 9),
    PopupKey("q,escape", "q", "leave", "Close", "close; work in progress is finished first", 10),
)
MOVING = (("j k ↑ ↓", "move"), ("click", "choose; again: jump"))


def fitting(width: int) -> tuple[PopupKey, ...]:
    """Return the keys that fit into a line, in table order; those of most worth are kept."""
    kept: list[PopupKey] = []
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


MARKED = "*"
COLUMNS = ("", "NAME", "HOST", "STATE", "IDLE", "MEMORY", "AGENT", "TAGS")
WORTH = ("", "NAME", "STATE", "HOST", "AGENT", "IDLE", "MEMORY", "TAGS")  # dropped from the end
LEAST_CELLS = {
    "": 1,
    "NAME": 12,
    "HOST": 10,
    "STATE": 10,
    "IDLE": 7,
    "MEMORY": 7,
    "AGENT": 8,
    "TAGS": 12,
}
PADDING = 2  # per column
MOST_ROWS = 200  # a table of thousands is slow and unreadable
MORE_NAME = 8  # extra cells that a name gets before less important columns
NAME_CELLS = 24
DOING = {
    EndVerb.STOP: "stopping",
    EndVerb.KILL: "killing",
    EndVerb.RESTART: "restarting",
    None: "resuming",
}
COLORS: dict[str, str] = {Live.ALIVE: "green", Live.UNKNOWN: "yellow"}
STATE_COLOURS: dict[str, str] = {
    AgentState.WAITING.value: "bold reverse yellow",
    AgentState.LIMITED.value: "red",
    AgentState.WORKING.value: "green",
}
NAMES_ASKED = 8


def columns(width: int, *, tagged: bool, hosted: bool = False) -> tuple[str, ...]:
    """Return the columns that fit: all from 91 cells on; tags and hosts only if there are any."""
    kept: set[str] = set()
    left = width
    absent = {name for name, has in (("TAGS", tagged), ("HOST", hosted)) if not has}
    for name in (name for name in WORTH if name not in absent):
        left -= LEAST_CELLS[name] + PADDING
        if left < (MORE_NAME if name in WORTH[3:] else 0):
            break
        kept.add(name)
    return tuple(name for name in COLUMNS if name in kept)


def name_cells(names: Iterable[str], shown: Sequence[str], width: int) -> int:
    """Return the width for names that leaves room for the other columns."""
    others = sum(LEAST_CELLS[name] + PADDING for name in shown if name != "NAME")
    room = max(width - others - PADDING, LEAST_CELLS["NAME"])
    return min(max((cells_of(plain(name)) for name in names), default=room), room)


def label(one: Session, host: str, shown: Sequence[str]) -> str:
    """Return the name, with the host unless a column shows it."""
    if host and "HOST" in shown:
        return one.name.removesuffix(f"@{host}")
    return one.name


def cells(
    one: Session,
    *,
    marked: bool,
    progress: str | None,
    name: int = NAME_CELLS,
    label: str = "",
    host: str = "",
) -> dict[str, Text]:
    """Return the cells of a row, by column."""
    tags = cut_middle(plain(" ".join(one.tags)), LEAST_CELLS["TAGS"])
    return {
        "": Text(MARKED if marked else " ", style="bold"),
        "NAME": Text(cut_middle(plain(label or one.name), name), style="bold" if marked else ""),
        "HOST": Text(cut_middle(plain(host or "-"), LEAST_CELLS["HOST"])),
        "STATE": Text(progress, style="yellow") if progress else state(one),
        "IDLE": Text(_idle(one), justify="right"),
        "MEMORY": Text(f"{one.memory_mb:.0f} MB" if one.memory_mb else "-", justify="right"),
        "AGENT": Text(plain(one.agent or "-")[: LEAST_CELLS["AGENT"] + 4]),
        "TAGS": Text(tags),
    }


def _idle(one: Session) -> str:
    if one.idle_s is not None:
        return short_duration(one.idle_s)
    return "-"


def state(one: Session) -> Text:
    """Return the drift if there is one, the status of an ended row, else the agent's state or the
    session's liveness."""
    if one.drift is not None:
        return Text(one.drift.replace("_", " "), style="red")
    if one.ended:
        return Text(str(one.status), style="dim")
    if one.state is not None:
        return Text(one.state, style=STATE_COLOURS.get(one.state, ""))
    live = str(one.live)
    return Text(live.replace("_", " "), style=COLORS.get(live, "red"))


def step_text(verb: EndVerb | None, rung: tuple[Enum, float] | None, now: float) -> str:
    if rung is None:
        return f"{DOING[verb]} ..."
    return f"{RUNGS[rung[0].value].briefly} {max(0.0, now - rung[1]):.1f} s"


def host_messages(troubles: Sequence[Failure], waiting: int) -> list[str]:
    if waiting:
        asked = [f"asking {waiting} host{'s' if waiting > 1 else ''} ..."]
    else:
        asked = []
    return [*asked, *(one.message for one in troubles)]


def facts(one: Session) -> Text:
    asks = one.waiting_for and f"asks: {one.waiting_for}"
    conversation = one.conversation_id and f"conversation {one.conversation_id[:8]}"
    known = [asks, one.agent, one.cwd, conversation]
    return Text(plain(" · ".join(str(fact) for fact in known if fact)), style="dim")


def footer(
    shown: int, sessions: Sequence[Session], choices: Choices, hosts: Sequence[str] = ()
) -> Text:
    """Return the line below the table: host errors, totals, hidden sessions, and the order."""
    parts = []
    if choices.only:
        parts.append(f"{shown} of {len(sessions)} match {choices.only!r}")
    parts += [plain(one) for one in hosts]
    if len(sessions) > 1 and not choices.only:
        parts.append(totals([one for one in sessions if not one.ended]))
    if shown > MOST_ROWS:
        parts.append(f"the first {MOST_ROWS} of {shown} (/ filters)")
    hidden = len(sessions) - shown
    if hidden and not choices.only:
        parts.append(f"{hidden} ended (e shows them)")
    if choices.sort != Choices().sort:
        parts.append(f"by {choices.sort}")
    return Text(" · ".join(parts), style="dim")


def asked(sessions: Sequence[Session]) -> Text:
    """Return the question of the first session that waits for a person, and how many more wait."""
    waiting = [one for one in sessions if one.waiting_for]
    if not waiting:
        return Text("")
    more = ""
    if len(waiting) > 1:
        more = f" (and {len(waiting) - 1} more wait)"
    return Text(plain(f"{waiting[0].name} waits: {waiting[0].waiting_for}{more}"), style="yellow")


def help_page() -> Text:
    rows = [(key.shown, key.what) for key in KEYS]
    width = max(len(shown) for shown, _ in (*rows, *MOVING))
    keys = [f"{shown:<{width}}  {what}" for shown, what in (*MOVING, *rows)]
    return Text("\n".join([*keys, "", "s, x and r mean the marked ones, else the chosen one."]))


def screen(text: str, height: int) -> Text:
    """Return the end of the screen, where agents have their prompt."""
    kept = "\n".join(plain(text, keep="\n").split("\n")[-max(height, 1) :])
    return Text(kept)


def receipts(result: Result) -> dict[str, Text]:
    """Return by target what the verb prints about it."""
    by_target: dict[str, Text] = {}
    for item in result.results:
        alone = Result(result.command, result.registry, result.at, (plain_value(item),))
        texts = [Text.from_ansi(line) for line in lines(alone, Style(color=True))]
        if item.error is not None:
            texts += failure_lines(item.error)
        if isinstance(item, RemoteResult):
            target = item.target
        else:
            target = item.name
        by_target[target] = Text("\n").join(texts)
    return by_target


def failure_lines(failure: Failure | Problem) -> list[Text]:
    message = [Text(plain(failure.message), style="red")]
    if failure.hint:
        return [*message, Text(f"hint: {plain(failure.hint)}")]
    return message


def failure_text(failure: Failure) -> Text:
    return Text("\n").join(failure_lines(failure))


def did_not_attach(name: str, status: int, said: str) -> Text:
    reason = f"could not attach to {name}: {plain(said) or f'exit status {status}'}"
    hint = f"try it alone: {command('attach', name)}"
    return failure_text(Failure(Code.HOST_UNREACHABLE, reason, hint))


def summary(result: Result) -> Text:
    """Sum up all results in one line."""
    of_all = result.failure or next(iter(result.others), None)
    if of_all is not None:
        return failure_lines(of_all)[0]
    failures = []
    for item in result.results:
        if item.error is not None:
            failures.append(item.error)
    if failures:
        if len(failures) > 1:
            more = f" (and {len(failures) - 1} more)"
        else:
            more = ""
        return Text(f"{plain(failures[0].message)}{more}", style="red")
    if len(result.results) == 1:
        return Text(next(iter(receipts(result).values())).plain.split("\n")[0])
    counted = Counter(_came_of(local(item)) for item in result.results)
    again = to_resume(result)
    more = "" if again is None else f"; to resume them: {again}"
    return Text(", ".join(f"{many} {outcome}" for outcome, many in counted.items()) + more)


def _came_of(one: Item) -> str:
    return str(getattr(one, "outcome", None) or getattr(one, "status", None))


def question(verb: str, names: Sequence[str]) -> Text:
    shown = [f"  {cut_middle(plain(name), NAME_CELLS)}" for name in names[:NAMES_ASKED]]
    if len(names) > NAMES_ASKED:
        more = [f"  and {len(names) - NAMES_ASKED} more"]
    else:
        more = []
    return Text("\n".join([f"{verb} {len(names)} sessions?", *shown, *more]))
