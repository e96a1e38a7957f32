"""Selects hosts, and the targets for each, by `--host` and by what follows a target's last @; and
merges the replies of many hosts into one envelope. Never contacts a host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Item, RemoteResult, Result, counts, local, plain_json, problem_of
from tmuxreap.core.values import frozen, replace
from tmuxreap.hosts.file import EVERY, LOCAL, Host, Hosts
from tmuxreap.hosts.wire import Reply, failure_of, item_of
from tmuxreap.registry.targets import selects_many


@frozen
class HostTargets:
    """The targets for one host; `by_flag`: --host selected it, not just a target's @HOST."""

    host: Host
    targets: tuple[str, ...]
    by_flag: bool


def hosts_of(words: Iterable[str], hosts: Hosts) -> list[Host]:
    """Return the hosts that `--host` selects (names, `@tag`, `all`, `local`), each once, in the
    order given."""
    selected: dict[str, Host] = {}
    for word in words:
        for name in word.split(","):
            selected.update((host.name, host) for host in _select(name.strip(), hosts))
    return list(selected.values())


def _select(word: str, hosts: Hosts) -> list[Host]:
    if word == EVERY:
        return hosts.every()
    if word.startswith("@"):
        kind = "no host has the tag"
        selected = hosts.tagged(word[1:])
    else:
        host = hosts.named(word)
        kind = "there is no host"
        selected = [] if host is None else [host]
    if selected:
        return selected
    known = ", ".join([*hosts.found, LOCAL])
    raise Failure(
        Code.HOST_UNKNOWN,
        f"could not choose a host: {kind} {word.lstrip('@')!r}",
        f"known: {known}; hosts are listed in {hosts.path or 'hosts.yaml'}",
    )


def split(target: str, hosts: Hosts) -> tuple[str, Host] | None:
    """Split `NAME@HOST`; return None unless that host is known."""
    before, at, name = target.rpartition("@")
    host = hosts.named(name) if at and before else None
    return (before, host) if host is not None else None


def targets_by_host(
    targets: Sequence[str],
    flagged: Sequence[Host] | None,
    hosts: Callable[[], Hosts],
    is_row: Callable[[str], bool],
) -> list[HostTargets] | None:
    """Assign targets to hosts; return None if only this machine is concerned. `flagged`: the hosts
    of --host, or None without it."""
    wanted: dict[str, tuple[Host, list[str]]] = {host.name: (host, []) for host in flagged or ()}
    remote = flagged is not None
    local = Host(LOCAL)
    plain = [local] if flagged is None else list(flagged)
    for target in targets:
        is_own = "@" in target and is_row(target)
        pair = None
        if "@" in target and not is_own:
            pair = split(target, hosts())
        remote = remote or pair is not None
        if pair is not None:
            to = [(pair[1], pair[0])]
        else:
            to = [(host, target) for host in ([local] if is_own else plain)]
        for host, word in to:
            wanted.setdefault(host.name, (host, []))[1].append(word)
    if not remote:
        return None
    named = {host.name for host in flagged or ()}
    every = [HostTargets(host, tuple(words), host.name in named) for host, words in wanted.values()]
    return [it for it in every if it.targets or not targets]


JOINED = ("drifts", "actions")
PLANNED = "planned"


def merged(command: str, at: float, replies: Sequence[Reply]) -> Result:
    """Merge the answers to one command."""
    results: list[Item] = []
    warnings: list[str] = []
    for reply in replies:
        results += reply.items
        warnings += _warnings(reply)
    hosts = []
    for reply in replies:
        hosts.append({**host_json(reply), **_counts([reply], reply.items), **_set([reply])})
    return Result(
        command=command,
        registry=None,
        at=at,
        results=results,
        warnings=tuple(warnings),
        others=troubles_of(replies),
        status=exit_of(results, replies),
        summed=True,
        more={**_counts(replies, results), **_set(replies), **_joined(replies), "hosts": hosts},
    )


def _counts(replies: Sequence[Reply], items: Sequence[Item]) -> dict[str, object]:
    """Count the outcomes, if something was ended."""
    if not any("counts" in reply.answer for reply in replies):
        return {}
    return {"counts": counts(items)}


def _set(replies: Iterable[Reply]) -> dict[str, object]:
    """Return the set that these endings, or those that were resumed, have in common. Without
    `--set` each host gives those that it ended an ID of its own."""
    given = [reply.envelope.set for reply in replies if "set" in reply.answer]
    if not given:
        return {}
    names = {name for name in given if name is not None}
    return {"set": names.pop() if len(names) == 1 else None}


def troubles_of(replies: Iterable[Reply]) -> tuple[Failure, ...]:
    return tuple(trouble for reply in replies if (trouble := reply.trouble) is not None)


def host_json(reply: Reply) -> dict[str, object]:
    envelope = reply.envelope
    facts: dict[str, object] = {
        "host": reply.host.name,
        "ok": reply.status == 0,
        "exit_code": reply.status,
        "registry": envelope.registry,
        "error": plain_json(problem_of(reply.trouble)),
    }
    if envelope.registry_made:
        facts["registry_made"] = True
    return facts


def exit_of(items: Iterable[Item], replies: Sequence[Reply]) -> Exit:
    """Return the exit status that all failures share, else 1."""
    only = _shared(_statuses(items) | {reply.status for reply in replies})
    return Exit(only) if only in set(Exit) else Exit.FAILED


def _statuses(items: Iterable[Item]) -> set[int]:
    found: set[int] = set()
    for item in items:
        if item.error is not None:
            found.add(int(Code.of(item.error.code).exit))
    return found


