"""What will be done to one session, as plain data: `--dry-run` prints exactly what the intent
records. Never does I/O."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from tmuxreap.agents.profiles import KeyStep, Pause, Profile
from tmuxreap.agents.screens import Screen, State
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import AgentState, EndVerb, Live, Pane, Scope, Server, Status
from tmuxreap.core.results import AGENT_GONE
from tmuxreap.core.values import frozen
from tmuxreap.ending.policy import Policy
from tmuxreap.ledger.records import (
    AfterTurn,
    PaneOption,
    PlannedOption,
    PlannedProcess,
    PlannedStep,
    RecordedPlan,
)
from tmuxreap.proof.ownership import Belonging
from tmuxreap.proof.panes import describe_panes, in_foreground
from tmuxreap.proof.sight import Sight
from tmuxreap.sessions.look import BANNER_OPTION, SIBLINGS_OPTION

KILL_WAIT_S = 2.0
DAEMON_WAIT_S = 10.0
REPEATS = 3  # how often keys are sent, at most
SETTLE_S = 0.8  # how long a screen may take to show the effect of a key


# What these options of a pane are while keys are sent.
WHILE_KEYS = {BANNER_OPTION: "on", SIBLINGS_OPTION: "off"}


class RungKind(Enum):
    DAEMON = "daemon"  # the agent's own command, for a session that its own daemon runs
    KEYS = "keys"
    HANGUP = "hangup"
    TERM = "term"
    KILL = "kill"


RUNGS: dict[EndVerb, tuple[RungKind, ...]] = {
    EndVerb.STOP: (RungKind.KEYS, RungKind.HANGUP, RungKind.KILL),
    EndVerb.KILL: (RungKind.TERM, RungKind.KILL),
    EndVerb.RESTART: (RungKind.KEYS, RungKind.HANGUP, RungKind.KILL),
    EndVerb.INTERRUPT: (RungKind.KEYS,),
    EndVerb.SEND: (RungKind.KEYS,),
}


# Of a session that an agent's own daemon runs, without a terminal.
RUNGS_IN_DAEMON = (RungKind.DAEMON, RungKind.TERM, RungKind.KILL)
ENDING_VERBS = (EndVerb.STOP, EndVerb.KILL)


@frozen
class PlannedRung:
    rung: RungKind
    wait_s: float
    skipped: str | None = None

    def recorded(self) -> PlannedStep:
        return PlannedStep(self.rung.value, round(self.wait_s * 1000), self.skipped)


@frozen
class Plan:
    name: str
    agent: str | None
    policy: Policy
    sight: Sight  # of the first look
    screen: Screen | None
    rungs: tuple[PlannedRung, ...]
    options: tuple[PaneOption, ...]  # of the user's pane, changed while keys are sent
    purges: tuple[str, ...] = ()  # paths to delete, as far as the conversation is known yet
    left: tuple[str, ...] = ()
    doing: AgentState | None = None  # as `list` has it

    @property
    def server(self) -> Server | None:
        if isinstance(self.sight.server, Server):
            return self.sight.server
        return None

    @property
    def agent_pids(self) -> tuple[int, ...]:
        """The agent's pids; of an agent that was not recognised, the pane's."""
        pane = self.sight.pane
        if self.sight.agent:
            return tuple(process.pid for process in self.sight.agent)
        if pane is None or pane.pid is None:
            return ()
        return (pane.pid,)

    @property
    def after_turn_s(self) -> float | None:
        """The time that the agent has to end its turn; its hooks read it in the intent."""
        if self.sight.live is Live.ALIVE:
            return self.policy.after_turn_s
        return None

    def recorded(self) -> RecordedPlan:
        """Return the plan as an intent records it."""
        policy = self.policy
        sight = self.sight
        after_turn = None
        if self.after_turn_s is not None:
            after_turn = AfterTurn(round(self.after_turn_s * 1000))
        held_by = None
        if policy.holds_pane and self.server is not None:
            held_by = self.server.pid
        return RecordedPlan(
            name=self.name,
            verb=policy.verb.value,
            scope=policy.scope.value,
            reason=policy.reason,
            agent=self.agent,
            socket=sight.socket,
            session=sight.session.id if sight.session else None,
            pane=sight.pane.id if sight.pane else None,
            state=self.screen.state.value if self.screen else None,
            doing=self.doing.value if self.doing else None,
            rungs=tuple(rung.recorded() for rung in self.rungs),
            options=tuple(map(_option, self.options)),
            processes=tuple(map(_belonging, sight.owned.own)),
            spared=tuple(map(_belonging, sight.owned.spared)),
            unproven=tuple(map(_belonging, sight.named_only)) or None,
            purge=policy.purge or None,
            purges=self.purges if policy.purge else None,
            left=self.left if policy.purge else None,
            task_status=policy.task_status,
            cleanup=policy.cleanup or None,
            set=policy.set_name,
            after_turn=after_turn,
            held_by=held_by,
        )


def trouble_for(sight: Sight, scope: Scope) -> Failure | None:
    """Return what hinders an ending of this scope: which pane is the agent's does not matter where
    all of them are ended."""
    trouble = sight.trouble
    if trouble is not None and scope is Scope.SESSION and trouble.code is Code.AMBIGUOUS_PANE:
        return None
    return trouble


def refusal(sight: Sight, status: Status, policy: Policy, name: str) -> Failure | None:
    """Return why this session must not be touched, or None."""
    trouble = trouble_for(sight, policy.scope)
    replaced = trouble is not None and trouble.code is Code.SESSION_REPLACED
    if trouble is not None and not (status.ended and replaced):
        return trouble
    # A live session under the name of an ended row belongs to something else.
    if status.ended and (replaced or sight.session is not None):
        reason = f"its row is {status.value}, yet a session of that name is alive"
        hint = f"if it is yours, record it first: {command('adopt', name)}"
        return could_not(policy.verb.phrase, name, reason, hint, Code.SESSION_ALIVE)
    if sight.contains_caller and not policy.own_session:
        reason = "this command runs inside it"
        hint = "use --self to end it anyway, or call from another session"
        return could_not(policy.verb.phrase, name, reason, hint, Code.OWN_SESSION)
    if sight.foreign and policy.scope is Scope.AGENT:
        return foreign_panes(sight.foreign, policy.verb, name)
    if policy.scope is Scope.SESSION and (shared := _shared_in_panes(sight)):
        reason = f"a pane of it runs {shared}, which is shared and not its own to end"
        hint = "end only the agent's pane with --pane-only"
        return could_not(policy.verb.phrase, name, reason, hint, Code.FOREIGN_PANES)
    if sight.nested is None:
        return None
    agent = sight.nested.agent
    socket = sight.nested.socket
    reason = (
        f"its agent {agent.comm} ({agent.pid}) lives in another tmux, which its pane only shows"
    )
    listing = f"tmux -S {socket} ls" if socket else "tmux ls"
    hint = f"end it there; to list its sessions: {listing}"
    return could_not(policy.verb.phrase, name, reason, hint, Code.BEYOND_REACH)


def _shared_in_panes(sight: Sight) -> str:
    """Return the spared programs that panes of the session were opened with: closing the session
    would end them."""
    if sight.session is None:
        return ""
    leaders = {pane.pid for pane in sight.session.panes}
    spared = (belonging.process for belonging in sight.owned.spared)
    return ", ".join(f"{it.comm} ({it.pid})" for it in spared if it.pid in leaders)


def foreign_panes(panes: Iterable[Pane], verb: EndVerb, name: str) -> Failure:
    reason = f"other panes of the session are busy: {describe_panes(panes)}"
    hint = "end them too with --whole-session, or only the agent's pane with --pane-only"
    return could_not(verb.phrase, name, reason, hint, Code.FOREIGN_PANES)


def make_plan(
    name: str,
    agent: str | None,
    sight: Sight,
    screen: Screen | None,
    profile: Profile | None,
    policy: Policy,
    options: tuple[PaneOption, ...] = (),
    *,
    agent_named: bool = False,
    served: bool = False,
    held: str | None = None,
    doing: AgentState | None = None,
) -> Plan:
    """Plan the ending of one session. `agent_named`: the user named the agent at start or adopt;
    `served`: its server runs something, which is ended last; `held`: why it would not get keys."""
    keys_skipped = why_no_keys(sight, profile, policy, agent_named=agent_named) or held
    rungs = []
    for rung in _rungs(sight, policy):
        rungs.append(_rung(rung, keys_skipped, profile, policy, screen))
    if served:
        rungs.append(_rung(RungKind.DAEMON, keys_skipped, profile, policy, screen))
    if keys_skipped is not None:
        options = tuple(it for it in options if policy.holds_pane and it.option == BANNER_OPTION)
    return Plan(name, agent, policy, sight, screen, tuple(rungs), options, doing=doing)


def _rungs(sight: Sight, policy: Policy) -> tuple[RungKind, ...]:
    if sight.job is None or policy.verb not in ENDING_VERBS:
        return RUNGS[policy.verb]
    if sight.session is None:
        return RUNGS_IN_DAEMON
    return (RungKind.DAEMON, *RUNGS[policy.verb])


def why_no_keys(
    sight: Sight, profile: Profile | None, policy: Policy, *, agent_named: bool = False
) -> str | None:
    """Return why no keys may be sent; None for a known agent in front, whose pane takes input."""
    pane = sight.pane
    if policy.verb is EndVerb.KILL:
        return "a kill sends none"
    if policy.keys_timeout_s == 0:
        return "--keys-timeout 0"
    if sight.live is not Live.ALIVE:
        return AGENT_GONE
    if sight.session is None or pane is None:
        return "there is no pane to type into"
    if sight.job is not None and policy.verb not in ENDING_VERBS:
        return "its conversation is in its agent's own daemon"
    if profile is None or not profile.has_keys:
        return "no keys are known for this agent"
    carrier = sight.carrier
    if carrier is not None and not agent_named:
        return f"it is behind {carrier.program}, and the row does not say which agent it is"
    if carrier is not None and carrier.nested:
        return f"{carrier.nested} takes the keys behind {carrier.program}"
    if not sight.agent and carrier is None:
        return "the agent is not recognised in the pane"
    if pane.input_off:
        return "the pane takes no input"
    if not any(in_foreground(process) for process in sight.keyed):
        return "the agent is not in front"
    return None


def exits_quickly(screen: Screen | None, profile: Profile) -> bool:
    """Tell whether the quick exit keys may be used: only on a screen known to be idle and empty,
    and where the exit command asks nothing."""
    if screen is None or screen.background:
        return False
    return screen.state is State.IDLE and bool(profile.idle_keys)


def keys_wait_s(profile: Profile | None, screen: Screen | None) -> float:
    """Return how long the keys take in this state, with their pauses. Repeats fit into the time
    that the agent has to exit."""
    if profile is None:
        return 0.0
    if exits_quickly(screen, profile):
        steps = profile.idle_keys
    else:
        steps = profile.safe_keys
    if screen is not None and screen.setup:
        steps = profile.setup_keys * REPEATS
    busy = screen is not None and screen.state is State.BUSY and bool(profile.interrupt_keys)
    return pauses_s(steps) + profile.leave_s + (REPEATS * SETTLE_S if busy else 0.0)


def pauses_s(steps: Iterable[KeyStep]) -> float:
    return sum(step.seconds for step in steps if isinstance(step, Pause))


def _rung(
    rung: RungKind,
    keys_skipped: str | None,
    profile: Profile | None,
    policy: Policy,
    screen: Screen | None,
) -> PlannedRung:
    if rung is RungKind.KEYS:
        timeout_s = policy.keys_timeout_s
        if timeout_s is None:
            timeout_s = keys_wait_s(profile, screen)
        return PlannedRung(rung, timeout_s, keys_skipped)
    if rung is RungKind.DAEMON:
        background = profile.background if profile is not None else None
        return PlannedRung(rung, DAEMON_WAIT_S + (background.respawn_s if background else 0.0))
    if rung is RungKind.KILL:
        return PlannedRung(rung, KILL_WAIT_S, None if policy.force else "--no-force")
    no_term = rung is RungKind.TERM and policy.grace == 0
    return PlannedRung(rung, policy.grace, "--grace 0" if no_term else None)


def _option(option: PaneOption) -> PlannedOption:
    return PlannedOption(option.pane, option.option, option.before, WHILE_KEYS[option.option])


def _belonging(belonging: Belonging) -> PlannedProcess:
    process = belonging.process
    return PlannedProcess(process.pid, process.id.start, process.comm, belonging.why)
