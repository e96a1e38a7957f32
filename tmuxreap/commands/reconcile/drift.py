"""In which ways registry, ledger and tmux disagree, and which of them is certain enough to be
settled. Looks, and writes nothing."""

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
from tmuxreap.registry.file import RegistryLook
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
from tmuxreap.system.processes.procfs import is_leaving

# What follows the agent into another conversation; a launch or a command line does not.
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
    INTENT = (  # an ending that its owner did not live to finish, of a session that is still there
        "intent"
    )


NOT_RECORDED = frozenset({DriftKind.UNREGISTERED, DriftKind.REVIVED, DriftKind.REPLACED})


@frozen
class Drift:
    """One disagreement: what was seen, what is written of it, and the command that settles the
    rest."""

    name: str
    kind: DriftKind
    evidence: str
    changes: Changes | None = None
    intent: Intent | None = None  # of a dead owner: closed with this
    hint: str | None = None
    finish: Policy | None = None  # what was begun, and has only remains to end
    restore: tuple[PaneOption, ...] = ()  # what we had changed on the user's panes, and still is
    cause: str | None = None  # how the agent came to its end, as far as the kernel says it
    goodbye: bool | None = None  # the agent left words behind; looked for where a restart may come

    @property
    def answer(self) -> answers.Drift:
        """What is told of it."""
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
    confirmed: bool  # every tmux server that was asked gave an answer
    seen: tuple[tuple[Row, Sight], ...]
    again: bool = False  # other verbs were at it during the look: of their rows nothing was said


def find_drifts(context: Context, look: RegistryLook, only: frozenset[str] | None = None) -> Found:
    """All of them; or those of some rows alone, where only these can have changed."""
    rows = [row for row in look.usable if only is None or row.name in only]
    before = begin(context, look)
    sights = sights_of(context, rows, strangers=True)
    others = others_at_work(context, before)
    left = {name: intent for name, intent in before.intents.items() if name not in others}
    starts = {name: intent for name, intent in left.items() if intent.verb == START}
    found: list[Drift] = []
    for row, sight in zip(rows, sights, strict=True):
        if row.name not in others:
            found += _of_row(
                context, row, sight, left.get(row.name) if row.name not in starts else None
            )
    if only is None:
        found += [
            drift for drift in _unregistered(context, rows, sights) if drift.name not in others
        ]
        for intent in starts.values():
            found = _with_start(context, found, rows, intent)
        found += _without_row(look, [intent for name, intent in left.items() if name not in starts])
    seen = tuple(zip(rows, sights, strict=True))
    found = _with_their_server(look, found, seen)
    confirmed = not any(
        row.terminal is Terminal.TMUX and sight.live is Live.UNKNOWN for row, sight in seen
    )
    return Found(found, confirmed, seen, bool(others.passed))


def _with_their_server(
    look: RegistryLook, found: list[Drift], seen: Sequence[tuple[Row, Sight]]
) -> list[Drift]:
    """One that is found dead with its server gone, as others that ran there must be, died of that:
    it may have left in good order when its terminal was closed, and was heard of first."""
    here = Counter(row.tmux.server_pid for row in look.usable if not row.status.ended)
    gone = {
        row.name
        for row, sight in seen
        if here[row.tmux.server_pid] > 1 and row.tmux.known and not _is_there(row, sight)
    }
    return [
        replace(one, cause=one.cause or SERVER)
        if one.kind is DriftKind.DEAD and one.name in gone
        else one
        for one in found
    ]


def _is_there(row: Row, sight: Sight) -> bool:
    return isinstance(sight.server, Server) and sight.server.pid == row.tmux.server_pid


def _without_row(look: RegistryLook, intents: Sequence[Intent]) -> list[Drift]:
    """Of a row that cannot be read now the intent stays open: it holds what was asked for."""
    names = {row.name for row in look.usable}
    return [
        Drift(
            it.name,
            DriftKind.INTENT,
            f"a {it.verb} of it was not closed, and its row is gone",
            {},
            it,
        )
        for it in intents
        if it.name not in names and look.spoilt(it.name) is None
    ]


def _with_start(
    context: Context, found: list[Drift], rows: Sequence[Row], intent: Intent
) -> list[Drift]:
    """A start whose owner died: what it made and nobody recorded is told for as long as it is
    there."""
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
    ours = _kept_open(server, session)
    if row is not None and _is_recorded(row, session):  # by the start itself, or adopted meanwhile
        return [
            *found,
            Drift(
                intent.name,
                DriftKind.INTENT,
                "a start of it was not closed",
                {},
                intent,
                restore=ours,
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
            restore=ours,
        ),
    ]


def _of_headless_start(context: Context, rows: Sequence[Row], intent: Intent) -> Drift:
    from tmuxreap.commands.starting.outside import made_by  # few sessions live there

    made, agent = made_by(context, intent), json.loads(intent.plan)["agent"]
    row = next((row for row in rows if row.name == intent.name), None)
    if made is None or (row is not None and not row.status.ended and row.pane.pid == made.pid):
        return Drift(intent.name, DriftKind.INTENT, "a start of it was not closed", {}, intent)
    return Drift(
        intent.name,
        DriftKind.UNREGISTERED if row is None else DriftKind.REVIVED,
        f"a start made its process {made.pid}, and was ended before it was recorded",
        hint=command("adopt", intent.name, "--pid", str(made.pid), "--agent", agent),
    )


