"""Owns the local side of `--host`: distributes the command over hosts, asks one question about all
plans, and merges the answers.

Never sends a pattern after a confirmation: it sends names with identities."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from tmuxreap.app import real_app
from tmuxreap.core.answers.base import plain_json, problem_of
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Item, RemoteResult, Result
from tmuxreap.core.text import Voice
from tmuxreap.core.values import frozen, replace
from tmuxreap.hosts.choose import Errand, errands, hosts_of
from tmuxreap.hosts.crowd import THREADS, call_in_threads
from tmuxreap.hosts.engines import shared_folder
from tmuxreap.hosts.file import Hosts, read_hosts
from tmuxreap.hosts.link import Caller, Reply, ask
from tmuxreap.hosts.merge import drop_matched_elsewhere, items_of, merged
from tmuxreap.hosts.remembered import remember
from tmuxreap.hosts.wire import Request
from tmuxreap.interfaces.cli import commands as verbs
from tmuxreap.interfaces.cli.boundary import on_terminal, question, run_work, targets_of, voice_of
from tmuxreap.interfaces.text.report import report
from tmuxreap.registry.targets import selects_many
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

PLANNED = "planned"
FIELDS = ("targets", "names")


def call_hosts(
    verb: str,
    host: list[str] | None,
    at_once: int | None,
    words: dict[str, object],
) -> Exit | None:
    """Run the verb on the hosts; None with the remaining `words` if only this machine is meant."""
    settings = Settings.from_environment()
    field = next((name for name in FIELDS if name in words), None)
    if field is not None:
        words[field] = list(targets_of(_texts(words[field]))) or None
    voice = voice_of(settings, words.get("json") is True, words.get("quiet") is True)
    registry = words.get("registry")
    context = real_app(settings, registry if isinstance(registry, str) else None)
    only_local: list[bool] = []

    def work(context: Context) -> Result:
        near = _near(context, verb, host, at_once or THREADS, words, field, on_terminal())
        if near is None:
            only_local.append(True)
            return Result(verb, None, context.clock.now())
        if verbs.is_endless(verb, words):
            from tmuxreap.interfaces.remote.follow import follow

            sent = [(errand.host, near.request(errand)) for errand in near.errands]
            follow(verb, words, sent, near.caller, voice)
        return near.run(voice)

    result = run_work(verb, context, work)
    if only_local:
        return None
    if result.failure is not None and result.failure.code is Code.INTERRUPTED:
        result = replace(result, failure=_interrupted())
    report(replace(result, registry=None, more={"hosts": [], **result.more}), voice)
    return result.exit


def run_on_hosts(
    context: Context, verb: str, host: list[str] | None, words: dict[str, object]
) -> Result | None:
    """Run the verb for a program, without questions; None if only this machine is meant."""
    field = next((name for name in FIELDS if name in words), None)
    near = _near(context, verb, host, THREADS, words, field, asks=False)
    return None if near is None else near.run(Voice())


def _interrupted() -> Failure:
    hint = "see what came of it: tmuxreap list --host all"
    reason = "could not wait for the hosts: interrupted; what was begun there goes on"
    return Failure(Code.INTERRUPTED, reason, hint)


def _near(
    context: Context,
    verb: str,
    host: list[str] | None,
    at_once: int,
    words: dict[str, object],
    field: str | None,
    asks: bool,
) -> Near | None:
    known: list[Hosts] = []

    def hosts() -> Hosts:
        if not known:
            known.append(read_hosts(context.settings))
        return known[0]

    targets = tuple(_texts(words[field]) if field is not None else ())
    if verb == "start":
        _refuse_a_host_in(str(words.get("name")), hosts())
    elif field is None and isinstance(words.get("name"), str):
        targets, field = (str(words["name"]),), "name"
    flagged = hosts_of(host, hosts()) if host else None
    every = errands(targets, flagged, hosts, lambda target: _is_row(context, target))
    if every is None:
        return None
    return Near(context, verb, every, at_once, words, field, asks)


def _refuse_a_host_in(name: str, hosts: Hosts) -> None:
    from tmuxreap.hosts.choose import split

    found = split(name, hosts) if "@" in name else None
    if found is not None:
        reason = f"could not start {name!r}: what follows the @ is a host"
        raise Failure(Code.USAGE, reason, f"tmuxreap start {found[0]} --host {found[1].name}")


def _is_row(context: Context, target: str) -> bool:
    """Tell whether the local registry has a row of exactly this name: it takes precedence."""
    if target in ("all", "-"):
        return False
    try:
        look = context.registry.look()
    except Failure:
        return False
    return any(row.name == target for row in look.rows)


def _texts(value: object) -> list[str]:
    return [str(word) for word in value] if isinstance(value, (list, tuple)) else []


@frozen
class Near:
    """One command over hosts."""

    context: Context
    verb: str
    errands: Sequence[Errand]
    at_once: int
    words: Mapping[str, object]
    field: str | None
    asks: bool  # a user on a terminal

    def run(self, voice: Voice) -> Result:
        if self._is_changing and self._is_remote_by_flag and not self._yes and self._is_inside():
            return replace(self._plan_only(), failure=self._needs_yes())
        if self.verb in verbs.PLANNED and self._is_changing and self._needs_a_plan:
            return self._confirm_and_run(voice)
        sent = [self.request(one) for one in self.errands]
        return self._merged(self._ask_all(sent, changing=self._is_changing))

    # Facts

    @property
    def _yes(self) -> bool:
        return self.words.get("yes") is True

    @property
    def _is_changing(self) -> bool:
        return verbs.changes(self.verb, self.words)

    @property
    def _is_remote_by_flag(self) -> bool:
        return any(one.by_flag and not one.host.is_local for one in self.errands)

    def _targets(self) -> Iterator[str]:
        return chain.from_iterable(one.targets for one in self.errands)

    @property
    def _is_sweeping(self) -> bool:
        return any(selects_many(target) for target in self._targets())

    @property
    def _needs_a_plan(self) -> bool:
        named = all(_is_name(target) for target in self._targets())
        return not named or bool(self.words.get("purge"))

    def _is_inside(self) -> bool:
        from tmuxreap.commands.stop import is_inside

        try:
            return is_inside(self.context)
        except Failure:
            return self.context.settings.mark is not None

    @property
    def _is_partial(self) -> bool:
        return any(self.words.get(word) for word in ("status", "live")) or any(
            one.targets for one in self.errands
        )

    # Requests

    def request(self, errand: Errand, **changes: object) -> Request:
        known = verbs.plain_command(self.verb).defaults
        words = {**self.words, **changes}
        if self.field == "name":
            words["name"] = errand.targets[0] if errand.targets else None
        elif self.field is not None and self.field not in changes:
            words[self.field] = list(errand.targets)
        if "yes" in known and (self.verb in verbs.ASKED or self._yes):
            words["yes"] = True if self.verb != "reap" else self._yes
        sent = {
            name: value
            for name, value in words.items()
            if name in known and name not in verbs.NEVER_SENT and value != known[name]
        }
        given = self.words.get("registry")
        return Request(
            id=uuid.uuid4().hex,
            verb=self.verb,
            words=sent,
            registry=given if isinstance(given, str) else errand.host.registry,
            mark=self.context.settings.mark,
            here=errand.host.is_local,
        )

    @property
    def caller(self) -> Caller:
        return Caller(self.context.settings.environ, self.context.settings.uid)

    def _ask_all(self, sent: Sequence[Request | None], *, changing: bool) -> list[Reply]:
        """Ask all hosts that have a request."""

        def work(errand: Errand, request: Request | None) -> Callable[[], Reply]:
            if request is None:
                return lambda: Reply(errand.host)
            return lambda: _filled(
                errand, ask(errand.host, request, self.caller, changing=changing)
            )

        works = [work(errand, request) for errand, request in zip(self.errands, sent, strict=True)]
        return drop_matched_elsewhere(self.errands, call_in_threads(works, self.at_once))

    def _plan_and_run_each(self) -> tuple[list[Reply], list[Reply]]:
        """Plan and carry out on each host independently, without a question; return plans and
        outcomes."""

        def work(errand: Errand) -> tuple[Reply, Reply]:
            planned = self.request(errand, dry_run=True)
            plan = _filled(errand, ask(errand.host, planned, self.caller, changing=False))
            confirmed = self._confirmed(errand, plan)
            if confirmed is None:
                return plan, Reply(errand.host)
            return plan, _filled(errand, ask(errand.host, confirmed, self.caller, changing=True))

        pairs = call_in_threads([partial(work, one) for one in self.errands], self.at_once)
        plans, ended = zip(*pairs, strict=True)
        return drop_matched_elsewhere(self.errands, plans), drop_matched_elsewhere(
            self.errands, ended
        )

    def _merged(self, every: Sequence[Reply], items: Sequence[Item] = ()) -> Result:
        if self.verb == "list" and not self._is_partial:
            remember_sessions(self.context, every)
        result = merged(self.verb, self.context.clock.now(), every, items)
        if self.verb in ("list", "show"):
            from tmuxreap.interfaces.remote.sessions import shown

            return replace(result, results=shown(result.results, self.words.get("sort")))
        return result

    # The question

    def _plans(self) -> list[Reply]:
        return self._ask_all(
            [self.request(one, dry_run=True) for one in self.errands], changing=False
        )

    def _plan_only(self) -> Result:
        if "dry_run" in verbs.plain_command(self.verb).defaults:
            return self._merged(self._plans())
        return Result(self.verb, None, self.context.clock.now())

    def _confirm_and_run(self, voice: Voice) -> Result:
        if self.words.get("purge") and not self._yes and not self.asks:
            reason = (
                f"could not {self.verb} and purge: that deletes for good, and nobody can be asked"
                " here"
            )
            raise Failure(Code.USAGE, reason, "look at the plan with --dry-run, then add --yes")
        if self._yes:
            plans, ended = self._plan_and_run_each()
            return self._merged_both(plans, ended)
        plans = self._plans()
        plan = self._merged(plans)
        if self._is_sweeping or self.words.get("purge"):
            if self._is_inside() and not self.asks:
                return replace(plan, failure=self._needs_yes())
            if self.verb in verbs.ASKED and self.asks and not self._is_confirmed(plan, voice):
                said = f"nothing was done: the answer to {self.verb} was no"
                return replace(plan, results=[], others=(), status=Exit.OK, greeting=said)
        sent = [
            self._confirmed(errand, reply)
            for errand, reply in zip(self.errands, plans, strict=True)
        ]
        return self._merged_both(plans, self._ask_all(sent, changing=True))

    def _merged_both(self, plans: Sequence[Reply], ended: Sequence[Reply]) -> Result:
        return self._merged([_joined(plan, then) for plan, then in zip(plans, ended, strict=True)])

    def _is_confirmed(self, plan: Result, voice: Voice) -> bool:
        ask_first = question(voice, purge=bool(self.words.get("purge")))
        todo = [item for item in plan.results if isinstance(item, RemoteResult) and _is_open(item)]
        return not todo or ask_first(plan)

    def _confirmed(self, errand: Errand, plan: Reply) -> Request | None:
        names = [item.name for item in items_of(plan) if _is_open(item)]
        if not names:
            return None
        request = self.request(errand, **{self.field or "targets": names})
        return replace(
            request, identities={n: plan.identities[n] for n in names if n in plan.identities}
        )

    def _needs_yes(self) -> Failure:
        reason = f"could not {self.verb} on other hosts: inside a session that needs --yes"
        if not self._is_remote_by_flag:
            needs = "inside a registered session, 'all' and patterns need --yes"
            reason = f"could not {self.verb} there: {needs}"
        return Failure(Code.USAGE, reason, "check with --dry-run, then add --yes")


def remember_sessions(context: Context, every: Sequence[Reply]) -> None:
    """Remember the sessions for the shell's completion."""
    settings = context.settings
    rows_by_host = {reply.host.name: _rows(reply) for reply in every if reply.answer is not None}
    folder = shared_folder(settings.environ, settings.uid)
    remember(folder, rows_by_host, context.clock.now())


