"""Runs one verb on many hosts: asks one question about all plans, and merges the answers into one.
Never sends a pattern after a confirmation: it sends names with identities."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tmuxreap.commands.list import SORT_KEYS
from tmuxreap.core.answers import Session
from tmuxreap.core.errors import Code, Failure, declined
from tmuxreap.core.results import Item, RemoteResult, Result, local
from tmuxreap.core.text import Style
from tmuxreap.core.values import frozen, replace
from tmuxreap.core.verbs import VERBS, changes
from tmuxreap.hosts import choose
from tmuxreap.hosts.choose import HostTargets
from tmuxreap.hosts.crowd import CutShort, call_in_threads, call_until
from tmuxreap.hosts.engines import shared_folder
from tmuxreap.hosts.file import EVERY, remember
from tmuxreap.hosts.talk import ask, hang_up
from tmuxreap.hosts.wire import Reply, WireRequest
from tmuxreap.interfaces.cli import commands as verbs
from tmuxreap.interfaces.cli.boundary import question
from tmuxreap.registry.targets import selects_many
from tmuxreap.sessions.context import Context


@frozen
class OnHosts:
    """One verb and its targets, by host."""

    context: Context
    verb: str
    by_host: Sequence[HostTargets]
    at_once: int
    words: Mapping[str, Any]
    field: str | None
    asks: bool  # a user on a terminal

    def run(self, style: Style) -> Result:
        try:
            return self._run(style)
        except CutShort as cut:
            return replace(self._merged(self._heard(cut)), failure=self._interrupted())
        finally:
            hang_up([one.host for one in self.by_host])

    def _heard(self, cut: CutShort) -> list[Reply]:
        """Return the answers that came before the interrupt; the others failed by it."""
        replies: list[Reply] = []
        for wanted, answer in zip(self.by_host, cut.answers, strict=True):
            last = answer[-1] if isinstance(answer, tuple) else answer
            if not isinstance(last, Reply):
                last = Reply(wanted.host, failure=self._interrupted())
            replies.append(last)
        return replies

    def _interrupted(self) -> Failure:
        reason = "could not wait for the hosts: interrupted"
        if not self._is_changing:
            return Failure(Code.INTERRUPTED, reason)
        hint = f"see what came of it: tmuxreap list --host {EVERY}"
        return Failure(Code.INTERRUPTED, f"{reason}; what was started there continues", hint)

    def _run(self, style: Style) -> Result:
        if self._is_changing and self._is_remote_by_flag and not self._yes and self._is_inside():
            return replace(self._plan_only(), failure=self._needs_yes())
        if VERBS[self.verb].is_planned and self._is_changing and self._needs_a_plan:
            return self._confirm_and_run(style)
        if self.words.get("anyone") is True:
            return self._merged(self._first_that_reaches())
        return self._merged(self._on_each(self._run_at_once))

    def _first_that_reaches(self) -> list[Reply]:
        """Wait on all hosts until one of them has a session in the state; the others are not
        waited for any longer, and what they say of theirs is no failure then."""
        works = [partial(self._run_at_once, it) for it in self.by_host]
        found = call_until(works, self.at_once, _has_reached)
        replies = [reply or Reply(it.host) for reply, it in zip(found, self.by_host, strict=True)]
        if not any(map(_has_reached, replies)):
            return self._matched(replies)
        return [choose.not_waited_for(*one) for one in zip(self.by_host, replies, strict=True)]

    # Facts

    @property
    def _defaults(self) -> Mapping[str, object]:
        """The parameters of the verb, and their defaults."""
        return verbs.defaults(VERBS[self.verb])

    @property
    def _yes(self) -> bool:
        return self.words.get("yes") is True

    @property
    def _is_changing(self) -> bool:
        return changes(VERBS[self.verb], self.words)

    @property
    def _is_remote_by_flag(self) -> bool:
        return any(one.by_flag and not one.host.is_local for one in self.by_host)

    @property
    def _targets(self) -> list[str]:
        targets: list[str] = []
        for one in self.by_host:
            targets += one.targets
        return targets

    @property
    def _is_sweeping(self) -> bool:
        return any(map(selects_many, self._targets))

    @property
    def _needs_a_plan(self) -> bool:
        return self._purges or not all(map(_is_name, self._targets))

    @property
    def _purges(self) -> bool:
        return bool(self.words.get("purge"))

    def _is_inside(self) -> bool:
        from tmuxreap.commands.stop import is_inside

        try:
            return is_inside(self.context)
        except Failure:
            return self.context.settings.mark is not None

    @property
    def _is_partial(self) -> bool:
        asked = (self.words.get(flag) for flag in ("status", "state", "live"))
        return any((*asked, *self._targets))

    # Requests

    def request(self, wanted: HostTargets, **changes: object) -> WireRequest:
        known = self._defaults
        words = {**self.words, **changes}
        if self.field == "name":
            if wanted.targets:
                words["name"] = wanted.targets[0]
            else:
                words["name"] = None
        elif self.field is not None and self.field not in changes:
            words[self.field] = list(wanted.targets)
        if "yes" in known and (VERBS[self.verb].asks or self._yes):
            words["yes"] = True
        sent = {}
        for name, value in words.items():
            if name in known and name not in verbs.NEVER_SENT and value != known[name]:
                sent[name] = value
        given = self.words.get("registry")
        return WireRequest(
            id=uuid.uuid4().hex,
            verb=self.verb,
            words=sent,
            registry=wanted.host.registry if given is None else given,
            mark=self.context.settings.mark,
            here=wanted.host.is_local,
        )

    def _on_each(self, work: Callable[..., Reply], *each: Sequence[Reply]) -> list[Reply]:
        """Call `work` with the targets of each host, and what belongs to it, in threads."""
        works = [partial(work, *its) for its in zip(self.by_host, *each, strict=True)]
        return self._matched(call_in_threads(works, self.at_once))

    def _matched(self, replies: Sequence[Reply]) -> list[Reply]:
        matched = choose.drop_matched_elsewhere(self.by_host, replies)
        if self.verb == "resume" and self.words.get("set_name") is not None:
            return choose.drop_sets_found_elsewhere(matched)
        return matched

    def _ask(
        self,
        wanted: HostTargets,
        request: WireRequest,
        *,
        changing: bool,
        names: Sequence[str] | None = None,
    ) -> Reply:
        """Ask one host. `names`: the sessions of a plan, else the targets that are names."""
        reply = ask(wanted.host, request, self.context.settings, changing=changing)
        if names is None:
            names = [target for target in wanted.targets if _is_name(target)]
        return choose.filled(reply, names)

    def _run_at_once(self, wanted: HostTargets) -> Reply:
        return self._ask(wanted, self.request(wanted), changing=self._is_changing)

    def _plan(self, wanted: HostTargets) -> Reply:
        return self._ask(wanted, self.request(wanted, dry_run=True), changing=False)

    def _carry_out(self, wanted: HostTargets, plan: Reply) -> Reply:
        """End what the plan names, if it is still the same there."""
        names = [item.name for item in plan.items if choose.is_open(item)]
        if not names:
            return Reply(wanted.host)
        request = self.request(wanted, **{self.field or "targets": names})
        identities = {}
        for n in names:
            if n in plan.identities:
                identities[n] = plan.identities[n]
        request = replace(request, identities=identities)
        return self._ask(wanted, request, changing=True, names=names)

    def _plan_and_carry_out(self, wanted: HostTargets) -> tuple[Reply, Reply]:
        plan = self._plan(wanted)
        return plan, self._carry_out(wanted, plan)

    def _merged(self, every: Sequence[Reply]) -> Result:
        if self.verb == "list" and not self._is_partial:
            _remember_sessions(self.context, every)
        result = choose.merged(self.verb, self.context.clock.now(), every)
        if self.verb in ("list", "show"):
            # A tree is sorted where its rows are.
            if self.words.get("tree"):
                sort = None
            else:
                sort = self.words.get("sort")
            return replace(result, results=in_order(result.results, sort))
        return result

    # The question

    def _plan_only(self) -> Result:
        if "dry_run" in self._defaults:
            return self._merged(self._on_each(self._plan))
        return Result(self.verb, None, self.context.clock.now())

    def _confirm_and_run(self, style: Style) -> Result:
        if self._purges and not self._yes and not self.asks:
            reason = "that deletes permanently, and without a terminal no question can be asked"
            message = f"could not {self.verb} and purge: {reason}"
            raise Failure(Code.USAGE, message, "look at the plan with --dry-run, then add --yes")
        if self._yes:  # without a question no host waits for the plan of another
            works = [partial(self._plan_and_carry_out, it) for it in self.by_host]
            both = zip(*call_in_threads(works, self.at_once), strict=True)
            return self._merged_both(*map(self._matched, both))
        plans = self._on_each(self._plan)
        plan = self._merged(plans)
        if self._is_sweeping or self._purges:
            if self._is_inside() and not self.asks:
                return replace(plan, failure=self._needs_yes())
            if VERBS[self.verb].asks and self.asks and not self._is_confirmed(plan, style):
                return replace(plan, results=[], others=(), failure=declined(self.verb))
        return self._merged_both(plans, self._on_each(self._carry_out, plans))

    def _merged_both(self, plans: Sequence[Reply], ended: Sequence[Reply]) -> Result:
        return self._merged([choose.after_plan(*both) for both in zip(plans, ended, strict=True)])

    def _is_confirmed(self, plan: Result, style: Style) -> bool:
        items = [item for item in plan.results if isinstance(item, RemoteResult)]
        is_idle = not any(map(choose.is_open, items))
        return is_idle or question(style, purge=self._purges)(plan)

    def _needs_yes(self) -> Failure:
        reason = f"could not {self.verb} on other hosts: inside a session that needs --yes"
        if not self._is_remote_by_flag:
            needs = "inside a registered session, 'all' and patterns need --yes"
            reason = f"could not {self.verb} there: {needs}"
        return Failure(Code.USAGE, reason, "check with --dry-run, then add --yes")


def _remember_sessions(context: Context, every: Sequence[Reply]) -> None:
    """Remember the sessions for the shell's completion."""
    sessions = {}
    for reply in every:
        if reply.answer:
            sessions[reply.host.name] = [item.facts for item in reply.items]
    folder = shared_folder(context.settings)
    remember(folder, sessions, context.clock.now())


def _has_reached(reply: Reply) -> bool:
    return any(item.facts.get("reached") is True for item in reply.items)


def _is_name(target: str) -> bool:
    return not selects_many(target) and not target.startswith("pid:") and not target.isdigit()


def in_order(items: Sequence[Item], sort: object) -> list[Item]:
    """Sort the sessions of all hosts together; what is none comes last."""
    key = SORT_KEYS.get(sort) if isinstance(sort, str) else None
    if key is None:
        return list(items)
    found = [(one, local(one)) for one in items]
    sessions = []
    for one, it in found:
        if isinstance(it, Session) and it.live is not None:
            sessions.append((one, it))
    sessions.sort(key=lambda pair: key(pair[1]))  # type: ignore[arg-type, return-value]
    first = [one for one, _ in sessions]
    return [*first, *(one for one in items if one not in first)]
