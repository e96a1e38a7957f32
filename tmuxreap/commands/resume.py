"""`resume`: continues a captured conversation, in its folder and with its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tmuxreap.agents.conversations.background import Forked
from tmuxreap.agents.conversations.command_lines import resume_line, resume_words
from tmuxreap.agents.conversations.find import Clues, with_path
from tmuxreap.agents.conversations.records import store_of
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import State
from tmuxreap.commands.reconcile.reconcile import settle
from tmuxreap.commands.starting.breaker import MAX_FAILURES, Breaker, Halt
from tmuxreap.commands.starting.launch import existing_folder, exists, launch, make_way
from tmuxreap.commands.starting.row import CONFIRM_S, Launch, failed_launch
from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.answers import Launched
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Live, Outcome, Row, Terminal
from tmuxreap.core.results import Item, Result, problem_of
from tmuxreap.core.text import plain
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.sets import Members, members_of
from tmuxreap.registry.rows import ended_epoch, recorded_conversation
from tmuxreap.registry.targets import Chosen, Wanted
from tmuxreap.registry.transitions import MODES, Event, wants_restart
from tmuxreap.sessions.caller import caller_facts
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import Known, store_environment
from tmuxreap.sessions.look import sight_of, sights_of
from tmuxreap.sessions.reverted import newer_rows

DAY_S = 86400.0


@frozen
class ResumeRequest:
    targets: tuple[str, ...]
    print_only: bool = False
    confirm_s: float = CONFIRM_S
    dry_run: bool = False
    lost: Lost | None = None
    set_name: str | None = None  # only what was ended with this set, or the newest for `last`
    max_failures: int = MAX_FAILURES


@frozen
class Lost:
    """Selects sessions found dead in the last `since_s`; by default since boot, at least 24 h."""

    since_s: float | None = None
    at_once: int = 4
    pace_s: float = 2.0


def run(context: Context, request: ResumeRequest) -> Result:
    if request.lost is not None:
        settle(context, dry_run=request.dry_run)
    look = context.registry.look()
    wanted = request.set_name
    if wanted is None:
        members = None
    else:
        members = members_of(context.books, look, wanted)
    targets = request.targets or (("all",) if request.lost or members else ())
    chosen = choose_rows(context, look, targets, Wanted.ENDED)
    if members is not None:
        chosen = _of_set(context, chosen, members)
    lost = request.lost
    rows = []
    for row in chosen.rows:
        if lost is None or _was_lost(context, row, lost):
            rows.append(row)
    items, halt = _resumed_in_turn(context, rows, request, several=chosen.sweeping)
    items += not_chosen(look, chosen, failed_launch)
    name = None if members is None else members.name
    more = {"set": name, "not_tried": [] if halt is None else halt.not_tried}
    failure = None if halt is None else halt.failure
    return context.result("resume", items, failure=failure, more=more)


def _of_set(context: Context, chosen: Chosen, members: Members) -> Chosen:
    """Keep what is of the set; name those of it that run again."""
    if members.running:
        names = ", ".join(members.running)
        context.warnings.append(f"session_exists: {names} of the set {members.name} run again")
    rows = tuple(row for row in chosen.rows if row.name in members.ended)
    bad = tuple(row for row in chosen.bad if row.name in members.ended)
    return replace(chosen, rows=rows, bad=bad)


def _resumed_in_turn(
    context: Context, rows: Sequence[Row], request: ResumeRequest, *, several: bool
) -> tuple[list[Item], Halt | None]:
    """Resume the rows, unless too many fail: then what comes after them is left alone."""
    starts = not (request.dry_run or request.print_only)
    breaker = Breaker(context, request.max_failures if several and starts else 0)
    items: list[Item] = []
    for index, row in enumerate(rows):
        halt = breaker.halt([one.name for one in rows[index:]], request.set_name)
        if halt is not None:
            return breaker.told_once(items), halt
        # a few at a time: thirty agents starting at once would slow each other down
        lost = request.lost
        if lost is not None and starts and index and index % lost.at_once == 0:
            context.processes.wait((), lost.pace_s)
        items.append(_resumed(context, row, request))
        breaker.note(items[-1])
    return items, None


def _was_lost(context: Context, row: Row, lost: Lost) -> bool:
    ended_at = ended_epoch(row)
    if lost.since_s is None:
        longest_s = max(DAY_S, context.clock.uptime())
    else:
        longest_s = lost.since_s
    is_lost = row.status.ended and row.termination_mode == MODES[Event.FOUND_DEAD]
    return is_lost and ended_at is not None and context.clock.now() - ended_at <= longest_s


def _resumed(context: Context, row: Row, request: ResumeRequest) -> Item:
    try:
        return _resume(context, row, request)
    except Failure as failure:
        return Launched(row.name, status=row.status, error=problem_of(failure))


def _resume(context: Context, row: Row, request: ResumeRequest) -> Item:
    sight = sight_of(context, row)
    newer = newer_rows(context, [(row, sight)]).get(row.name)
    if newer is not None:
        row = newer.row
        sight = newer.sight
    if exists(row, sight):
        hint = f"attach to it, or stop it first: {command('stop', row.name)}"
        raise could_not("resume", row.name, "its session is alive", hint, Code.SESSION_EXISTS)
    profile, conversation, environment = resumable(context, row)
    words = resume_words(profile, row.start_command, conversation)
    launched = Launched(row.name, command=resume_line(words, environment), cwd=row.pane.cwd)
    if request.print_only:
        return launched
    spec = replace(take_up(context, row), confirm_s=request.confirm_s)
    make_way(context, context.registry.look(), row, spec, replace=False)
    if request.dry_run:
        return replace(launched, outcome=Outcome.PLANNED)
    if wants_restart(row):
        context.restarts.cancel(row, "resume", partial(caller_facts, context))
    resumed = launch(context, spec)
    if _was_asking(context, row):
        context.warnings.append(
            f"dialog_open: {row.name} was ended while it waited for an answer, and may ask again:"
            " look before you type"
        )
    return resumed


def take_up(context: Context, row: Row) -> Launch:
    """Plan how the row's conversation continues; Failure if it has none or it is in use."""
    profile, conversation, environment = resumable(context, row)
    _not_in_use(context, row, profile, conversation)
    if row.terminal is Terminal.NONE:
        terminal = Terminal.NONE
    else:
        terminal = Terminal.TMUX
    return Launch(
        name=row.name,
        agent=profile.name,
        words=tuple(resume_words(profile, row.start_command, conversation)),
        start_command=None,
        cwd=existing_folder(row.name, row.pane.cwd or str(context.settings.cwd)),
        server=row.tmux_server,
        socket=context.servers.socket(row.tmux_server),
        event=Event.RESUMED,
        conversation=conversation,
        environment=environment,
        terminal=terminal,
    )