def _kept_open(server: Server, session: Session) -> tuple[PaneOption, ...]:
    """What a start sets for the time of its confirmation."""
    panes = (pane for pane in session.panes if pane.remain_on_exit == "on")
    return tuple(PaneOption(server.socket, pane.id, BANNER_OPTION, None) for pane in panes)


def _is_recorded(row: Row, session: Session) -> bool:
    known = (row.tmux.session_id, row.tmux.session_created)
    return not row.status.ended and known == (session.id, session.created)


def _made_by(context: Context, session: Session, intent: Intent) -> bool:
    """By its mark; where nobody carries it any more, by its age."""
    leaders = (context.processes.identify(pane.pid or 0) for pane in session.panes if not pane.dead)
    marks = {(context.processes.environ(one) or {}).get(MARK) for one in leaders if one} - {None}
    ours = set(json.loads(intent.plan)["marks"])
    return bool(marks & ours) if marks else session.created >= int(intent.created_at)


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
        return []  # with it the session goes: the next look tells
    if intent is not None and sight.live is Live.AGENT_GONE and not sight.mine:
        return [_half_done(row, intent)]
    found = [_stuck(row, intent)] if intent is not None else []
    if sight.live is Live.AGENT_GONE:
        left = "a dead pane" if sight.pane and sight.pane.dead else "a shell"
        evidence = f"the session {row.name} holds {left} and no agent"
        goodbye = _said_goodbye(context, row, sight) if wants_restart(row) else None
        hint = command("stop", row.name)
        found.append(Drift(row.name, DriftKind.AGENT_GONE, evidence, hint=hint, goodbye=goodbye))
    return found + _id_changed(context, row, sight)


def _is_leaving(context: Context, server: ServerLook) -> bool:
    """It answered, and has died since, or is about to."""
    process = context.processes.identify(server.pid) if isinstance(server, Server) else None
    return process is None or is_leaving(process)


def _said_goodbye(context: Context, row: Row, sight: Sight) -> bool:
    """Its exit banner is on the screen that it left."""
    profile = context.agents.profile(row)
    if profile is None or sight.pane is None:
        return False
    screen = context.tmux.capture(sight.socket, sight.pane.id, joined=True)
    return locate(profile, Clues(banner=screen)).conversation.source == "exit-banner"


def _of_ended(context: Context, row: Row, sight: Sight, intent: Intent | None) -> list[Drift]:
    if _is_anothers(context, sight):
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
                _who(sight),
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


def _is_anothers(context: Context, sight: Sight) -> bool:
    """It has the name of an ended row, and another registry has it."""
    if sight.session is None or not isinstance(sight.server, Server):
        return False
    return bool(
        owners_of(
            context.tmux, context.own_registry, context.place.boot_id, sight.server, [sight.session]
        )
    )


def _has_purged(intent: Intent, conversation: Conversation) -> bool:
    """It was to be deleted, and it is gone: only the word of it is missing."""
    return json.loads(intent.plan).get("purge") is True and not conversation.exists


def _dead(context: Context, row: Row, sight: Sight, intent: Intent | None) -> Drift:
    """Proven gone. With processes left of it nothing is written: gone means gone."""
    if sight.owned.own:
        return Drift(row.name, DriftKind.SURVIVORS, _who(sight), hint=command("stop", row.name))
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
    anew = not row.tmux.of_boot(context.place.boot_id)
    changes = end_changes(row.status, ending)
    return Drift(
        row.name, DriftKind.DEAD, evidence, changes, intent, cause=REBOOT if anew else None
    )


def _half_done(row: Row, intent: Intent) -> Drift:
    """The agent has left as it was asked to; a shell or a dead pane is all that is left to end."""
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
    """The agent itself says that it is in another conversation by now."""
    agent = context.agents.of(row)
    found = context.finder.known_of(row, sight, context.agents.profile(row)).conversation
    recorded = recorded_conversation(row, agent)
    if agent is None or found.id in (None, recorded) or found.source not in FOLLOWING:
        return []
    changes: Changes = {
        (conversation_field(agent),): found.id,
        ("conversation_source",): found.source,
    }
    evidence = f"its {found.source} says {found.id}, the row {recorded or 'nothing'}"
    return [Drift(row.name, DriftKind.ID_CHANGED, evidence, changes)]


def _unregistered(context: Context, rows: Sequence[Row], sights: Sequence[Sight]) -> list[Drift]:
    """Agents' sessions without a row, on the servers that the registry names."""
    if not any(isinstance(sight.server, Server) for sight in sights):
        return []
    from tmuxreap.sessions.newcomers import newcomers  # once a look, and never on the way of a stop

    return [
        Drift(
            one.name,
            DriftKind.UNREGISTERED,
            f"a {one.agent} runs in it and is not registered",
            hint=command("adopt", one.name, "--agent", one.agent, *one.flag),
        )
        for one in newcomers(context, rows, sights)
    ]


def _who(sight: Sight) -> str:
    names = ", ".join(
        f"{one.process.comm} ({one.process.pid}, {one.why})" for one in sight.owned.own
    )
    return f"its session is gone, and processes of it live on: {names}"
