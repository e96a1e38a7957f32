"""Finds all drift between registry, ledger and tmux by one look, and tells what of it is certain.
Never writes, and never judges a row that another verb changed during the look."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from tmuxreap.agents.conversations.find import Clues, locate
from tmuxreap.agents.profiles import LOCATORS
from tmuxreap.commands.reconcile.held import held_by
from tmuxreap.commands.starting.outside import process_of
from tmuxreap.core import answers
from tmuxreap.core.errors import command
from tmuxreap.core.model import (
    EndVerb,
    Live,
    Row,
    Server,
    ServerLook,
    ServerSession,
    Terminal,
    Unreachable,
)
from tmuxreap.core.results import Conversation
from tmuxreap.core.text import plain
from tmuxreap.core.values import frozen
from tmuxreap.ending.policy import Policy, recorded_policy
from tmuxreap.ledger.records import START, Intent, PaneOption
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.rows import conversation_field, recorded_conversation, wants_restart
from tmuxreap.registry.transitions import (
    EVENT_OF_VERB,
    Changes,
    End,
    RowEvent,
    Value,
    end_changes,
    life_changes,
)
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.elsewhere import rows_elsewhere
from tmuxreap.sessions.look import BANNER_OPTION, PAUSE_S, Newer, why_reverted
from tmuxreap.sessions.under_way import REBOOT
from tmuxreap.system.environment import MARK
from tmuxreap.system.processes.procfs import is_exiting

if TYPE_CHECKING:
    from tmuxreap.agents.conversations.background import Forked
    from tmuxreap.agents.conversations.jobs import Job
    from tmuxreap.sessions.conversation import Known


# Sources that follow the agent into another conversation; a launch or a command line does not.
FOLLOWING = frozenset(LOCATORS[: LOCATORS.index("exit-banner") + 1])


class DriftKind(Enum):
    DEAD = "dead"
    AGENT_GONE = "agent_gone"
    REPLACED = "replaced"
    REVIVED = "revived"
    UNREGISTERED = "unregistered"
    ID_CHANGED = "id_changed"
    MOVED = "moved"  # its agent continued its conversation in the background
    SURVIVORS = "survivors"
    REVERTED = "reverted"  # the registry went back to before a start or an end
    INTENT = "intent"  # an unfinished ending of a session that still exists


@frozen
class RowDrift:
    """One disagreement: evidence, changes to write, and the command that settles the rest."""

    name: str
    kind: DriftKind
    evidence: str
    changes: Changes | None = None
    intent: Intent | None = None  # of a dead owner: closed with this drift
    hint: str | None = None
    finish: Policy | None = None  # an ending to complete, with only remains left to end
    restore: tuple[PaneOption, ...] = ()  # what we changed on the user's panes, still in effect
    held: Row | None = None  # the agent's pane of a restart that was cut off, to be closed
    cause: str | None = None  # how the agent ended, as far as the kernel tells
    goodbye: bool | None = None  # its exit banner is shown; looked for if a restart may follow

    @property
    def answer(self) -> answers.Drift:
        """Return the public form."""
        return answers.Drift(
            name=self.name,
            drift=self.kind.value,
            evidence=self.evidence,
            settled=bool(self.finish) or self.changes is not None,
            hint=self.hint,
            cause=self.cause,
        )


def drifts_of(context: Context, row: Row, sight: Sight, intent: Intent | None) -> list[RowDrift]:
    """Compare a row with its session. `intent`: of an ending whose owner is dead."""
    if sight.live is Live.UNKNOWN:
        return []
    if row.status.ended:
        return _of_ended(context, row, sight, intent)
    if sight.live is Live.REPLACED:
        if sight.trouble:
            words = sight.trouble.message
        else:
            words = "another session has its name"
        return [RowDrift(row.name, DriftKind.REPLACED, words, hint=command("adopt", row.name))]
    if sight.live is Live.GONE:
        return [_dead(context, row, sight, intent)]
    if sight.job is not None and sight.session is None and row.terminal is Terminal.TMUX:
        if sight.unproven:
            return [_unproven(row, sight)]  # only the row as it is names what is left of its pane
        return [_moved(context, row, sight, sight.job, intent)]
    drifts: list[RowDrift] = []
    if sight.live is Live.AGENT_GONE:
        if _is_leaving(context, sight.server):
            return []  # the session goes with its server: the next look reports it
        if intent is not None and not sight.contains_caller:
            return [_half_done(row, intent)]
        drifts.append(_agent_gone(context, row, sight))
    if intent is not None:
        evidence = f"an earlier {intent.verb} ({intent.reason}) was interrupted"
        hint = command(intent.verb, row.name)
        drifts.insert(0, RowDrift(row.name, DriftKind.INTENT, evidence, {}, intent, hint))
    return drifts + _id_changed(context, row, sight)


def reverted(context: Context, row: Row, newer: Newer, intent: Intent | None) -> RowDrift:
    """Write back what the registry undid; where that was done a moment ago, only tell of it."""
    evidence = why_reverted(row, newer)
    if newer.corrected_at is None:
        past_s = None
    else:
        past_s = context.clock.now() - newer.corrected_at
    if past_s is not None and 0 <= past_s < PAUSE_S:
        evidence = f"{evidence}; it was written back {past_s:.1f} s ago, and undone again"
        lock = f"{context.registry.resolved}.lock"
        hint = f"make the program that writes it take the lock {lock}"
        return RowDrift(row.name, DriftKind.REVERTED, evidence, intent=intent, hint=hint)
    changes = life_changes(row, newer.life)
    return RowDrift(row.name, DriftKind.REVERTED, evidence, changes, intent)


def _is_leaving(context: Context, server: ServerLook) -> bool:
    """Tell whether the server has died since it answered, or is about to."""
    process = None
    if isinstance(server, Server):
        process = context.processes.identify(server.pid)
    return process is None or is_exiting(process)


def _agent_gone(context: Context, row: Row, sight: Sight) -> RowDrift:
    if sight.pane and sight.pane.dead:
        remains = "a dead pane"
    else:
        remains = "a shell"
    evidence = f"the session {row.name} holds {remains} and no agent"
    goodbye = None
    if wants_restart(row):
        goodbye = _shows_exit_banner(context, row, sight)
    hint = command("stop", row.name)
    return RowDrift(row.name, DriftKind.AGENT_GONE, evidence, hint=hint, goodbye=goodbye)


def _shows_exit_banner(context: Context, row: Row, sight: Sight) -> bool:
    """Tell whether the agent's exit banner is on its last screen."""
    profile = context.agents.profile(row, sight)
    if profile is None or sight.pane is None:
        return False
    screen = context.tmux.capture(sight.socket, sight.pane.id, joined=True)
    return locate(profile, Clues(banner=screen)).conversation.source == "exit-banner"


