"""Finds drift between registry, ledger and tmux, and what of it is certain. Never writes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from enum import Enum

from tmuxreap.agents.conversations.find import Clues, locate
from tmuxreap.agents.profiles import LOCATORS
from tmuxreap.commands.reconcile.disturbed import begin, others_at_work
from tmuxreap.core.answers import news as answers
from tmuxreap.core.errors import command
from tmuxreap.core.model import (
    Conversation,
    Live,
    Row,
    Scope,
    Server,
    ServerLook,
    Session,
    Terminal,
    Unreachable,
    Verb,
)
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.plan import Policy
from tmuxreap.ledger.records import START, Intent, PaneOption
from tmuxreap.registry.look import RegistryLook
from tmuxreap.registry.rows import conversation_field, recorded_conversation
from tmuxreap.registry.transitions import (
    EVENT_OF_VERB,
    Changes,
    End,
    Event,
    end_changes,
    wants_restart,
)
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.elsewhere import owners_of
from tmuxreap.sessions.look import BANNER_OPTION, sights_of
from tmuxreap.sessions.restarts import REBOOT, SERVER
from tmuxreap.sessions.sight import Sight
from tmuxreap.system.environment import MARK
from tmuxreap.system.processes.procfs import is_exiting

# Sources that follow the agent into another conversation; a launch or a command line does not.
FOLLOWING = frozenset(LOCATORS[: LOCATORS.index("exit-banner") + 1])


class DriftKind(Enum):
    DEAD = "dead"
    AGENT_GONE = "agent_gone"
    REPLACED = "replaced"
    REVIVED = "revived"
    UNREGISTERED = "unregistered"
    ID_CHANGED = "id_changed"
    SURVIVORS = "survivors"
    LEDGER = "ledger"
    INTENT = "intent"  # an unfinished ending of a session that still exists


NOT_RECORDED = frozenset({DriftKind.UNREGISTERED, DriftKind.REVIVED, DriftKind.REPLACED})


@frozen
class Drift:
    """One disagreement: evidence, changes to write, and the command that settles the rest."""

    name: str
    kind: DriftKind
    evidence: str
    changes: Changes | None = None
    intent: Intent | None = None  # of a dead owner: closed with this drift
    hint: str | None = None
    finish: Policy | None = None  # an ending to complete, with only remains left to end
    restore: tuple[PaneOption, ...] = ()  # what we changed on the user's panes, still in effect
    cause: str | None = None  # how the agent ended, as far as the kernel tells
    goodbye: bool | None = None  # its exit banner is shown; looked for if a restart may follow

    @property
    def answer(self) -> answers.Drift:
        """Return the public form."""
        return answers.Drift(
            name=self.name,
            drift=self.kind.value,
            evidence=self.evidence,
            settled=bool(self.finish) or self.changes is not None or self.kind is DriftKind.LEDGER,
            hint=self.hint,
            cause=self.cause,
        )


@frozen
class Found:
    drifts: list[Drift]
    confirmed: bool  # every tmux server that was asked answered
    seen: tuple[tuple[Row, Sight], ...]
    again: bool = False  # other verbs changed rows during the look: these were left out


def find_drifts(context: Context, look: RegistryLook, only: frozenset[str] | None = None) -> Found:
    """Return all drift, or only that of the rows in `only`."""
    rows = [row for row in look.usable if only is None or row.name in only]
    before = begin(context, look)
    sights = sights_of(context, rows, unregistered=True)
    others = others_at_work(context, before)
    abandoned = {name: intent for name, intent in before.intents.items() if name not in others}
    starts = {name: intent for name, intent in abandoned.items() if intent.verb == START}
    drifts: list[Drift] = []
    for row, sight in zip(rows, sights, strict=True):
        if row.name not in others:
            drifts += _of_row(
                context, row, sight, abandoned.get(row.name) if row.name not in starts else None
            )
    if only is None:
        drifts += [
            drift for drift in _unregistered(context, rows, sights) if drift.name not in others
        ]
        for intent in starts.values():
            drifts = _with_start(context, drifts, rows, intent)
        drifts += _without_row(
            look, [intent for name, intent in abandoned.items() if name not in starts]
        )
    seen = tuple(zip(rows, sights, strict=True))
    drifts = _with_server_loss(look, drifts, seen)
    confirmed = not any(
        row.terminal is Terminal.TMUX and sight.live is Live.UNKNOWN for row, sight in seen
    )
    return Found(drifts, confirmed, seen, bool(others.passed))


def _with_server_loss(
    look: RegistryLook, found: list[Drift], seen: Sequence[tuple[Row, Sight]]
) -> list[Drift]:
    """Name the server's loss as the cause for rows that shared it: an agent may exit cleanly when
    its terminal closes, and be reported first."""
    running_on = Counter(row.tmux.server_pid for row in look.usable if not row.status.ended)
    lost = {
        row.name
        for row, sight in seen
        if running_on[row.tmux.server_pid] > 1 and row.tmux.known and not _is_there(row, sight)
    }
    return [
        replace(one, cause=one.cause or SERVER)
        if one.kind is DriftKind.DEAD and one.name in lost
        else one
        for one in found
    ]


def _is_there(row: Row, sight: Sight) -> bool:
    return isinstance(sight.server, Server) and sight.server.pid == row.tmux.server_pid


def _without_row(look: RegistryLook, intents: Sequence[Intent]) -> list[Drift]:
    """Close the intents of removed rows; an unreadable row's holds the request and stays open."""
    names = {row.name for row in look.usable}
    return [
        Drift(
            intent.name,
            DriftKind.INTENT,
            f"a {intent.verb} of it was not closed, and its row is gone",
            {},
            intent,
        )
        for intent in intents
        if intent.name not in names and look.bad_row(intent.name) is None
    ]


