"""`reap`: ends sessions by evidence. Judges and shows; with --yes it judges again and ends, as
`stop` does, those with the same verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.reap.candidates import Candidate, find_leftovers, judge_rows
from tmuxreap.commands.reap.leaks import Leak, find_leaks, told
from tmuxreap.commands.reap.verdicts import NOT_ALIVE, Kind, Limits
from tmuxreap.commands.targets import left_out, warned_of_children
from tmuxreap.core.answers import Change, Kept
from tmuxreap.core.errors import Failure, command
from tmuxreap.core.model import EndVerb, Live
from tmuxreap.core.results import Ending, Item, Result, counts
from tmuxreap.core.times import iso, seconds_of
from tmuxreap.core.values import field, frozen, replace
from tmuxreap.ending.end import in_new_set
from tmuxreap.ending.policy import DEFAULTS_OF_REAP, EndingOptions, Policy, Seconds, make_policy
from tmuxreap.registry.file import RegistryLook
from tmuxreap.registry.rows import is_protected
from tmuxreap.sessions.context import Context

PROTECTED = "it is protected"


KEPT_SHOWN = 8  # why these were kept is said to people; the rest is counted


@frozen
class ReapRequest:
    kinds: tuple[Kind, ...] = ()  # empty: all of them
    limits: Limits = field(default_factory=Limits)
    policy: Policy = field(default_factory=lambda: _policy(EndingOptions(), {}))
    dry_run: bool = False
    yes: bool = False
    why: str | None = None  # the caller's own words, appended to the verdict

    def policy_for(self, kind: Kind) -> Policy:
        """Return the policy for this verdict; orphans leave the task status alone."""
        if not self.why:
            reason = kind.value
        else:
            reason = f"{kind.value}: {self.why}"
        if kind is Kind.ORPHAN:
            task_status = None
        else:
            task_status = self.policy.task_status
        return replace(self.policy, reason=reason, task_status=task_status)


def request_of(
    context: Context,
    kinds: tuple[Kind, ...],
    options: EndingOptions,
    *,
    stalled_after: Seconds | None = None,
    idle_after: Seconds | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> ReapRequest:
    """Make a request; what is not given is the user's default."""
    limits = Limits()
    for name, given in (("stalled_after", stalled_after), ("idle_after", idle_after)):
        wanted = given
        if wanted is None:
            wanted = context.default_seconds(f"reap.{name}")
        if wanted is not None:
            seconds = seconds_of(wanted, f"--{name.replace('_', '-')}")
            limits = replace(limits, **{f"{name}_s": seconds})
    policy = _policy(options, context.defaults)
    return ReapRequest(kinds, limits, policy, dry_run, yes, options.reason)


def _policy(options: EndingOptions, defaults: Mapping[str, object]) -> Policy:
    if options.task_status is None:
        options = replace(options, task_status="failed")
    return make_policy(EndVerb.STOP, options, defaults, DEFAULTS_OF_REAP)


def run(context: Context, request: ReapRequest) -> Result:
    if request.yes and not request.dry_run:
        request = replace(request, policy=in_new_set(request.policy))
    look = context.registry.look()
    if request.yes and not request.dry_run and context.unread is not None:
        raise context.unread
    found, kept = _judged(context, look, request)
    if request.yes and not request.dry_run:
        items, dropped = sweep(context, request, found)
        kept += dropped
    else:
        items = [_planned(context, one, request) for one in found]
    unknown = []
    for one in kept:
        if one.why == NOT_ALIVE[Live.UNKNOWN]:
            unknown.append(one.name)
    if unknown:
        context.warnings.append(
            f"tmux_unreachable: could not judge {', '.join(unknown)}: not looked at; see why:"
            f" {command('show', unknown[0])}"
        )
    protected = [one.name for one in kept if one.why == PROTECTED]
    if protected:
        context.warnings.append(left_out(protected))
    leaks = _leaks(context, look, request)
    kept += _launched(context, look, request)
    more = {
        "counts": counts(items),
        "kept": kept,
        "leaked": [leak.as_answer() for leak in leaks],
        "set": request.policy.in_set,
    }
    remark = "\n".join(filter(None, (_kept_text(kept), told(leaks) if leaks else "")))
    return context.result("reap", items, look.warnings, more=more, remark=remark or None)


def _kept_text(kept: Sequence[Kept]) -> str:
    """Say for people why somebody was kept; `protected` has a warning of its own."""
    others = [one for one in kept if one.why != PROTECTED]
    lines = [f"kept {one.name}: {one.why}" for one in others[:KEPT_SHOWN]]
    if len(others) > KEPT_SHOWN:
        lines.append(f"and {len(others) - KEPT_SHOWN} more; see all with --json")
    return "\n".join(lines)