def _rows(one: Reply) -> list[Mapping[str, object]]:
    return [item.facts for item in items_of(one)]


def _is_name(target: str) -> bool:
    return not selects_many(target) and not target.startswith("pid:") and not target.isdigit()


def _is_open(item: RemoteResult) -> bool:
    """Tell whether the plan can be carried out."""
    return item.error is None and item.facts.get("outcome", PLANNED) == PLANNED


def _filled(errand: Errand, reply: Reply) -> Reply:
    """Fill in an unknown outcome for each named target."""
    if not reply.unknown:
        return reply
    names = [target for target in errand.targets if _is_name(target)]
    error = plain_json(problem_of(reply.failure))
    results = [{"name": name, "outcome": "unknown", "error": error} for name in names]
    return replace(reply, answer={"results": results}, texts=tuple(() for _ in results))


def _joined(plan: Reply, then: Reply) -> Reply:
    """Merge what was final in the plan with the outcome of the rest."""
    if plan.answer is None:
        return plan
    kept = [
        (item, lines)
        for item, lines in zip(items_of(plan), plan.texts, strict=True)
        if not _is_open(item)
    ]
    answer = then.answer or {}
    outcomes = answer.get("results")
    results = [*(item.facts for item, _ in kept), *(outcomes if isinstance(outcomes, list) else [])]
    exits = {int(Code.of(item.error.code).exit) for item, _ in kept if item.error is not None}
    exits |= {status} if isinstance(status := answer.get("exit_code"), int) and status else set()
    joined = {
        **plan.answer,
        **answer,
        "results": results,
        "warnings": [*_warnings_of(plan.answer), *_warnings_of(answer)],
        "exit_code": exits.pop() if len(exits) == 1 else int(bool(exits)),
    }
    return replace(
        then,
        answer=joined,
        texts=(*(lines for _, lines in kept), *then.texts),
        version=plan.version,
    )


def _warnings_of(answer: Mapping[str, object]) -> list[object]:
    warnings = answer.get("warnings")
    return warnings if isinstance(warnings, list) else []
