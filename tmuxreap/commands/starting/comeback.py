"""Continues a conversation: plans with which command, in which folder and store; and brings an
agent back into its own pane, which a restart has left dead: runs its resume command there, below a
shell if it ran below one, confirms that it lives, and records it. Where it does not come, the pane
is closed, and the row stays ended.

Refuses a conversation that is not on disk, or that a living agent is in. Never replaces a program
that lives, and never types into a shell."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Container, Mapping, Sequence

from tmuxreap.agents.conversations.background import Forked
from tmuxreap.agents.conversations.command_lines import resume_words
from tmuxreap.agents.conversations.find import Clues, with_path
from tmuxreap.agents.conversations.records import store_of
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import SHELLS
from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.starting.launch import BEGINNING_S, agent_failed, existing_folder
from tmuxreap.commands.starting.row import (
    Launch,
    Start,
    marks_of,
    open_intent,
    record_session,
)
from tmuxreap.core import answers, faults, model
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import (
    EndVerb,
    Live,
    Pane,
    ProcessId,
    RecordedPane,
    Row,
    Server,
    ServerSession,
    Terminal,
)
from tmuxreap.core.text import plain
from tmuxreap.core.values import frozen, replace, slotted
from tmuxreap.ending.end import restore_options
from tmuxreap.ending.ending_state import EndingState
from tmuxreap.ending.policy import EndingOptions, make_policy
from tmuxreap.ledger.records import Closing, Intent, RecordedStart
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.rows import conversation_field, recorded_conversation
from tmuxreap.registry.transitions import RowEvent, with_life
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import Known, store_environment
from tmuxreap.sessions.under_way import MarkInProgress
from tmuxreap.system.environment import MARK, PARENT


def take_up(context: Context, row: Row, own: Container[int] = ()) -> Launch:
    """Plan how the row's conversation continues; Failure if it has none or it is in use. `own`:
    the processes of its agent, where that is still in it."""
    profile, conversation, environment = resumable(context, row)
    _not_in_use(context, row, profile, conversation, own)
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
        event=RowEvent.RESUMED,
        conversation=conversation,
        environment=environment,
        terminal=terminal,
        replaces=row,
    )


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


def _not_in_use(
    context: Context, row: Row, profile: Profile, conversation: str, own: Container[int]
) -> None:
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
    for other, sight in zip(others, context.sights.of(others), strict=True):
        if sight.live in (Live.ALIVE, Live.UNKNOWN):
            raise _in_use(row, other.name, f"stop it first: {command('stop', other.name)}")
    for job in context.finder.sessions_in(_known(context, row, profile, conversation), profile):
        raise _in_use(row, job.where, job.way_out)
    process = context.finder.agent_in_conversation(profile, conversation, store, own)
    if process is not None:
        hint = f"leave that one first, or record its session: {command('adopt', row.name)}"
        raise _in_use(row, f"{profile.name} ({process.pid})", hint)


def _in_use(row: Row, who: str, hint: str) -> Failure:
    reason = f"{who} is in the same conversation"
    return could_not("resume", row.name, reason, hint, Code.CONVERSATION_IN_USE)


STEP_S = 0.05
SHELL = "SHELL"  # tmux tells its default shell by it


@frozen
class Way:
    """How one agent comes back, as planned before the first key."""

    spec: Launch
    shell: tuple[str, ...]  # that it ran below; empty for one that tmux started itself
    parent: str
    mark: str


def way_back(context: Context, ending: EndingState) -> Way:
    """Plan how the agent comes back; Failure if it could not be resumed."""
    sight = ending.sight
    row = ending.row
    own = frozenset(belonging.process.pid for belonging in sight.owned.own)
    spec = _spec(context, ending, _as_it_will_end(ending), own)
    pane = sight.pane
    leader = None
    if pane is not None and pane.pid:
        leader = context.processes.identify(pane.pid)
    if leader is None:
        hint = f"see what is left: {command('show', row.name)}"
        raise could_not("restart", row.name, "nothing runs in its pane", hint, Code.GONE)
    environ = context.processes.environ(leader) or {}
    direct = leader.pid in [process.pid for process in (*sight.agent, *sight.keyed)]
    argv = () if direct else context.processes.argv(leader)
    shell = shell_of_pane(argv, environ.get(SHELL))
    mark = _kept_mark(context, row.name, environ.get(MARK))
    return Way(spec, shell, environ.get(PARENT, ""), mark)


def _kept_mark(context: Context, name: str, found: str | None) -> str:
    """Return the mark that the pane has, if it is the row's: the environment of the session, and
    so every pane opened later, has the same. A session that we did not start gets a new one."""
    if found is not None and found == context.books.mark(name):
        return found
    return str(uuid.uuid4())


def _spec(
    context: Context, ending: EndingState, row: Row, own: frozenset[int] = frozenset()
) -> Launch:
    folder = row.pane.cwd or _folder_of(context, ending)
    spec = take_up(context, replace(row, pane=replace(row.pane, cwd=folder)), own)
    return replace(spec, socket=ending.first.socket, event=RowEvent.RESTARTED)


def _folder_of(context: Context, ending: EndingState) -> str | None:
    folders = (context.processes.cwd(process.id) for process in ending.first.agent)
    return next((folder for folder in folders if folder), None)


def _as_it_will_end(ending: EndingState) -> Row:
    """Return the row with what a stop would capture now."""
    row = ending.row
    known = ending.known
    if ending.agent is None or known.conversation.id is None:
        return row
    found: dict[str, object] = {conversation_field(ending.agent): known.conversation.id}
    if known.store is not None:
        found["store"] = known.store
    if row.agent is None:
        found["agent"] = ending.agent
    return with_life(row, found)


@slotted
class Comeback:
    """One agent on its way back, from its held pane to its row."""

    context: Context
    ending: EndingState
    way: Way
    confirm_s: float
    intent: Intent | None = None
    spec: Launch | None = None
    row: Row | None = None  # provisional: what a look needs

    @property
    def name(self) -> str:
        return self.ending.name

    def begin(self, mark_in_progress: MarkInProgress) -> None:
        """Run the agent in its pane; Failure if that cannot be done."""
        context = self.context
        ending = self.ending
        self.intent = ending.intent
        row = context.registry.look().named(self.name)
        if row is None:
            raise self._failure("its row vanished from the registry meanwhile")
        old_pid = ending.first.pane.pid if ending.first.pane else None
        spec = replace(_spec(context, ending, row), confirm_s=self.confirm_s)
        self.spec = replace(spec, facts={"by": "restart", "old_pid": old_pid})
        server, session, pane = self._held()
        self._open(server, session, pane, mark_in_progress)
        faults.at(faults.Step.HELD)
        words = below(self.way.shell, spec.words)
        deed = model.Respawn(server, pane, spec.cwd, words, self._marks(spec))
        context.tmux.do(spec.socket, [deed])
        server, session, pane = self._pane()
        self.row = self._provisional(server, session, pane)
        faults.at(faults.Step.CREATED)
        if pane.dead and pane.pid == deed.pane.pid:
            raise self._failure("its pane could not be used again")

    def finish(self) -> answers.Session:
        """Confirm that the agent lives, and record it; Failure if it does not."""
        context = self.context
        spec = self.spec
        row = self.row
        assert spec is not None and row is not None  # noqa: S101 - it has begun
        sight = self._confirm(spec, row)
        faults.at(faults.Step.CONFIRMED)
        restore_options(context.tmux, self.ending.plan.options)
        start = Start(self.way.mark)
        if self.intent is not None:
            start.closing = (Closing(self.intent.id, spec.event.value),)
        return record_session(context, row, sight, spec, start)

    def clear(self) -> None:
        """Close the pane and the intent of an agent that does not come; what cannot be closed is
        left to `reconcile`."""
        context = self.context
        ending = self.ending
        row = self.row
        if row is None:
            try:
                row = self._provisional(*self._pane())
            except Failure:
                row = None
        cleared = row is None or close_pane(context, row)
        intent = self.intent or ending.intent
        if intent is None:
            return
        if cleared:
            context.books.close_intents([Closing(intent.id, "failed")])
        else:
            context.books.release([intent.id])

    def _open(
        self, server: Server, session: ServerSession, pane: Pane, mark_in_progress: MarkInProgress
    ) -> None:
        """Open the intent of the start, in one step with the end of the other."""
        spec = self.spec
        assert spec is not None  # noqa: S101 - set before
        plan = RecordedStart(
            spec.socket,
            spec.server,
            spec.terminal.value,
            spec.agent,
            (self.way.mark,),
            session=session.id,
            pane=pane.id,
            held_by=server.pid,
        )
        event = spec.event.value
        opened = open_intent(self.context, spec.name, event, plan.to_text(), take_over=True)
        if opened is not None:
            self.intent = opened
            mark_in_progress([opened])

    def _marks(self, spec: Launch) -> dict[str, str]:
        marks = marks_of(self.context, spec, self.way.mark)
        return {**marks, PARENT: self.way.parent}

    def _held(self) -> tuple[Server, ServerSession, Pane]:
        server, session, pane = self._pane()
        if not pane.dead:
            raise self._failure("another program runs in its pane by now")
        return server, session, pane

    def _pane(self) -> tuple[Server, ServerSession, Pane]:
        """Return the pane of the agent as it is now; Failure if it is gone."""
        first = self.ending.first
        server = self.context.tmux.look(first.socket)
        old = first.server
        if (
            isinstance(server, Server)
            and isinstance(old, Server)
            and first.session is not None
            and first.pane is not None
            and (server.pid, server.started) == (old.pid, old.started)
        ):
            for session in server.sessions:
                same = (session.id, session.created) == (first.session.id, first.session.created)
                for pane in session.panes if same else ():
                    if pane.id == first.pane.id:
                        return server, session, pane
        raise self._failure("its pane is gone")

    def _provisional(self, server: Server, session: ServerSession, pane: Pane) -> Row:
        processes = self.context.processes
        leader = None
        if pane.pid is not None and not pane.dead:
            leader = processes.identify(pane.pid)
        start = None if leader is None else leader.start
        recorded = RecordedPane(pid=pane.pid, id=pane.id, start_ticks=start)
        row = self.ending.row
        tmux = self.context.place.identity_of(server, session)
        return Row(
            row.name,
            agent=self.ending.agent,
            tmux_server=row.tmux_server,
            tmux=tmux,
            pane=recorded,
        )

    def _confirm(self, spec: Launch, row: Row) -> Sight:
        """Return the pane after the confirmation time. Below a shell, the agent begins when that
        has read its files."""
        context = self.context
        profile = context.profiles.of(spec.agent)
        leader = context.processes.identify(row.pane.pid or 0)
        sight = None
        if leader is not None:
            sight = self._wait_for_agent(row, leader)
        if sight is not None:
            agents = {process.id for process in sight.agent}
            context.processes.wait(agents, spec.confirm_s)
            sight = context.sights.of_row(row)
        if sight is None or not sight.agent or sight.pane is None or sight.pane.dead:
            raise self._not_there(spec, profile)
        return sight

    def _wait_for_agent(self, row: Row, leader: ProcessId) -> Sight | None:
        context = self.context
        until = context.clock.monotonic() + BEGINNING_S
        while True:
            sight = context.sights.of_row(row)
            if sight.agent:
                return sight
            late = context.clock.monotonic() >= until
            if late or context.processes.wait({leader}, STEP_S):
                return None

    def _not_there(self, spec: Launch, profile: Profile | None) -> Failure:
        pane = self.ending.first.pane
        screen = None
        if pane is not None:
            screen = self.context.tmux.capture(spec.socket, pane.id)
        found = agent_failed(spec, profile, True, screen or "")
        reason = found.message.partition(": ")[2]
        return self._failure(reason)

    def _failure(self, reason: str) -> Failure:
        hint = f"when that is fixed: {command('resume', self.name)}"
        return could_not("restart", self.name, reason, hint, Code.START_FAILED)


def close_pane(context: Context, row: Row, verb: EndVerb = EndVerb.KILL) -> bool:
    """End what is in the pane of this provisional row, and close it; tell whether it is gone."""
    options = EndingOptions("start_failed", grace=1.0, pane_only=True)
    return ender_of(context).end_unregistered(row, make_policy(verb, options, {})).error is None


# The agent is a job of the shell, in its own process group, as if it had been typed there. A C-z
# would leave it behind without a shell that knows of it: it goes on at once.
SCRIPT = '"$@"; while jobs %1 >/dev/null 2>&1; do fg %1; done; exec '
FISH_SCRIPT = "status job-control full; $argv; while jobs -q; fg; end; exec "
POSIX = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
FISH = "fish"
INTERACTIVE = "-i"
LOGIN = "-l"
COMMAND = "-c"


def shell_of_pane(argv: Sequence[str], default: str | None) -> tuple[str, ...]:
    """Return the shell that a pane's program is, with its flags; empty for any other program.
    `default`: the user's shell, which takes the place of one that runs a script."""
    if not argv or _name(argv[0]) not in SHELLS:
        return ()
    own = argv[0].lstrip("-")
    login = [LOGIN] if argv[0].startswith("-") else []
    if all(word.startswith("-") and not _takes_command(word) for word in argv[1:]):
        flags = [word for word in argv[1:] if word not in login]
        return (own, *login, *flags)
    for word in argv[1:]:
        for script in (SCRIPT, FISH_SCRIPT):
            if word.startswith(script):
                return tuple(shlex.split(word.removeprefix(script)))
    return (default or own,)


def below(shell: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Return the command that runs these words below the shell; the words alone without one."""
    if not shell:
        return tuple(words)
    own, *flags = shell
    name = _name(own)
    asks = [] if INTERACTIVE in flags else [INTERACTIVE]
    then = shlex.join(shell)
    if name == FISH:
        return (*shell, *asks, COMMAND, FISH_SCRIPT + then, *words)
    if name not in POSIX:  # one with another language: its start files come after the agent
        return ("sh", INTERACTIVE, COMMAND, SCRIPT + then, "sh", *words)
    return (own, *flags, *asks, COMMAND, SCRIPT + then, name, *words)


def _name(program: str) -> str:
    return program.lstrip("-").rsplit("/", 1)[-1]


def _takes_command(flag: str) -> bool:
    return flag.startswith("--command") or (not flag.startswith("--") and "c" in flag)