def _leaks(context: Context, look: RegistryLook, request: ReapRequest) -> Sequence[Leak]:
    """Return what has leaked, where orphans are looked for: only named, never ended."""
    if Kind.ORPHAN not in request.kinds:
        return ()
    return find_leaks(context, context.sights.of(look.usable))


def _launched(context: Context, look: RegistryLook, request: ReapRequest) -> Iterator[Kept]:
    """Yield what ended rows launched in their agents' own daemons: made to outlive them."""
    if Kind.ORPHAN not in request.kinds:
        return
    for one in context.seats.running(look.usable):
        if one.parent is not None and one.parent.status.ended:
            yield Kept(one.name, f"made to outlive; to end it: {command('stop', one.name)}")


def sweep(
    context: Context, request: ReapRequest, found: Sequence[Candidate]
) -> tuple[list[Item], list[Kept]]:
    """End those with an unchanged verdict."""
    look = context.registry.look()
    if not found:
        return [], []
    judged, reasons = _judged(context, look, request)
    before = {one.key for one in found}
    why = {one.name: one.why for one in reasons}
    current = {one.key: one for one in judged}
    dropped = []
    for one in found:
        if one.key not in current:
            dropped.append(one.verdict.name)
    items = _ended(context, look, [one for key, one in current.items() if key in before], request)
    return items, [Kept(name, f"not any more: {why.get(name, 'it is gone')}") for name in dropped]


def sweep_for_watch(
    context: Context, kinds: tuple[Kind, ...], but_not: Collection[str]
) -> list[Change]:
    """Sweep after a full look of `watch`, and return events. That look reports failures itself."""
    request = request_of(context, kinds, EndingOptions(), yes=True)
    request = replace(request, policy=in_new_set(request.policy))
    if context.unread is not None:
        return []
    try:
        found, _ = _judged(context, context.registry.look(), request)
        items, _ = sweep(
            context, request, [one for one in found if one.verdict.name not in but_not]
        )
    except Failure:
        return []
    at = iso(context.clock.now())
    return [_news(one, at) for one in items if isinstance(one, Ending)]


def _news(one: Ending, at: str) -> Change:
    news = Change(one.name, "reaped", at, error=one.error, ending=one)
    return replace(news, outcome=one.outcome, verdict=one.verdict)


def _judged(
    context: Context, look: RegistryLook, request: ReapRequest
) -> tuple[list[Candidate], list[Kept]]:
    kinds: Collection[Kind] = request.kinds or tuple(Kind)
    running = [row for row in look.usable if not row.status.ended]
    found, kept = judge_rows(context, running, kinds, request.limits)
    if Kind.ORPHAN in kinds:
        leftovers, busy = find_leftovers(context, look.usable)
        names = {one.row.name for one in leftovers if one.past is None}
        found += leftovers
        kept = [*(one for one in kept if one.name not in names), *busy]
    for one in found:
        if is_protected(one.row):
            kept.append(Kept(one.row.name, PROTECTED))
    return [one for one in found if not is_protected(one.row)], kept


def _planned(context: Context, one: Candidate, request: ReapRequest) -> Item:
    past = {one.row.name: one.past} if one.past else None
    (plan,) = ender_of(context).dry_run([one.row], request.policy_for(one.verdict.kind), past)
    return _item(one, plan)


def _ended(
    context: Context, look: RegistryLook, found: Sequence[Candidate], request: ReapRequest
) -> list[Item]:
    """End the rows, those with the same verdict together."""
    items: list[Item] = []
    for kind in Kind:
        same = [one for one in found if one.verdict.kind is kind and one.past is None]
        if same:
            ended = ender_of(context).end([one.row for one in same], request.policy_for(kind))
            items += map(_item, same, warned_of_children(look, ended))
    return [*items, *(_swept(context, one, request) for one in found if one.past is not None)]


def _swept(context: Context, one: Candidate, request: ReapRequest) -> Item:
    item = ender_of(context).end_unregistered(one.row, request.policy_for(Kind.ORPHAN), one.past)
    evidence = {"verdict": Kind.ORPHAN.value, **one.verdict.evidence}
    context.books.note(one.row.name, "reaped", evidence)
    return _item(one, item)


def _item(one: Candidate, item: Item) -> Item:
    if not isinstance(item, Ending):
        return item
    return replace(item, verdict=one.verdict.kind.value, evidence=one.verdict.evidence)