def _with_start(
    context: Context, found: list[Drift], rows: Sequence[Row], intent: Intent
) -> list[Drift]:
    """Report a start whose owner died, as long as the session exists and no row records it."""
    facts = json.loads(intent.plan)
    if facts.get("terminal") == Terminal.NONE.value:
        return [*found, _of_headless_start(context, rows, intent)]
    server = context.tmux.look(facts["socket"])
    if isinstance(server, Unreachable):
        return found
    row = next((row for row in rows if row.name == intent.name), None)
    session = server.named(intent.name) if isinstance(server, Server) else None
    if session is None and isinstance(server, Server) and server.may_hide(None, intent.name):
        return found
    if session is None or not isinstance(server, Server) or not _made_by(context, session, intent):
        return [
            *found,
            Drift(intent.name, DriftKind.INTENT, "a start of it was not closed", {}, intent),
        ]
    options = _kept_open(server, session)
    if row is not None and _is_recorded(row, session):  # recorded by the start, or adopted since
        return [
            *found,
            Drift(
                intent.name,
                DriftKind.INTENT,
                "a start of it was not closed",
                {},
                intent,
                restore=options,
            ),
        ]
    others = [
        drift for drift in found if drift.name != intent.name or drift.kind not in NOT_RECORDED
    ]
    flag = ("--server", str(facts["server"])) if facts["server"] else ()
    return [
        *others,
        Drift(
            intent.name,
            DriftKind.UNREGISTERED if row is None else DriftKind.REVIVED,
            "a start made its session, and was ended before it was recorded",
            hint=command("adopt", intent.name, "--agent", facts["agent"], *flag),
            restore=options,
        ),
    ]


def _of_headless_start(context: Context, rows: Sequence[Row], intent: Intent) -> Drift:
    from tmuxreap.commands.starting.outside import process_of  # few sessions need it

    process, agent = process_of(context, intent), json.loads(intent.plan)["agent"]
    row = next((row for row in rows if row.name == intent.name), None)
    if process is None or (
        row is not None and not row.status.ended and row.pane.pid == process.pid
    ):
        return Drift(intent.name, DriftKind.INTENT, "a start of it was not closed", {}, intent)
    return Drift(
        intent.name,
        DriftKind.UNREGISTERED if row is None else DriftKind.REVIVED,
        f"a start made its process {process.pid}, and was ended before it was recorded",
        hint=command("adopt", intent.name, "--pid", str(process.pid), "--agent", agent),
    )


