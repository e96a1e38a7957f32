"""Turns rows into endings, and checks before the first key what could fail after the last one:
folder, disk, text and rows, and whether a conversation may be purged. Then the intents are
recorded. Ends nothing.

A kill skips the checks: the process that it ends may be filling the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tmuxreap.agents.conversations.background import Lists
from tmuxreap.agents.conversations.purge import would_purge
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import Spares
from tmuxreap.core.errors import Code, Failure, LockIsHeld
from tmuxreap.core.model import EndVerb, Outcome, Process, Row, Scope, Server, Status
from tmuxreap.core.ports import Clock, Processes, Tmux
from tmuxreap.core.results import Ending, Item, failed_target
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.clean_up import rows_beside, why_no_purge_yet
from tmuxreap.ending.ending_state import EndingState, screen_for_keys
from tmuxreap.ending.plan import ENDING_VERBS, Plan, make_plan, refusal
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.records import START, Begun, Busy, Intent, NewIntent, PaneOption, Pulse
from tmuxreap.proof.observe import Place
from tmuxreap.proof.sight import Past, Sight
from tmuxreap.proof.state import is_stopped, state_by, visible_screen
from tmuxreap.registry.file import RegistryFile, RegistryLook, not_editable
from tmuxreap.registry.rows import conversation_field
from tmuxreap.registry.transitions import EVENT_OF_VERB, MODES, Changes, End, RowEvent, end_changes
from tmuxreap.sessions.conversation import Finder, after_own_exit, record_of, resume_command
from tmuxreap.sessions.editors import in_front_of, opened
from tmuxreap.sessions.elsewhere import (
    RowElsewhere,
    registered_elsewhere,
    row_elsewhere,
    row_within,
)
from tmuxreap.sessions.look import (
    BANNER_OPTION,
    SIBLINGS_OPTION,
    UNDONE,
    PaneContents,
    Sights,
    newer_rows,
    read_panes,
)
from tmuxreap.sessions.under_way import ActiveIntents, MarkInProgress


@frozen
class Planning:
    """Plans endings: by a look at the rows, and by what is known of their conversations."""

    sights: Sights
    finder: Finder
    active: ActiveIntents
    tmux: Tmux

    @property
    def books(self) -> Books:
        return self.sights.books

    @property
    def registry(self) -> RegistryFile:
        return self.sights.books.registry

    def prepare(
        self,
        rows: Sequence[Row],
        policy: Policy,
        known: Mapping[str, Past] | None = None,
        *,
        remembers: bool = False,
    ) -> list[EndingState]:
        """Look at the rows and plan their endings. `known`: facts about some of them that are not
        from the ledger; `remembers`: record what is seen, which a plan that is only shown does
        not."""
        looked_at = self.active.clock.monotonic()
        pane_only = policy.scope is Scope.PANE
        whole = policy.scope is Scope.SESSION
        look = partial(
            self.sights.with_pasts,
            pane_only=pane_only,
            whole_session=whole,
            known=known,
            remembers=remembers,
        )
        sights = look(rows)
        found = rows
        newer = newer_rows(
            self.books, [(row, sight) for row, (sight, _) in zip(rows, sights, strict=True)], look
        )
        if newer:
            rows = list(rows)
            sights = list(sights)
            for number, row in enumerate(rows):
                later = newer.get(row.name)
                if later is not None:
                    rows[number] = later.row
                    sights[number] = (later.sight, later.past)
        profiles = []
        for row, (sight, _) in zip(rows, sights, strict=True):
            profiles.append(self.sights.agents.profile(row, sight))
        options = []
        for profile, (sight, _) in zip(profiles, sights, strict=True):
            options.append(_options_for_keys(sight, profile, holds_pane=policy.holds_pane))
        shown = read_panes(self.tmux, [sight for sight, _ in sights], options, profiles)
        endings = []
        pulses = self.books.pulses()
        lists = self.finder.lists()
        for row, old, sighted, pane in zip(rows, found, sights, shown, strict=True):
            said = pulses.get(row.name)
            endings.append(self._ending(row, old, *sighted, pane, policy, said, lists))
        for ending in endings:
            ending.looked_at = looked_at
        return endings

    def _ending(
        self,
        row: Row,
        found: Row,
        sight: Sight,
        past: Past,
        shown: PaneContents,
        policy: Policy,
        said: Pulse | None,
        lists: Lists,
    ) -> EndingState:
        profile = self.sights.agents.profile(row, sight)
        agent = self.sights.agents.of(row, sight)
        sight = self._with_count(row, sight, profile, lists)
        past = replace(past, first=self._with_count(row, past.first or sight, profile, lists))
        spares = self.sights.agents.spares(profile)
        known = self.finder.known_of(row, sight, profile)
        exited = after_own_exit(profile, known, sight, shown.joined)
        if exited is not known:
            known = self.finder.followed(profile, exited)
        record = record_of(profile, known)
        screen = None
        if profile is not None and (sight.agent or sight.carrier):
            screen = visible_screen(profile, sight, spares.carriers, shown.text)
        # Of an agent that is here, and by its screen alone: a record may be another conversation's.
        shows = None
        if sight.agent and screen is not None and not screen.setup:
            shows = screen.state
        ports = self.active.processes, self.active.clock
        doing = state_by(*ports, sight, profile, said, screen, record)
        if screen is not None:
            screen = screen_for_keys(policy.verb, screen, record, sight)
        holder = editor = None
        if screen is not None and policy.verb is not EndVerb.KILL:
            holder = self._holder(sight, spares)
        if holder is not None and policy.verb in (EndVerb.STOP, EndVerb.RESTART):
            editor = opened(self.active.processes, sight.agent)
        held = None
        if is_stopped(sight.agent) and policy.verb is not EndVerb.INTERRUPT:  # it says so itself
            held = "the agent is stopped (SIGSTOP), and reads no key"
        elif holder is not None and editor is None:
            held = f"{holder.comm} ({holder.pid}) has its terminal, and would take the keys"
        served = None
        had_pane = sight.session is not None or (bool(sight.agent) and sight.job is None)
        if had_pane and sight.job is None and policy.verb in ENDING_VERBS:
            served = self.finder.served(known, row, profile, lists, shows)
        seats = None
        if had_pane and policy.verb in ENDING_VERBS:
            seats = self.finder.seats(known, profile, lists)
        pane = sight.pane.id if sight.pane else ""
        options = tuple(
            PaneOption(sight.socket, pane, name, before) for name, before in shown.options.items()
        )
        agent_named = row.agent is not None and row.tmux.known
        ending = EndingState(
            row=row,
            undone=None if found is row else found,
            agent=agent,
            profile=profile,
            spares=spares,
            policy=policy,
            plan=make_plan(
                row.name,
                agent,
                sight,
                screen,
                profile,
                policy,
                options,
                agent_named=agent_named,
                served=served is not None,
                held=held,
                doing=doing.state,
            ),
            served=served,
            seats=seats,
            editor_screen=screen if editor is not None else None,
            sight=sight,
            past=past,
            known=known,
            last_screen=shown.joined,
            memory=sum(
                self.active.processes.memory(belonging.process.id) for belonging in sight.owned.own
            ),
        )
        ours = self.registry.resolved
        boot_id = self.sights.place.boot_id
        rows = partial(rows_beside, self.registry, row)
        failure = _registered_elsewhere(ours, boot_id, ending, shown.environment)
        failure = failure or _registered_otherwise(ours, boot_id, ending, rows)
        ending.answer = _early_answer(ending, failure, rows)
        if ending.answer is None and policy.purge:
            purge = would_purge(profile, known.clues.store, ending.conversation)
            ending.plan = replace(ending.plan, purges=purge.paths, left=purge.left)
        return ending

    def _holder(self, sight: Sight, spares: Spares) -> Process | None:
        """Return the program that has the agent's terminal: a person's editor, a pager."""
        if len(sight.owned.own) <= len(sight.agent):
            return None  # nothing is below the agent: this is asked of each of a hundred
        among = [it.process for it in sight.owned.own]
        known = spares.carriers.nested
        return in_front_of(self.active.processes, sight.agent, among, known)

    def _with_count(self, row: Row, sight: Sight, profile: Profile | None, lists: Lists) -> Sight:
        """Add how many sessions it runs to the reason why the agent's own daemon is spared."""
        if profile is None or profile.background is None or not sight.owned.spared:
            return sight
        jobs = lists.of_row(row, profile)
        count = sum(job.lives for job in jobs.listed)
        runs = f", which runs {count} session{'s' * (count != 1)}"
        spared = []
        for one in sight.owned.spared:
            if one.process.pid == jobs.daemon:
                one = replace(one, why=f"{one.why}{runs}")
            spared.append(one)
        return replace(sight, owned=replace(sight.owned, spared=tuple(spared)))

    def begin(
        self,
        endings: Sequence[EndingState],
        policy: Policy,
        mark_in_progress: MarkInProgress,
    ) -> tuple[list[EndingState], list[Intent], list[EndingState]]:
        """Record the intents under the lock. Return the endings that may begin, the intents of
        others that are in the way, and the endings whose rows changed since the plan."""
        if not endings:
            return [], [], []
        with _lock_registry(self.registry, policy):
            now = self.registry.look()
            stale = [ending for ending in endings if not _unchanged(ending.found, now)]
            fresh = recordable(
                self.registry, now, [it for it in endings if it not in stale], policy
            )
            ports = self.active.processes, self.active.clock, self.active.place
            news = [_new_intent(*ports, ending) for ending in fresh]
            answers = self.books.begin(
                news, self.active.is_in_progress, take_over=policy.verb is EndVerb.KILL
            )
            mark_in_progress(answer.intent for answer in answers if isinstance(answer, Begun))
        started = self.active.clock.monotonic()
        begun: list[EndingState] = []
        busy: list[Intent] = []
        for ending, answer in zip(fresh, answers, strict=True):
            if isinstance(answer, Busy):
                busy.append(answer.intent)
                continue
            if isinstance(answer, Begun):
                ending.intent = answer.intent
                if answer.inherited is not None:
                    ending.plan = _with_options(ending.plan, answer.inherited)
            ending.started = started
            begun.append(ending)
        return begun, busy, stale