def _of_ended(context: Context, row: Row, sight: Sight, intent: Intent | None) -> list[RowDrift]:
    if _is_in_other_registry(context, sight):
        return []
    if sight.session is not None or sight.live is Live.REPLACED:
        evidence = f"the row is {row.status.value}, and a session of that name is alive"
        hint = command("adopt", row.name)
        return [RowDrift(row.name, DriftKind.REVIVED, evidence, intent=intent, hint=hint)]
    if sight.owned.own:
        return [_survivors(row, sight, "kill", intent)]
    if sight.job is not None:
        evidence = f"the row is {row.status.value}, and its agent's own server works on it again"
        hint = command("adopt", row.name, "--background", sight.job.seat)
        return [RowDrift(row.name, DriftKind.REVIVED, evidence, intent=intent, hint=hint)]
    if intent is None:
        return []
    changes: Changes = {}
    if _has_purged(intent, _known(context, row, sight).conversation):
        ending = End(RowEvent.PURGED, context.clock.now(), reason=intent.reason)
        changes = end_changes(row.status, ending)
    evidence = f"a {intent.verb} of it was not closed"
    return [RowDrift(row.name, DriftKind.INTENT, evidence, changes, intent)]


def _is_in_other_registry(context: Context, sight: Sight) -> bool:
    """Tell whether another registry has the session that bears an ended row's name."""
    if sight.session is None or not isinstance(sight.server, Server):
        return False
    own = context.own_registry, context.place.boot_id
    return bool(rows_elsewhere(context.tmux, *own, sight.server, [sight.session]))


def _where_it_went(forked: Forked) -> str:
    return plain(forked.warning().partition(": ")[2])


def _known(context: Context, row: Row, sight: Sight) -> Known:
    return context.finder.known_of(row, sight, context.agents.profile(row, sight))


def _has_purged(intent: Intent, conversation: Conversation) -> bool:
    """Tell whether the purge was carried out and only its record is missing."""
    return intent.recorded.purge is True and not conversation.exists


