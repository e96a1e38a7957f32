"""What the caller of an ending asked for: the options of any interface and the user's defaults,
made one `Policy`. Never looks, and decides nothing about a session."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core.defaults import HANGUP_GRACE_S, KILLED, MANUAL_STOP, TERM_GRACE_S
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb, Scope
from tmuxreap.core.times import seconds_of
from tmuxreap.core.values import frozen, replace
from tmuxreap.ledger.records import Intent
from tmuxreap.registry.targets import LAST

LONGEST_NAME = 100

REASONS: dict[EndVerb, str] = {
    EndVerb.STOP: MANUAL_STOP,
    EndVerb.KILL: KILLED,
    EndVerb.RESTART: "restarted",
}
TASK_STATUSES = ("failed", "ready", "cancelled")

# The options that the user's defaults fill in, and their keys in config.yaml.
DEFAULTS = {"reason": "reason", "grace": "grace"}
DEFAULTS_OF_REAP = {"grace": "reap.grace", "cleanup": "cleanup"}

Seconds = float | str  # or text such as "2h"


@frozen
class EndingOptions:
    """The options of an ending, as any interface gives them. None: not given."""

    reason: str | None = None
    keys_timeout: Seconds | None = None
    grace: Seconds | None = None
    after_turn: Seconds | None = None
    no_force: bool = False
    whole_session: bool = False
    pane_only: bool = False
    itself: bool = False
    purge: bool = False
    cleanup: bool | None = None
    unregistered: bool = False
    task_status: str | None = None
    set_name: str | None = None


@frozen
class Policy:
    """What the caller asked for."""

    verb: EndVerb
    reason: str
    keys_timeout_s: float | None = None
    grace_s: float | None = None
    force: bool = True
    scope: Scope = Scope.AGENT
    purge: bool = False
    own_session: bool = False  # the session that the caller runs in may be ended
    unregistered: bool = False
    cleanup: bool = False
    after_turn_s: float | None = None
    task_status: str | None = None
    asked_by: Mapping[str, object] | None = None  # set when another process carries it out
    # Of those that this command ends, to be resumed together: as given, else an ID. The plan has
    # the name alone: a plan that is only shown has no ID.
    set_name: str | None = None
    set_id: str | None = None

    @property
    def in_set(self) -> str | None:
        return self.set_name or self.set_id

    @property
    def holds_pane(self) -> bool:
        """Whether the agent's pane stays when all in it is gone, for the agent to come back."""
        return self.verb is EndVerb.RESTART

    @property
    def grace(self) -> float:
        if self.grace_s is not None:
            return self.grace_s
        if self.verb is EndVerb.KILL:
            return TERM_GRACE_S
        return HANGUP_GRACE_S


def make_policy(
    verb: EndVerb,
    options: EndingOptions,
    defaults: Mapping[str, object],
    keys: Mapping[str, str] = DEFAULTS,
) -> Policy:
    """Return what these options and the user's defaults ask for. Raise a Failure for what cannot
    be meant. `keys`: the defaults that apply."""
    for name, key in keys.items():
        if getattr(options, name) in (None, "") and key in defaults:
            options = replace(options, **{name: defaults[key]})
    task_status = options.task_status
    if task_status is None and verb is EndVerb.KILL:
        task_status = TASK_STATUSES[0]
    return Policy(
        verb=verb,
        reason=options.reason or REASONS[verb],
        keys_timeout_s=_seconds(options.keys_timeout, "--keys-timeout"),
        grace_s=_seconds(options.grace, "--grace"),
        force=not options.no_force,
        scope=_scope(options),
        purge=options.purge,
        own_session=options.itself,
        unregistered=options.unregistered,
        cleanup=options.cleanup is True,
        after_turn_s=_seconds(options.after_turn, "--after-turn"),
        task_status=_known_status(task_status),
        set_name=_checked_set(options.set_name),
    )


def _seconds(given: Seconds | None, flag: str) -> float | None:
    return None if given is None else seconds_of(given, flag)


def _scope(options: EndingOptions) -> Scope:
    if options.whole_session and options.pane_only:
        reason = "could not read the command: --whole-session and --pane-only cannot be combined"
        raise Failure(Code.USAGE, reason, "give one of them")
    if options.whole_session:
        return Scope.SESSION
    return Scope.PANE if options.pane_only else Scope.AGENT


def _known_status(word: str | None) -> str | None:
    if word is not None and word not in TASK_STATUSES:
        known = ", ".join(TASK_STATUSES)
        reason = f"could not read --task-status: {word!r} is not one of {known}"
        raise Failure(Code.USAGE, reason, "as in: --task-status cancelled")
    return word


def _checked_set(name: str | None) -> str | None:
    reason = None if name is None else _why_no_set(name)
    if reason is not None:
        message = f"could not name the set {name!r}: {reason}"
        raise Failure(Code.USAGE, message, "take a short word, as in: --set evening")
    return name


def _why_no_set(name: str) -> str | None:
    if not name.strip():
        return "it is empty"
    if name == LAST:
        return "that word means the newest set"
    if not name.isprintable():
        return "it has characters that cannot be shown"
    if name != name.strip():
        return "it begins or ends with a space"
    if len(name) > LONGEST_NAME:
        return f"it is longer than {LONGEST_NAME} characters"
    return None


def recorded_policy(intent: Intent) -> Policy:
    """Return what an intent asked for, as far as it matters once the agent is gone. Of a restart
    nobody is left to bring it back: it ends like a stop."""
    plan = intent.recorded
    verb = EndVerb(intent.verb)
    scope = Scope(intent.scope)
    if scope is Scope.SESSION:
        # A person may have brought panes into it since: that those end was never asked for.
        scope = Scope.AGENT
    return Policy(
        EndVerb.STOP if verb is EndVerb.RESTART else verb,
        intent.reason,
        scope=scope,
        task_status=plan.task_status,
        cleanup=plan.cleanup is True,
        set_id=set_of(intent),
    )


def set_of(intent: Intent) -> str | None:
    """Return the set of an ending that its owner did not finish. One without a name is in the set
    of what that owner left: its ID is in no plan. A restart has none."""
    if intent.verb == EndVerb.RESTART.value:
        return None
    return intent.recorded.set or f"{intent.owner.pid}-{intent.owner.start}"