def _early_answer(
    ending: EndingState, failure: Failure | None, rows: Callable[[], Iterable[Row]]
) -> Item | None:
    """Return the answer of a session that must not be ended, or that needs no ending. `failure`: if
    it belongs to another registry; `rows`: of ours."""
    row = ending.row
    sight = ending.sight
    policy = ending.policy
    failure = failure or refusal(sight, row.status, policy, row.name)
    if failure is None and policy.purge:
        failure = why_no_purge_yet(ending, rows)
    if failure is not None:
        answer = failed_target(row.name, failure)
        return replace(answer, status=row.status, agent=ending.agent, pid=row.pane.pid)
    was_purged = row.termination_mode == MODES[RowEvent.PURGED]
    is_over = row.status.ended and not sight.owned.own and sight.job is None
    if is_over and (not policy.purge or was_purged):
        return already_stopped(ending)
    return None


def _registered_elsewhere(
    ours: Path | None, boot_id: str, ending: EndingState, environment: str | None
) -> Failure | None:
    """Return the failure for a session that belongs to another registry, whatever our row says."""
    sight = ending.sight
    if sight.session is None or not isinstance(sight.server, Server):
        return None
    other = row_elsewhere(ours, boot_id, sight.server, sight.session, environment)
    if other is None:
        return None
    return registered_elsewhere(ending.policy.verb.phrase, ending.name, other)


