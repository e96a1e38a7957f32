"""Merges the answers of many hosts into one envelope, each result with its host and target.

Never trusts an answer: malformed parts are left out, and text is escaped before it reaches a
terminal. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from tmuxreap.core.answers.base import plain_json, problem_of
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Item, RemoteResult, Result
from tmuxreap.core.text import plain
from tmuxreap.core.values import replace
from tmuxreap.hosts.choose import HostTargets
from tmuxreap.hosts.link import Reply
from tmuxreap.registry.targets import selects_many

JOINED = ("drifts", "actions")
PLANNED = "planned"


def merged(command: str, at: float, replies: Sequence[Reply]) -> Result:
    """Merge the answers to one command."""
    results = list(chain.from_iterable(map(items_of, replies)))
    return Result(
        command=command,
        registry=None,
        at=at,
        results=results,
        warnings=tuple(chain.from_iterable(map(_warnings, replies))),
        others=host_failures(replies),
        status=exit_of(results, replies),
        summed=True,
        more={
            **_joined(replies, results),
            "hosts": [_host_summary(reply, results) for reply in replies],
        },
    )


def _host_summary(reply: Reply, items: Sequence[Item]) -> dict[str, object]:
    """Return a host's JSON, with its own counts if it ended something."""
    summary = host_json(reply)
    if "counts" not in (reply.answer or {}):
        return summary
    from tmuxreap.ending.results import counts

    own = [item for item in items if getattr(item, "host", None) == reply.host.name]
    return {**summary, "counts": counts(own)}


def items_of(reply: Reply) -> list[RemoteResult]:
    if reply.answer is None:
        return []
    results = reply.answer["results"]
    assert isinstance(results, list)  # noqa: S101 - as it was heard
    return [_item(reply, facts, lines) for facts, lines in zip(results, reply.texts, strict=True)]


def _item(reply: Reply, facts: Mapping[str, object], lines: tuple[str, ...]) -> RemoteResult:
    name = facts.get("name")
    name = name if isinstance(name, str) else ""
    target = f"{name}@{reply.host.name}"
    texts = _with_host(tuple(plain(line) for line in lines), plain(name), reply.host.name)
    error = problem_of(_failure(facts.get("error"), target))
    return RemoteResult(name, reply.host.name, facts, texts, error)


def _with_host(lines: tuple[str, ...], name: str, host: str) -> tuple[str, ...]:
    """Add the host to the first line that users read."""
    first, *rest = lines or ("",)
    if name and first.startswith(f"{name}:"):
        first = f"{name}@{host}{first[len(name) :]}"
    elif name and f"  {name}  " in first:
        first = first.replace(f"  {name}  ", f"  {name}@{host}  ", 1)
    elif first:
        first = f"{host}: {first}"
    return (first, *rest) if lines else ()


def _failure(error: object, source: str) -> Failure | None:
    """Convert an error; the unknown code of a newer version becomes a generic one."""
    if not isinstance(error, dict):
        return None
    message, hint = f"{source}: {error.get('message')}", str(error.get("hint") or "")
    return Failure(Code.of(error.get("code")), message, hint)


def host_failure(reply: Reply) -> Failure | None:
    """Return the failure of the host itself."""
    if reply.failure is not None or reply.answer is None:
        return reply.failure
    return _failure(reply.answer.get("error"), reply.host.name)


def host_failures(replies: Iterable[Reply]) -> tuple[Failure, ...]:
    return tuple(failure for reply in replies if (failure := host_failure(reply)) is not None)


def host_json(reply: Reply) -> dict[str, object]:
    failure = host_failure(reply)
    answer = reply.answer or {}
    status = _status(reply)
    registry = answer.get("registry")
    return {
        "host": reply.host.name,
        "ok": status == 0,
        "exit_code": status,
        "registry": registry if isinstance(registry, str) else None,
        "error": plain_json(problem_of(failure)),
    }


def _status(reply: Reply) -> int:
    if reply.failure is not None:
        return int(reply.failure.code.exit)
    status = (reply.answer or {}).get("exit_code")
    return status if isinstance(status, int) else int(Exit.FAILED)


def exit_of(items: Iterable[Item], replies: Sequence[Reply]) -> Exit:
    """Return the exit status that all failures share, else 1."""
    only = _shared(_statuses(items) | set(map(_status, replies)))
    return Exit(only) if only in set(Exit) else Exit.FAILED