def _was_asking(context: Context, row: Row) -> bool:
    """Tell whether it was ended while a dialog was open."""
    ends = (Outcome.STOPPED.value, Outcome.KILLED.value)
    endings = []
    for event in context.books.events([row.name], None):
        if event.kind in ends:
            endings.append(event.data)
    return bool(endings) and endings[-1].get("state") == State.DIALOG.value


def resumable(context: Context, row: Row) -> tuple[Profile, str, Mapping[str, str]]:
    """Return the conversation that can be resumed, or raise a Failure with the reason."""
    agent = context.agents.of(row)
    context.profiles.check(agent)
    profile = context.profiles.of(agent)
    conversation = recorded_conversation(row, agent)
    if profile is None or not profile.resume:
        reason = f"no resume command is known for {agent or 'an unknown agent'}"
    elif conversation is None:
        reason = "no conversation was captured"
    elif row.termination_mode == "purge":
        reason = "its conversation was purged"
    else:
        known = _known(context, row, profile, conversation)
        _warn_of_fork(context, row, known)
        if known.is_resumable and known.conversation.id is not None:
            return profile, known.conversation.id, store_environment(profile, row.store)
        if known.forked is not None:
            raise _moved(row, known.forked)
        reason = f"the conversation {conversation} is not on disk, or has no message"
    hint = f"start a new conversation: {command('start', row.name)}"
    raise could_not("resume", row.name, reason, hint, Code.NOT_RESUMABLE)


def _known(context: Context, row: Row, profile: Profile, conversation: str) -> Known:
    """Find the recorded conversation on disk, under the ID that its agent continued it as."""
    store = store_of(profile, None, row.store, context.settings.home)
    found = with_path(profile, store, conversation, None)
    return context.finder.followed(profile, Known(found, Clues(store=store)))


def _warn_of_fork(context: Context, row: Row, known: Known) -> None:
    if known.forked is None or not known.forked.is_on_disk:
        return
    warning = plain(known.forked.warning(f"{row.name}'s"))
    if warning not in context.warnings:
        context.warnings.append(warning)


def _moved(row: Row, forked: Forked) -> Failure:
    """Return the failure for a conversation of which only an older copy is on disk."""
    reason = (
        f"its agent continued {forked.before} as {forked.after}, which is not on disk yet; it runs"
        f" in {forked.jobs[0].where}"
    )
    return could_not("resume", row.name, reason, forked.jobs[0].way_out, Code.NOT_RESUMABLE)


def _not_in_use(context: Context, row: Row, profile: Profile, conversation: str) -> None:
    """Check that no live agent, registered or not, uses this conversation."""
    others = [
        other
        for other in context.registry.look().usable
        if other.name != row.name
        and not other.status.ended
        and recorded_conversation(other, context.agents.of(other)) == conversation
        and (not profile.is_per_folder or other.pane.cwd == row.pane.cwd)
    ]
    store = store_of(profile, None, row.store, context.settings.home)
    for other, sight in zip(others, sights_of(context, others), strict=True):
        if sight.live in (Live.ALIVE, Live.UNKNOWN):
            raise _in_use(row, other.name, f"stop it first: {command('stop', other.name)}")
    for job in context.finder.sessions_in(_known(context, row, profile, conversation), profile):
        raise _in_use(row, job.where, job.way_out)
    process = context.finder.agent_in_conversation(profile, conversation, store)
    if process is not None:
        hint = f"leave that one first, or record its session: {command('adopt', row.name)}"
        raise _in_use(row, f"{profile.name} ({process.pid})", hint)


def _in_use(row: Row, who: str, hint: str) -> Failure:
    reason = f"{who} is in the same conversation"
    return could_not("resume", row.name, reason, hint, Code.CONVERSATION_IN_USE)
