"""Puts the answers of many hosts together: one envelope, each result with its host and its target.

Believes none of them: what is not as it should be is left out, and nothing here reaches a terminal
before it was made plain by who tells it. Pure."""

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
    """`items`: results that are there already, of an earlier look."""
    found = [*items, *chain.from_iterable(items_of(one) for one in every)]
    failures = tuple(failure for one in every if (failure := failure_of(one)) is not None)
    return Result(
        command=command,
        registry=None,
        at=at,
        results=found,
        warnings=tuple(chain.from_iterable(_warnings(one) for one in every)),
        others=failures,
        status=exit_of(found, every),
        summed=True,
        more={**_more(every, found), **more, "hosts": [_summed(one, found) for one in every]},
    )


def _summed(one: Heard, items: Sequence[Item]) -> dict[str, object]:
    """With its own sums, where it ended something."""
    told = host_json(one)
    if "counts" not in (one.answer or {}):
        return told
    from tmuxreap.ending.results import counts

    own = [item for item in items if getattr(item, "host", None) == one.host.name]
    return {**told, "counts": counts(own)}


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
    told = _told(tuple(plain(line) for line in lines), plain(name), one.host.name)
    error = problem_of(_failure(facts.get("error"), target))
    return RemoteResult(name, one.host.name, facts, told, error)


def _told(lines: tuple[str, ...], name: str, host: str) -> tuple[str, ...]:
    """People read in the first line which host it is of."""
    first, *rest = lines or ("",)
    if name and first.startswith(f"{name}:"):
        first = f"{name}@{host}{first[len(name) :]}"
    elif name and f"  {name}  " in first:
        first = first.replace(f"  {name}  ", f"  {name}@{host}  ", 1)
    elif first:
        first = f"{host}: {first}"
    return (first, *rest) if lines else ()


def _failure(error: object, whose: str) -> Failure | None:
    """Of a newer version a code may be unknown here: then some target failed."""
    if not isinstance(error, dict):
        return None
    return Failure(
        Code.of(error.get("code")), f"{whose}: {error.get('message')}", str(error.get("hint") or "")
    )


def failure_of(one: Heard) -> Failure | None:
    """What went wrong with the host itself."""
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
    """The one status that all share, else 1."""
    failed = {int(Code.of(item.error.code).exit) for item in items if item.error is not None}
    every_status = failed | {status for one in every if (status := _status(one))}
    if not every_status:
        return Exit.OK
    only = every_status.pop() if len(every_status) == 1 else int(Exit.FAILED)
    return Exit(only) if only in {int(known) for known in Exit} else Exit.FAILED


def _warnings(one: Heard) -> list[str]:
    found = (one.answer or {}).get("warnings")
    return [f"{one.host.name}: {warning}" for warning in found] if isinstance(found, list) else []


def _more(every: Sequence[Heard], items: Sequence[Item]) -> dict[str, object]:
    answers = [(one.host.name, one.answer) for one in every if one.answer is not None]
    found: dict[str, object] = {}
    if any("counts" in answer for _, answer in answers):
        from tmuxreap.ending.results import counts

        found["counts"] = counts(items)
    for key in JOINED:
        if any(isinstance(answer.get(key), list) for _, answer in answers):
            parts = [[_hosted(each, host) for each in _list(a.get(key))] for host, a in answers]
            found[key] = list(chain.from_iterable(parts))
    if any("tmux_confirmed" in answer for _, answer in answers):
        found["tmux_confirmed"] = all(answer.get("tmux_confirmed") is True for _, answer in answers)
    return found


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _hosted(entry: object, host: str) -> object:
    return {**entry, "host": host} if isinstance(entry, dict) else entry


# A tag or a pattern that means nothing on one host may mean something on another.


def found_somewhere(errands: Sequence[Errand], every: Sequence[Heard]) -> list[Heard]:
    """Without what a host does not have, where another one that was asked for it does."""
    absent = [_absent(one) for one in every]
    there: set[str] = set()
    for errand, heard, missing in zip(errands, every, absent, strict=True):
        if heard.answer is not None:
            there |= set(errand.targets) - missing
    return [_without(one, missing & there) for one, missing in zip(every, absent, strict=True)]


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