def _registered_otherwise(
    ours: Path, boot_id: str, ending: EndingState, rows: Callable[[], Iterable[Row]]
) -> Failure | None:
    """Return the failure for a session without a row that has the pane of one in it: a person has
    renamed it, or moved that pane."""
    session = ending.sight.session
    if ending.row.index >= 0 or session is None:
        return None
    try:
        row = row_within(session, rows(), boot_id)
    except Failure:  # nobody knows: it was asked for without the registry
        return None
    if row is None or row.name == ending.name:
        return None
    other = RowElsewhere(ours, row.name)
    return registered_elsewhere(ending.policy.verb.phrase, ending.name, other)


def already_stopped(ending: EndingState) -> Ending:
    row = ending.row
    if row.status is Status.ARCHIVED:
        status = Status.STOPPED
    else:
        status = row.status
    return Ending(
        name=row.name,
        outcome=Outcome.ALREADY_STOPPED,
        stopped_by=row.stopped_by,
        status=status,
        agent=ending.agent,
        pid=row.pane.pid,
        stop_reason=row.stop_reason,
        termination_mode=row.termination_mode,
        conversation=ending.conversation,
        resumable=ending.known.is_resumable and row.resumable is not False,
        resume_command=resume_command(row, ending.known, ending.profile),
        task_id=row.task_id,
        ended_at=row.ended_at,
        warnings=(UNDONE,) if ending.undone else (),
    )


def _options_for_keys(
    sight: Sight, profile: Profile | None, *, holds_pane: bool = False
) -> list[str]:
    """Return the pane options to change while keys are sent: the pane stays for the exit banner or
    to be used again, and keys go to no other pane."""
    pane = sight.pane
    if pane is None or profile is None:
        return []
    has_banner = profile.prints_exit_banner and _is_direct(sight)
    stays = pane.remain_on_exit != "on" and (holds_pane or has_banner)
    changed = {BANNER_OPTION: stays, SIBLINGS_OPTION: pane.synchronized}
    return [option for option, is_changed in changed.items() if is_changed]