def _shared(statuses: set[int]) -> int:
    failed = statuses - {0}
    if len(failed) == 1:
        return failed.pop()
    return int(bool(failed))


def _warnings(reply: Reply) -> list[str]:
    return [f"{reply.host.name}: {warning}" for warning in reply.envelope.warnings]


def _joined(replies: Sequence[Reply]) -> dict[str, object]:
    sums: dict[str, object] = {}
    for key in JOINED:
        if any(_entries(reply, key) is not None for reply in replies):
            joined: list[object] = []
            for reply in replies:
                joined += _hosted(reply, key)
            sums[key] = joined
    if any("not_tried" in reply.answer for reply in replies):
        sums["not_tried"] = _not_tried(replies)
    confirmed = [reply.envelope.tmux_confirmed for reply in replies if reply.answer]
    if any("tmux_confirmed" in reply.answer for reply in replies):
        sums["tmux_confirmed"] = all(confirmed)
    return sums


def _not_tried(replies: Sequence[Reply]) -> list[str]:
    """Return those that halted resumes left alone, as targets."""
    targets: list[str] = []
    for reply in replies:
        for name in reply.envelope.not_tried:
            targets.append(f"{name}@{reply.host.name}")
    return targets


def _hosted(reply: Reply, key: str) -> list[object]:
    """Return a list of the answer, with the host in each of its entries."""
    host = {"host": reply.host.name}
    entries = _entries(reply, key) or []
    return [{**one, **host} if isinstance(one, dict) else one for one in entries]


def _entries(reply: Reply, key: str) -> list[object] | None:
    value = reply.answer.get(key)
    return value if isinstance(value, list) else None


# A tag or pattern that matches nothing on one host may match on another.


def drop_matched_elsewhere(by_host: Sequence[HostTargets], replies: Sequence[Reply]) -> list[Reply]:
    """Drop a host's "no match" results for targets that another host has matched."""
    matched: set[str] = set()
    for wanted, reply in zip(by_host, replies, strict=True):
        if reply.answer:
            matched |= set(wanted.targets) - _unmatched(reply)
    return [_without(reply, _unmatched(reply) & matched) for reply in replies]


def _unmatched(reply: Reply) -> set[str]:
    absent = Code.SESSION_NOT_REGISTERED.text
    failed = set()
    for item in reply.items:
        if item.error and item.error.code == absent:
            failed.add(item.name)
    return set(filter(selects_many, failed))


def drop_sets_found_elsewhere(replies: Sequence[Reply]) -> list[Reply]:
    """Drop a host's "no such set" if another host has a set of this name: not every host has
    agents every evening."""
    if not any(reply.envelope.set for reply in replies):
        return list(replies)
    return [_without_error(reply) if _lacks_the_set(reply) else reply for reply in replies]


def _lacks_the_set(reply: Reply) -> bool:
    trouble = failure_of(reply.answer.get("error"), reply.host.name)
    return trouble is not None and trouble.code is Code.SESSION_NOT_REGISTERED


def _without_error(reply: Reply) -> Reply:
    return replace(reply, answer={**reply.answer, "error": None, "exit_code": 0, "ok": True})


def _without(reply: Reply, names: set[str]) -> Reply:
    if not names:
        return reply
    kept = tuple(item for item in reply.items if item.name not in names)
    answer = reply.answer
    if answer.get("error") is None and all(item.error is None for item in kept):
        answer = {**answer, "exit_code": 0, "ok": True}
    return replace(reply, answer=answer, items=kept)


# A wait for the first of many.


def not_waited_for(wanted: HostTargets, reply: Reply) -> Reply:
    """Return the reply of a host beside one that has what was waited for."""
    items = tuple(
        replace(item, error=None, facts=_facts_without_error(item)) for item in reply.items
    )
    if not items:
        facts = {"state": None, "reached": False, "waited_ms": 0, "error": None}
        names = [target for target in wanted.targets if not selects_many(target)]
        items = tuple(item_of(wanted.host, {"name": name, **facts}) for name in names)
    said = [] if reply.failure is None else [reply.failure.message]
    warnings = [*reply.envelope.warnings, *said]
    answer = {**reply.answer, "ok": True, "exit_code": 0, "error": None, "warnings": warnings}
    return replace(reply, answer=answer, items=items, failure=None)


def _facts_without_error(item: RemoteResult) -> dict[str, object]:
    return {**item.facts, "error": None}


# A verb that is planned first: the plan, then the outcome of what the plan left open.


def is_open(item: RemoteResult) -> bool:
    """Tell whether the plan can be carried out."""
    outcome = getattr(local(item), "outcome", None)
    return item.error is None and outcome in (None, PLANNED)


def filled(reply: Reply, names: Sequence[str]) -> Reply:
    """Fill in an unknown outcome for each of these targets."""
    if not reply.unknown:
        return reply
    facts = {"outcome": "unknown", "error": plain_json(problem_of(reply.failure))}
    items = tuple(item_of(reply.host, {"name": name, **facts}) for name in names)
    return replace(reply, answer={"ok": False}, items=items)


def after_plan(plan: Reply, outcome: Reply) -> Reply:
    """Merge what was final in the plan with the outcome of the rest."""
    if not plan.answer:
        return plan
    final = tuple(item for item in plan.items if not is_open(item))
    statuses = _statuses(final)
    if "exit_code" in outcome.answer:
        statuses.add(outcome.envelope.exit_code)
    answer = {
        **plan.answer,
        **outcome.answer,
        "warnings": [*plan.envelope.warnings, *outcome.envelope.warnings],
        "exit_code": _shared(statuses),
    }
    items = (*final, *outcome.items)
    return replace(outcome, answer=answer, items=items, version=plan.version)