def _dead(context: Context, row: Row, sight: Sight, intent: Intent | None) -> RowDrift:
    """Record a session proven gone; if processes of it are left, report these and write nothing."""
    if sight.owned.own:
        return _survivors(row, sight, "stop")
    if sight.unproven:
        return _unproven(row, sight)
    known = _known(context, row, sight)
    conversation = known.conversation
    agent = context.agents.of(row, sight)
    event = RowEvent.FOUND_DEAD
    why = ""
    if intent is not None:
        purged = _has_purged(intent, conversation)
        if purged:
            event = RowEvent.PURGED
        else:
            event = EVENT_OF_VERB[EndVerb(intent.verb)]
        why = f"; {intent.verb} ({intent.reason}) was in progress when its process died"
    ending = End(
        event=event,
        at=context.clock.now(),
        reason=intent.reason if intent is not None else None,
        conversation=conversation,
        conversation_field=conversation_field(agent) if agent else None,
        resumable=known.is_resumable,
    )
    if known.forked is not None:
        why += f"; {_where_it_went(known.forked)}"
    evidence = f"there is no session {row.name} on {sight.socket}, and no process of it{why}"
    changes = end_changes(row.status, ending)
    if row.tmux.of_boot(context.place.boot_id):
        cause = None
    else:
        cause = REBOOT
    return RowDrift(row.name, DriftKind.DEAD, evidence, changes, intent, cause=cause)


def _half_done(row: Row, intent: Intent) -> RowDrift:
    """Complete an ending whose agent has exited: only a shell or a dead pane is left to end."""
    evidence = (
        f"a {intent.verb} of it ({intent.reason}) ended the agent, and its process died before the"
        " rest was done"
    )
    policy = recorded_policy(intent)
    return RowDrift(row.name, DriftKind.INTENT, evidence, finish=policy)


def _id_changed(context: Context, row: Row, sight: Sight) -> list[RowDrift]:
    """Report that the agent says it is in another conversation now, or continued its own one in
    the background."""
    agent = context.agents.of(row, sight)
    known = _known(context, row, sight)
    current = known.conversation
    forked = known.forked
    recorded = recorded_conversation(row, agent)
    follows = current.source in FOLLOWING or forked is not None
    if agent is None or current.id in (None, recorded) or not follows:
        return []
    changes: Changes = {
        (conversation_field(agent),): current.id,
        ("conversation_source",): current.source,
    }
    if forked is not None:
        evidence = _where_it_went(forked)
        return [RowDrift(row.name, DriftKind.MOVED, evidence, changes)]
    evidence = f"its {current.source} says {current.id}, the row {recorded or 'nothing'}"
    return [RowDrift(row.name, DriftKind.ID_CHANGED, evidence, changes)]


def _moved(context: Context, row: Row, sight: Sight, job: Job, intent: Intent | None) -> RowDrift:
    """Let the row follow a conversation that its agent took with it to its own daemon. An ending
    that was cut off is closed with it, and is asked for anew: the pane that it meant is gone."""
    changes: dict[tuple[str, ...], Value] = {
        ("terminal",): Terminal.BACKGROUND.value,
        ("pane", "id"): job.id,
        ("pane", "pid"): None,
        ("pane", "created_epoch"): None,
        ("pane", "start_ticks"): None,
        (conversation_field(job.agent),): job.conversation,
    }
    if job.processes:
        leader = job.processes[0]
        changes[("pane", "pid")] = leader.pid
        changes[("pane", "created_epoch")] = round(context.processes.started_epoch(leader), 2)
        changes[("pane", "start_ticks")] = leader.start
    if row.tmux.host is None:
        changes[("tmux", "host")] = context.place.host
    if row.tmux.boot_id is None:
        changes[("tmux", "boot_id")] = context.place.boot_id
    evidence = f"its pane is gone, and its agent continued its conversation as {job.seat}"
    hint = None
    if intent is not None:
        evidence += f"; an earlier {intent.verb} ({intent.reason}) was interrupted"
        hint = command(intent.verb, row.name)
    return RowDrift(row.name, DriftKind.MOVED, evidence, changes, intent, hint)


def _unproven(row: Row, sight: Sight) -> RowDrift:
    names = ", ".join(f"{process.comm} ({process.pid})" for process in sight.unproven)
    evidence = (
        f"its session is gone, and what its row and environment name as its own lives: {names}"
    )
    return RowDrift(row.name, DriftKind.SURVIVORS, evidence, hint=sight.adopts_unproven(row.name))


def _survivors(row: Row, sight: Sight, verb: str, intent: Intent | None = None) -> RowDrift:
    names = []
    for one in sight.owned.own:
        names.append(f"{one.process.comm} ({one.process.pid}, {one.why})")
    evidence = f"its session is gone, and processes of it live on: {', '.join(names)}"
    hint = command(verb, row.name)
    return RowDrift(row.name, DriftKind.SURVIVORS, evidence, intent=intent, hint=hint)