def _is_direct(sight: Sight) -> bool:
    """Tell whether tmux started the agent itself: then pane and banner vanish with the agent."""
    direct = (*sight.agent, *sight.keyed)
    return sight.pane is not None and any(process.pid == sight.pane.pid for process in direct)


DEADLINE_SLACK_S = 30.0


def check_lock(endings: Sequence[EndingState], policy: Policy, *, lock_held: bool) -> None:
    """Fail if the caller holds the lock and a session is alive: only dead ones can be recorded
    then."""
    sights = {}
    for ending in endings:
        if ending.answer is None:
            sights[ending.name] = ending.sight
    living = []
    for name, sight in sights.items():
        if sight.session or sight.owned.own:
            living.append(name)
    if lock_held and living:
        raise LockIsHeld(f"{policy.verb.value} {', '.join(living)}")


def _with_options(plan: Plan, inherited: Intent) -> Plan:
    """Add the pane options that a dead owner had changed, so that this ending restores them."""
    pane = plan.sight.pane
    socket = plan.sight.socket
    if pane is None:
        return plan
    older = []
    for it in inherited.options:
        if it.pane == pane.id and it.socket == socket:
            older.append(it)
    # A start sets this option while it waits for its confirmation, and does not record it.
    if inherited.verb == START and pane.remain_on_exit == "on":
        older = [PaneOption(socket, pane.id, BANNER_OPTION, None)]
    planned = {option.option for option in plan.options}
    added = (option for option in older if option.option not in planned)
    return replace(plan, options=(*plan.options, *added))


def _unchanged(row: Row, look: RegistryLook) -> bool:
    now = look.named(row.name)
    return now is not None and (now.status, now.tmux, now.pane) == (row.status, row.tmux, row.pane)


def _new_intent(processes: Processes, clock: Clock, place: Place, ending: EndingState) -> NewIntent:
    plan = ending.plan
    policy = ending.policy
    owner = processes.identify(place.pid)
    assert owner is not None  # noqa: S101 - this very process
    longest_s = sum(rung.wait_s for rung in plan.rungs if rung.skipped is None)
    longest_s += plan.after_turn_s or 0.0
    return NewIntent(
        name=ending.name,
        verb=policy.verb.value,
        reason=policy.reason.encode("utf-8", "backslashreplace").decode(),
        scope=policy.scope.value,
        owner=owner,
        boot_id=place.boot_id,
        deadline=clock.now() + longest_s + DEADLINE_SLACK_S,
        options=plan.options,
        plan=plan.recorded().to_text(),
    )


@contextlib.contextmanager
def _lock_registry(registry: RegistryFile, policy: Policy) -> Iterator[None]:
    """Hold the lock; a kill continues without it where the lock cannot be created."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(registry.locked())
        except Failure as failure:
            if policy.verb is not EndVerb.KILL or failure.code is not Code.REGISTRY_UNWRITABLE:
                raise
        yield


def recordable(
    registry: RegistryFile, look: RegistryLook, endings: Sequence[EndingState], policy: Policy
) -> list[EndingState]:
    """Return the endings whose end could be written, and answer the others. Raise a Failure when
    the registry as a whole cannot be written. A plan goes through the same trial."""
    if policy.verb is EndVerb.KILL or not endings:
        return list(endings)
    registry.check_writable()
    registry.check_space(look)
    _check_reason(policy)
    refused = not_editable(
        look, lambda row: _possible_changes(row, policy), [it.row for it in endings]
    )
    for ending in endings:
        if ending.name in refused:
            ending.answer = failed_target(ending.name, refused[ending.name])
    return [ending for ending in endings if ending.name not in refused]


def _check_reason(policy: Policy) -> None:
    try:
        policy.reason.encode()
    except UnicodeEncodeError:
        raise Failure(
            Code.REGISTRY_UNWRITABLE,
            f"could not {policy.verb.value}: the reason {policy.reason!r} is not UTF-8, and the"
            " registry is",
            "give the reason in UTF-8",
        ) from None


def _possible_changes(row: Row, policy: Policy) -> Changes:
    """Return all fields that the end may write."""
    recorded = [field for field, _ in row.conversations]
    ending = End(
        event=EVENT_OF_VERB[policy.verb],
        at=0.0,
        reason=policy.reason,
        resumable=True,
        screen="one line\nanother",
    )
    fields = recorded or [conversation_field(row.agent or "agent")]
    return {
        **end_changes(row.status, ending),
        ("stopped_by",): "",
        **{(field,): "x" for field in fields},
    }
