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
from tmuxreap.hosts.link import Heard
from tmuxreap.registry.targets import is_sweeping

JOINED = ("drifts", "actions")


def merged(
    command: str, at: float, every: Sequence[Heard], items: Sequence[Item] = (), **more: object
) -> Result:
    """Merge answers. `items`: results of an earlier look, to be included."""
    results = [*items, *chain.from_iterable(items_of(one) for one in every)]
    failures = tuple(failure for one in every if (failure := failure_of(one)) is not None)
    return Result(
        command=command,
        registry=None,
        at=at,
        results=results,
        warnings=tuple(chain.from_iterable(_warnings(one) for one in every)),
        others=failures,
        status=exit_of(results, every),
        summed=True,
        more={**_more(every, results), **more, "hosts": [_summed(one, results) for one in every]},
    )


def _summed(one: Heard, items: Sequence[Item]) -> dict[str, object]:
    """Return a host's JSON, with its own counts if it ended something."""
    summary = host_json(one)
    if "counts" not in (one.answer or {}):
        return summary
    from tmuxreap.ending.results import counts

    own = [item for item in items if getattr(item, "host", None) == one.host.name]
    return {**summary, "counts": counts(own)}


def items_of(one: Heard) -> list[RemoteResult]:
    if one.answer is None:
        return []
    results = one.answer["results"]
    assert isinstance(results, list)  # noqa: S101 - as it was heard
    return [_item(one, facts, lines) for facts, lines in zip(results, one.texts, strict=True)]


def _item(one: Heard, facts: Mapping[str, object], lines: tuple[str, ...]) -> RemoteResult:
    name = facts.get("name")
    name = name if isinstance(name, str) else ""
    target = f"{name}@{one.host.name}"
    texts = _told(tuple(plain(line) for line in lines), plain(name), one.host.name)
    error = problem_of(_failure(facts.get("error"), target))
    return RemoteResult(name, one.host.name, facts, texts, error)


def _told(lines: tuple[str, ...], name: str, host: str) -> tuple[str, ...]:
    """Add the host to the first line that users read."""
    first, *rest = lines or ("",)
    if name and first.startswith(f"{name}:"):
        first = f"{name}@{host}{first[len(name) :]}"
    elif name and f"  {name}  " in first:
        first = first.replace(f"  {name}  ", f"  {name}@{host}  ", 1)
    elif first:
        first = f"{host}: {first}"
    return (first, *rest) if lines else ()


def _failure(error: object, whose: str) -> Failure | None:
    """Convert an error; the unknown code of a newer version becomes a generic one."""
    if not isinstance(error, dict):
        return None
    return Failure(
        Code.of(error.get("code")), f"{whose}: {error.get('message')}", str(error.get("hint") or "")
    )


def failure_of(one: Heard) -> Failure | None:
    """Return the failure of the host itself."""
    if one.failure is not None or one.answer is None:
        return one.failure
    return _failure(one.answer.get("error"), one.host.name)


def host_json(one: Heard) -> dict[str, object]:
    failure = failure_of(one)
    answer = one.answer or {}
    status = _status(one)
    registry = answer.get("registry")
    return {
        "host": one.host.name,
        "ok": status == 0,
        "exit_code": status,
        "registry": registry if isinstance(registry, str) else None,
        "error": plain_json(problem_of(failure)),
    }


def _status(one: Heard) -> int:
    if one.failure is not None:
        return int(one.failure.code.exit)
    status = (one.answer or {}).get("exit_code")
    return status if isinstance(status, int) else int(Exit.FAILED)


def exit_of(items: Iterable[Item], every: Sequence[Heard]) -> Exit:
    """Return the exit status that all failures share, else 1."""
    failed = {int(Code.of(item.error.code).exit) for item in items if item.error is not None}
    every_status = failed | {status for one in every if (status := _status(one))}
    if not every_status:
        return Exit.OK
    only = every_status.pop() if len(every_status) == 1 else int(Exit.FAILED)
    return Exit(only) if only in {int(known) for known in Exit} else Exit.FAILED


def _warnings(one: Heard) -> list[str]:
    texts = (one.answer or {}).get("warnings")
    return [f"{one.host.name}: {warning}" for warning in texts] if isinstance(texts, list) else []


def _more(every: Sequence[Heard], items: Sequence[Item]) -> dict[str, object]:
    answers = [(one.host.name, one.answer) for one in every if one.answer is not None]
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


def found_somewhere(errands: Sequence[Errand], every: Sequence[Heard]) -> list[Heard]:
    """Drop a host's "no match" results for targets that another host has matched."""
    absent = [_absent(one) for one in every]
    matched: set[str] = set()
    for errand, heard, missing in zip(errands, every, absent, strict=True):
        if heard.answer is not None:
            matched |= set(errand.targets) - missing
    return [_without(one, missing & matched) for one, missing in zip(every, absent, strict=True)]


def _absent(one: Heard) -> set[str]:
    return {
        item.name
        for item in items_of(one)
        if item.error is not None
        and item.error.code == Code.SESSION_NOT_REGISTERED.text
        and is_sweeping(item.name)
    }


def _without(one: Heard, names: Collection[str]) -> Heard:
    if not names or one.answer is None:
        return one
    pairs = zip(items_of(one), one.texts, strict=True)
    kept = [(item, lines) for item, lines in pairs if item.name not in names]
    fine = all(item.error is None for item, _ in kept) and one.answer.get("error") is None
    answer = {**one.answer, "results": [item.facts for item, _ in kept]}
    if fine:
        answer |= {"exit_code": 0, "ok": True}
    return replace(one, answer=answer, texts=tuple(lines for _, lines in kept))