def _statuses(items: Iterable[Item]) -> set[int]:
    return {int(Code.of(item.error.code).exit) for item in items if item.error is not None}


def _shared(statuses: set[int]) -> int:
    failed = statuses - {0}
    return failed.pop() if len(failed) == 1 else int(bool(failed))


def _warnings(reply: Reply) -> list[str]:
    warnings = _list((reply.answer or {}).get("warnings"))
    return [f"{reply.host.name}: {warning}" for warning in warnings]


def _joined(replies: Sequence[Reply], items: Sequence[Item]) -> dict[str, object]:
    answers = [(reply.host.name, reply.answer) for reply in replies if reply.answer is not None]
    sums: dict[str, object] = {}
    if any("counts" in answer for _, answer in answers):
        from tmuxreap.ending.results import counts

        sums["counts"] = counts(items)
    for key in JOINED:
        if any(isinstance(answer.get(key), list) for _, answer in answers):
            parts = [[_hosted(each, host) for each in _list(a.get(key))] for host, a in answers]
            sums[key] = list(chain.from_iterable(parts))
    if any("tmux_confirmed" in answer for _, answer in answers):
        sums["tmux_confirmed"] = all(answer.get("tmux_confirmed") is True for _, answer in answers)
    return sums


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _hosted(entry: object, host: str) -> object:
    return {**entry, "host": host} if isinstance(entry, dict) else entry


# A tag or pattern that matches nothing on one host may match on another.


def drop_matched_elsewhere(by_host: Sequence[HostTargets], replies: Sequence[Reply]) -> list[Reply]:
    """Drop a host's "no match" results for targets that another host has matched."""
    absent = [_unmatched(reply) for reply in replies]
    matched: set[str] = set()
    for wanted, reply, missing in zip(by_host, replies, absent, strict=True):
        if reply.answer is not None:
            matched |= set(wanted.targets) - missing
    return [
        _without(reply, missing & matched) for reply, missing in zip(replies, absent, strict=True)
    ]


def _unmatched(reply: Reply) -> set[str]:
    absent = Code.SESSION_NOT_REGISTERED.text
    failed = {item.name for item in items_of(reply) if item.error and item.error.code == absent}
    return set(filter(selects_many, failed))


def _without(reply: Reply, names: Collection[str]) -> Reply:
    if not names or reply.answer is None:
        return reply
    pairs = zip(items_of(reply), reply.texts, strict=True)
    kept = [(item, lines) for item, lines in pairs if item.name not in names]
    fine = all(item.error is None for item, _ in kept) and reply.answer.get("error") is None
    answer = {**reply.answer, "results": [item.facts for item, _ in kept]}
    if fine:
        answer |= {"exit_code": 0, "ok": True}
    return replace(reply, answer=answer, texts=tuple(lines for _, lines in kept))


# A verb that is planned first: the plan, then the outcome of what the plan left open.


def is_open(item: RemoteResult) -> bool:
    """Tell whether the plan can be carried out."""
    return item.error is None and item.facts.get("outcome", PLANNED) == PLANNED


def filled(reply: Reply, names: Sequence[str]) -> Reply:
    """Fill in an unknown outcome for each of these targets."""
    if not reply.unknown:
        return reply
    error = plain_json(problem_of(reply.failure))
    results = [{"name": name, "outcome": "unknown", "error": error} for name in names]
    return replace(reply, answer={"results": results}, texts=tuple(() for _ in results))


def after_plan(plan: Reply, outcome: Reply) -> Reply:
    """Merge what was final in the plan with the outcome of the rest."""
    if plan.answer is None:
        return plan
    pairs = zip(items_of(plan), plan.texts, strict=True)
    final = [(item, lines) for item, lines in pairs if not is_open(item)]
    answer = outcome.answer or {}
    statuses = _statuses(item for item, _ in final)
    if isinstance(status := answer.get("exit_code"), int):
        statuses.add(status)
    joined = {
        **plan.answer,
        **answer,
        "results": [*(item.facts for item, _ in final), *_list(answer.get("results"))],
        "warnings": [*_list(plan.answer.get("warnings")), *_list(answer.get("warnings"))],
        "exit_code": _shared(statuses),
    }
    texts = (*(lines for _, lines in final), *outcome.texts)
    return replace(outcome, answer=joined, texts=texts, version=plan.version)