def _kept_open(server: Server, session: Session) -> tuple[PaneOption, ...]:
    """Return the options that a start sets until it has confirmed the agent."""
    panes = (pane for pane in session.panes if pane.remain_on_exit == "on")
    return tuple(PaneOption(server.socket, pane.id, BANNER_OPTION, None) for pane in panes)


def _is_recorded(row: Row, session: Session) -> bool:
    known = (row.tmux.session_id, row.tmux.session_created)
    return not row.status.ended and known == (session.id, session.created)


def _made_by(context: Context, session: Session, intent: Intent) -> bool:
    """Tell whether the start made this session: by its mark or, if none is left, by its age."""
    leaders = (context.processes.identify(pane.pid or 0) for pane in session.panes if not pane.dead)
    marks = {(context.processes.environ(one) or {}).get(MARK) for one in leaders if one} - {None}
    start_marks = set(json.loads(intent.plan)["marks"])
    return bool(marks & start_marks) if marks else session.created >= int(intent.created_at)


def _of_row(context: Context, row: Row, sight: Sight, intent: Intent | None) -> list[Drift]:
    if sight.live is Live.UNKNOWN:
        return []
    if row.status.ended:
        return _of_ended(context, row, sight, intent)
    if sight.live is Live.REPLACED:
        words = sight.trouble.message if sight.trouble else "another session has its name"
        return [Drift(row.name, DriftKind.REPLACED, words, hint=command("adopt", row.name))]
    if sight.live is Live.GONE:
        return [_dead(context, row, sight, intent)]
    if sight.live is Live.AGENT_GONE and _is_leaving(context, sight.server):
        return []  # the session goes with its server: the next look reports it
    if intent is not None and sight.live is Live.AGENT_GONE and not sight.contains_caller:
        return [_half_done(row, intent)]
    drifts = [_stuck(row, intent)] if intent is not None else []
    if sight.live is Live.AGENT_GONE:
        remains = "a dead pane" if sight.pane and sight.pane.dead else "a shell"
        evidence = f"the session {row.name} holds {remains} and no agent"
        goodbye = _shows_exit_banner(context, row, sight) if wants_restart(row) else None
        hint = command("stop", row.name)
        drifts.append(Drift(row.name, DriftKind.AGENT_GONE, evidence, hint=hint, goodbye=goodbye))
    return drifts + _id_changed(context, row, sight)


def _is_leaving(context: Context, server: ServerLook) -> bool:
    """Tell whether the server has died since it answered, or is about to."""
    process = context.processes.identify(server.pid) if isinstance(server, Server) else None
    return process is None or is_exiting(process)


def _shows_exit_banner(context: Context, row: Row, sight: Sight) -> bool:
    """Tell whether the agent's exit banner is on its last screen."""
    profile = context.agents.profile(row)
    if profile is None or sight.pane is None:
        return False
    screen = context.tmux.capture(sight.socket, sight.pane.id, joined=True)
    return locate(profile, Clues(banner=screen)).conversation.source == "exit-banner"


def _of_ended(context: Context, row: Row, sight: Sight, intent: Intent | None) -> list[Drift]:
    if _is_in_other_registry(context, sight):
        return []
    if sight.session is not None or sight.live is Live.REPLACED:
        evidence = f"the row is {row.status.value}, and a session of that name is alive"
        return [
            Drift(
                row.name,
                DriftKind.REVIVED,
                evidence,
                intent=intent,
                hint=command("adopt", row.name),
            )
        ]
    if sight.owned.own:
        return [
            Drift(
                row.name,
                DriftKind.SURVIVORS,
                _survivors(sight),
                intent=intent,
                hint=command("kill", row.name),
            )
        ]
    if intent is not None:
        known = context.finder.known_of(row, sight, context.agents.profile(row)).conversation
        ending = End(Event.PURGED, context.clock.now(), reason=intent.reason)
        changes = end_changes(row.status, ending) if _has_purged(intent, known) else {}
        return [
            Drift(
                row.name, DriftKind.INTENT, f"a {intent.verb} of it was not closed", changes, intent
            )
        ]
    return []


def _is_in_other_registry(context: Context, sight: Sight) -> bool:
    """Tell whether another registry has the session that bears an ended row's name."""
    if sight.session is None or not isinstance(sight.server, Server):
        return False
    return bool(
        owners_of(
            context.tmux, context.own_registry, context.place.boot_id, sight.server, [sight.session]
        )
    )