def drift_of_start(context: Context, rows: Sequence[Row], intent: Intent) -> RowDrift | None:
    """Report the session that the start made, as long as it exists and no row records it; else
    close the intent. None if tmux cannot tell."""
    start = intent.recorded_start
    row = next((row for row in rows if row.name == intent.name), None)
    if is_headless(intent):
        return _of_headless(context, row, intent)
    if not start.socket:  # no version of ours wrote that: nothing can be found by it
        return _closed(intent)
    server = context.tmux.look(start.socket)
    if isinstance(server, Unreachable):
        return None
    session = None
    if isinstance(server, Server):
        session = server.named(intent.name)
    if not isinstance(server, Server) or session is None:
        hidden = isinstance(server, Server) and server.may_hide(None, intent.name)
        return None if hidden else _closed(intent)
    if not _made_by(context, session, intent):
        return _closed(intent)
    # a start keeps dead panes until it has confirmed the agent
    kept = (pane for pane in session.panes if pane.remain_on_exit == "on")
    options = tuple(PaneOption(server.socket, pane.id, BANNER_OPTION, None) for pane in kept)
    if row is not None and _is_recorded(row, session):  # recorded by the start, or adopted since
        return _closed(intent, options)
    flag = ("--server", start.server) if start.server else ()
    hint = command("adopt", intent.name, "--agent", start.agent, *flag)
    return _unrecorded(row, intent, "its session", hint, options)


def drifts_of_restart(context: Context, row: Row, sight: Sight, intent: Intent) -> list[RowDrift]:
    """Settle a restart that was cut off. Once the row says that the agent ended, its pane is
    closed; before, it was a stop like any other."""
    if not row.status.ended:
        if intent.verb != START:
            return drifts_of(context, row, sight, intent)
        return [_closed(intent), *drifts_of(context, row, sight, None)]
    held = held_by(context, row, intent)
    if held is None:
        return []
    evidence = "a restart of it was cut off"
    if held.stranger:
        evidence += f", and another program runs in its pane; the row is {row.status.value}"
        return [
            RowDrift(
                row.name,
                DriftKind.REVIVED,
                evidence,
                intent=intent,
                hint=command("adopt", row.name),
                restore=intent.options,
            )
        ]
    if held.row is not None:
        evidence += " before its agent was there again"
    return [RowDrift(row.name, DriftKind.INTENT, evidence, {}, intent, held=held.row)]


def is_headless(intent: Intent) -> bool:
    """Tell whether the start made a process without tmux, and no session."""
    return intent.recorded_start.terminal == Terminal.NONE.value


def _of_headless(context: Context, row: Row | None, intent: Intent) -> RowDrift:
    process = process_of(context, intent)
    if process is None:
        return _closed(intent)
    if row is not None and not row.status.ended and row.pane.pid == process.pid:
        return _closed(intent)
    agent = intent.recorded_start.agent
    hint = command("adopt", intent.name, "--pid", str(process.pid), "--agent", agent)
    return _unrecorded(row, intent, f"its process {process.pid}", hint)


def drift_of_send(intent: Intent) -> RowDrift:
    evidence = "a send to it was interrupted: its prompt may be in the input, or given"
    hint = command("show", intent.name)
    return RowDrift(intent.name, DriftKind.INTENT, evidence, {}, intent, hint)


def _closed(intent: Intent, options: tuple[PaneOption, ...] = ()) -> RowDrift:
    evidence = "a start of it was not closed"
    return RowDrift(intent.name, DriftKind.INTENT, evidence, {}, intent, restore=options)


def _unrecorded(
    row: Row | None, intent: Intent, made: str, hint: str, options: tuple[PaneOption, ...] = ()
) -> RowDrift:
    if row is None:
        kind = DriftKind.UNREGISTERED
    else:
        kind = DriftKind.REVIVED
    evidence = f"a start made {made}, and was ended before it was recorded"
    return RowDrift(intent.name, kind, evidence, hint=hint, restore=options)


def _is_recorded(row: Row, session: ServerSession) -> bool:
    known = (row.tmux.session_id, row.tmux.session_created)
    return not row.status.ended and known == (session.id, session.created)


def _made_by(context: Context, session: ServerSession, intent: Intent) -> bool:
    """Tell whether the start made this session: by its mark or, if none is left, by its age."""
    leaders = (context.processes.identify(pane.pid or 0) for pane in session.panes if not pane.dead)
    marks = {(context.processes.environ(one) or {}).get(MARK) for one in leaders if one} - {None}
    if marks:
        return not marks.isdisjoint(intent.recorded_start.marks)
    return session.created >= int(intent.created_at)
