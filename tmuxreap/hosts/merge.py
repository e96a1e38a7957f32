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
from tmuxreap.hosts.choose import Errand
from tmuxreap.hosts.link import Reply
from tmuxreap.registry.targets import selects_many

JOINED = ("drifts", "actions")


def merged(
    command: str, at: float, replies: Sequence[Reply], items: Sequence[Item] = (), **more: object
) -> Result:
    """Merge answers. `items`: results of an earlier look, to be included."""
    results = [*items, *chain.from_iterable(items_of(reply) for reply in replies)]
    failures = tuple(failure for reply in replies if (failure := host_failure(reply)) is not None)
    return Result(
        command=command,
        registry=None,
        at=at,
        results=results,
        warnings=tuple(chain.from_iterable(_warnings(reply) for reply in replies)),
        others=failures,
        status=exit_of(results, replies),
        summed=True,
        more={
            **_joined(replies, results),
            **more,
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
    return Failure(
        Code.of(error.get("code")),
        f"{source}: {error.get('message')}",
        str(error.get("hint") or ""),
    )


def host_failure(reply: Reply) -> Failure | None:
    """Return the failure of the host itself."""
    if reply.failure is not None or reply.answer is None:
        return reply.failure
    return _failure(reply.answer.get("error"), reply.host.name)


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
    failed = {int(Code.of(item.error.code).exit) for item in items if item.error is not None}
    statuses = failed | {status for reply in replies if (status := _status(reply))}
    if not statuses:
        return Exit.OK
    only = statuses.pop() if len(statuses) == 1 else int(Exit.FAILED)
    return Exit(only) if only in {int(known) for known in Exit} else Exit.FAILED


def _warnings(reply: Reply) -> list[str]:
    texts = (reply.answer or {}).get("warnings")
    return [f"{reply.host.name}: {warning}" for warning in texts] if isinstance(texts, list) else []


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


def drop_matched_elsewhere(errands: Sequence[Errand], replies: Sequence[Reply]) -> list[Reply]:
    """Drop a host's "no match" results for targets that another host has matched."""
    absent = [_unmatched(reply) for reply in replies]
    matched: set[str] = set()
    for errand, reply, missing in zip(errands, replies, absent, strict=True):
        if reply.answer is not None:
            matched |= set(errand.targets) - missing
    return [
        _without(reply, missing & matched) for reply, missing in zip(replies, absent, strict=True)
    ]


def _unmatched(reply: Reply) -> set[str]:
    return {
        item.name
        for item in items_of(reply)
        if item.error is not None
        and item.error.code == Code.SESSION_NOT_REGISTERED.text
        and selects_many(item.name)
    }


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