def _has_purged(intent: Intent, conversation: Conversation) -> bool:
    """Tell whether the purge was carried out and only its record is missing."""
    return json.loads(intent.plan).get("purge") is True and not conversation.exists


def _dead(context: Context, row: Row, sight: Sight, intent: Intent | None) -> Drift:
    """Record a session proven gone; if processes of it are left, report these and write nothing."""
    if sight.owned.own:
        return Drift(
            row.name, DriftKind.SURVIVORS, _survivors(sight), hint=command("stop", row.name)
        )
    conversation = context.finder.known_of(row, sight, context.agents.profile(row)).conversation
    agent = context.agents.of(row)
    event = EVENT_OF_VERB[Verb(intent.verb)] if intent is not None else Event.FOUND_DEAD
    if intent is not None and _has_purged(intent, conversation):
        event = Event.PURGED
    ending = End(
        event=event,
        at=context.clock.now(),
        reason=intent.reason if intent is not None else None,
        conversation=conversation,
        conversation_field=conversation_field(agent) if agent else None,
        resumable=conversation.exists,
    )
    why = (
        f"; {intent.verb} ({intent.reason}) was under way when its owner died"
        if intent is not None
        else ""
    )
    evidence = f"there is no session {row.name} on {sight.socket}, and no process of it{why}"
    rebooted = not row.tmux.of_boot(context.place.boot_id)
    changes = end_changes(row.status, ending)
    return Drift(
        row.name, DriftKind.DEAD, evidence, changes, intent, cause=REBOOT if rebooted else None
    )


def _half_done(row: Row, intent: Intent) -> Drift:
    """Complete an ending whose agent has exited: only a shell or a dead pane is left to end."""
    evidence = (
        f"a {intent.verb} of it ({intent.reason}) ended the agent, and who began it died before the"
        " rest"
    )
    facts = json.loads(intent.plan)
    policy = Policy(
        Verb(intent.verb),
        intent.reason,
        scope=Scope(intent.scope),
        task_status=facts.get("task_status"),
        cleanup=facts.get("cleanup") is True,
    )
    return Drift(row.name, DriftKind.INTENT, evidence, finish=policy)


def _stuck(row: Row, intent: Intent) -> Drift:
    evidence = f"a {intent.verb} of it ({intent.reason}) was begun, and its owner is dead"
    return Drift(row.name, DriftKind.INTENT, evidence, {}, intent, command(intent.verb, row.name))


def _id_changed(context: Context, row: Row, sight: Sight) -> list[Drift]:
    """Report that the agent says it is in another conversation now."""
    agent = context.agents.of(row)
    current = context.finder.known_of(row, sight, context.agents.profile(row)).conversation
    recorded = recorded_conversation(row, agent)
    if agent is None or current.id in (None, recorded) or current.source not in FOLLOWING:
        return []
    changes: Changes = {
        (conversation_field(agent),): current.id,
        ("conversation_source",): current.source,
    }
    evidence = f"its {current.source} says {current.id}, the row {recorded or 'nothing'}"
    return [Drift(row.name, DriftKind.ID_CHANGED, evidence, changes)]


def _unregistered(context: Context, rows: Sequence[Row], sights: Sequence[Sight]) -> list[Drift]:
    """Report agents in unregistered sessions, on the servers that the registry names."""
    if not any(isinstance(sight.server, Server) for sight in sights):
        return []
    from tmuxreap.sessions.newcomers import newcomers  # needed once a look, never during a stop

    return [
        Drift(
            newcomer.name,
            DriftKind.UNREGISTERED,
            f"a {newcomer.agent} runs in it and is not registered",
            hint=command("adopt", newcomer.name, "--agent", newcomer.agent, *newcomer.flag),
        )
        for newcomer in newcomers(context, rows, sights)
    ]


def _survivors(sight: Sight) -> str:
    names = ", ".join(
        f"{one.process.comm} ({one.process.pid}, {one.why})" for one in sight.owned.own
    )
    return f"its session is gone, and processes of it live on: {names}"
