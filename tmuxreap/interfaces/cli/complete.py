"""Owns what a shell is offered on TAB: sessions with their last known state, tags, agents, hosts.

Typer asks for the words and prints them. Reads the registry and the ledger like any command, looks
at nothing else, never contacts a host, and offers nothing where it cannot tell."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import typer
from typer._click.shell_completion import CompletionItem, add_completion_class
from typer._completion_classes import BashComplete, FishComplete, ZshComplete

from tmuxreap.agents.hooks.events import FRESH_S
from tmuxreap.app import real_app
from tmuxreap.core.times import short_duration
from tmuxreap.core.verbs import CALLED, RUNNING
from tmuxreap.ledger.schema import NEWEST_STATES
from tmuxreap.registry.targets import LAST
from tmuxreap.system.environment import Settings

if TYPE_CHECKING:
    from tmuxreap.core.model import Row
    from tmuxreap.hosts.file import Host
    from tmuxreap.sessions.context import Context

Offer: TypeAlias = tuple[str, str]  # a word, and a hint beside it
ASKING = "_TMUXREAP_COMPLETE"  # in the environment, by typer's scripts
SPECIAL = re.compile(r"[^\w@%+=:,./*-]")  # to a shell, in a name
EVALUATED = "\\\"'`$"
BREAKS = ":="  # bash takes a word apart at these, and replaces what follows the last
# The agents' own last reports, and what a `watch` saw; events before the last start are about an
# earlier agent.
REPORTS = """SELECT name, state, max(at) FROM heartbeats
    WHERE typeof(at) = 'real' AND state <> '' GROUP BY name"""


def _offered(find: Callable[[typer.Context], Iterable[Offer]]) -> Callable[..., list[Offer]]:
    """Turn a source of words into what typer calls: only what begins with the word so far, each
    once, and nothing on any failure, as an error would garble the line."""

    @wraps(find)
    def offers(ctx: typer.Context, incomplete: str) -> list[Offer]:
        start = incomplete.lstrip("'\"")
        given = _given(ctx)
        try:
            found = dict(find(ctx))
        except Exception:  # noqa: BLE001 - whatever it is, the line must not be garbled
            return []
        fitting = []
        for word in found:
            if word.startswith(start) and word not in given:
                fitting.append(word)
        return [(word, _plain(found[word])) for word in fitting if _plain(word) == word]

    del offers.__wrapped__  # typer reads the parameters of this one
    return offers


def _plain(text: str) -> str:
    """Drop what a shell could take for more than text: zsh evaluates what it is offered, and names
    may come from a file that somebody else wrote."""
    shown = (char if char.isprintable() else " " for char in text)
    return "".join(char for char in shown if char not in EVALUATED)


def _given(ctx: typer.Context) -> set[str]:
    """Return the targets that stand on the line already."""
    return {*(ctx.params.get("targets") or ()), *(ctx.params.get("names") or ())}


@_offered
def targets(ctx: typer.Context) -> Iterator[Offer]:
    with closing(_context(ctx)) as context:
        rows = _applicable(ctx, context)
        yield from _named(context, rows)
        yield from _counted("tag:", _tags_of(rows))
        yield from _counted("agent:", (row.agent for row in rows))
        if not _given(ctx):
            yield from _counted("", ["all"] * len(rows))
        yield from _elsewhere(ctx, context)


@_offered
def names(ctx: typer.Context) -> Iterator[Offer]:
    with closing(_context(ctx)) as context:
        yield from _named(context, _applicable(ctx, context))


@_offered
def tags(ctx: typer.Context) -> Iterator[Offer]:
    with closing(_context(ctx)) as context:
        yield from _counted("", _tags_of(_rows(context)))


@_offered
def sets(ctx: typer.Context) -> Iterator[Offer]:
    from tmuxreap.commands.targets import known_sets

    with closing(_context(ctx)) as context:
        if ctx.info_name == "resume":
            yield LAST, "of the newest stop or kill"
        yield from _counted("", known_sets(context.books))


@_offered
def servers(ctx: typer.Context) -> Iterator[Offer]:
    with closing(_context(ctx)) as context:
        yield from _counted("", (row.tmux_server for row in _rows(context)))


@_offered
def agents(ctx: typer.Context) -> Iterator[Offer]:
    with closing(_context(ctx)) as context:
        for name, profile in context.profiles.agents.items():
            yield name, profile.about or ""


@_offered
def hosts(ctx: typer.Context) -> Iterator[Offer]:
    from tmuxreap.hosts.file import read_hosts

    with closing(_context(ctx)) as context:
        found = read_hosts(context.settings).found.values()
    for host in found:
        yield host.name, host.ssh or " ".join(host.via)
    yield from _counted("@", _tags_of(found), "host")
    yield from (("all", "every host"), ("local", "this machine"))


@_offered
def files(ctx: typer.Context) -> Iterator[Offer]:
    """Offer nothing: the shell then completes files."""
    return iter(())


def words(*known: str) -> Callable[..., list[Offer]]:
    """Offer these words."""

    @_offered
    def offers(ctx: typer.Context) -> Iterator[Offer]:
        return ((word, "") for word in known)

    return offers


def _context(ctx: typer.Context) -> Context:
    before = None
    if ctx.parent:
        before = ctx.parent.params.get("registry")
    return real_app(Settings.from_environment(), ctx.params.get("registry") or before)


def _rows(context: Context) -> Sequence[Row]:
    return context.registry.look().usable


def _tags_of(several: Iterable[Row | Host]) -> Iterator[str]:
    for one in several:
        yield from one.tags


def _applicable(ctx: typer.Context, context: Context) -> list[Row]:
    """Return the rows that the verb can apply to; a purge applies to all."""
    verb = CALLED.get(ctx.info_name or "")
    if verb is None or ctx.params.get("purge"):
        wanted = None
    else:
        wanted = verb.targets
    found: list[Row] = []
    for row in _rows(context):
        if wanted is None or row.status.value in wanted:
            found.append(row)
    return found


def _named(context: Context, rows: Sequence[Row]) -> Iterator[Offer]:
    if any(row.status.value in RUNNING for row in rows):
        states = _states(context)
    else:
        states = {}
    for row in rows:
        if row.status.value in RUNNING:
            state = states.get(row.name, "")
        else:
            state = ""
        facts = (row.status.value, row.agent, state, "resumable" if row.resumable else "")
        yield row.name, ", ".join(fact for fact in facts if fact)


def _states(context: Context) -> dict[str, str]:
    """Map names to states, as in a hint: `waiting`, `working 5m ago`."""
    now = time.time()
    last = {name: (state, at) for name, state, at in context.books.rows(REPORTS)}
    for name, kind, state, at in context.books.rows(NEWEST_STATES):
        if at > last.get(name, ("", 0.0))[1]:
            last[name] = (state if kind == "state" else "", at)
    words = {}
    for name, (state, at) in last.items():
        if state and now - at < FRESH_S:
            words[name] = state
        elif state:
            words[name] = f"{state} {short_duration(now - at)} ago"
    return words


def _counted(prefix: str, values: Iterable[str | None], what: str = "session") -> Iterator[Offer]:
    """Offer each value with the number of those that have it."""
    for value, number in Counter(values).items():
        if value:
            yield prefix + value, f"{number} {what}{'s' * (number != 1)}"


def _elsewhere(ctx: typer.Context, context: Context) -> Iterator[Offer]:
    """Offer what other hosts reported within the last minute."""
    verb = CALLED.get(ctx.info_name or "")
    if verb is None or not verb.on_hosts:
        return
    runtime = context.settings.environ.get("XDG_RUNTIME_DIR", "")
    if not runtime.startswith("/") or not Path(runtime, "tmuxreap").is_dir():
        return
    from tmuxreap.hosts.file import FILE, remembered

    for target, status in remembered(Path(runtime, "tmuxreap", FILE), time.time()):
        if verb.targets is None or status in verb.targets:
            yield target, status


class OurBash(BashComplete):
    """Completion in bash, which takes `tag:night` apart into three words."""

    _cut = ""  # of the word, what bash keeps itself

    def get_completion_args(self) -> tuple[list[str], str]:
        before, current = super().get_completion_args()
        line: list[str] = []
        is_joined = False
        for word in [*before, current]:
            is_break = word != "" and word.strip(BREAKS) == ""
            if line and (is_joined or is_break):
                line[-1] += word
            else:
                line.append(word)
            is_joined = is_break
        whole = line.pop()
        self._cut = whole[: max(whole.rfind(mark) for mark in BREAKS) + 1]
        return line, whole

    def format_completion(self, item: CompletionItem) -> str:
        return SPECIAL.sub(r"\\\g<0>", item.value.removeprefix(self._cut))


class OurZsh(ZshComplete):
    """Completion in zsh, without rich for the hints: its import takes longer than all the rest."""

    def format_completion(self, item: CompletionItem) -> str:
        word = super().format_completion(CompletionItem(item.value))
        hint = _plain(item.help or "").replace(":", r"\\:")
        return f'{word}:"{hint}"' if hint else word


class OurFish(FishComplete):
    """Completion in fish, likewise."""

    def format_completion(self, item: CompletionItem) -> str:
        if item.help:
            return f"{item.value}\t{_plain(item.help)}"
        return str(item.value)


def use_our_shells() -> None:
    """Let the shells be answered by these, after typer has registered its own."""
    for kind in (OurBash, OurZsh, OurFish):
        add_completion_class(kind, kind.name)


def line_of_shell() -> list[str]:
    """Return the words that a shell wants to complete; none if it is not asking."""
    environ = Settings.from_environment().environ
    line = environ.get("COMP_WORDS") or environ.get("_TYPER_COMPLETE_ARGS") or ""
    return line.split(" ") if ASKING in environ else []
