"""Sums up the answers of several hosts by host, in one line. Never prints it for a single host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tmuxreap.core.results import Item, RemoteResult
from tmuxreap.core.text import plain
from tmuxreap.ending.results import ENDED

ALIVE = "alive"


def by_host(items: Sequence[Item]) -> Iterator[str]:
    remote = [item for item in items if isinstance(item, RemoteResult)]
    hosts = list(dict.fromkeys(item.host for item in remote))
    if len(hosts) > 1:
        parts = (_sum(host, [item for item in remote if item.host == host]) for host in hosts)
        yield f"by host: {'; '.join(parts)}"


def _sum(host: str, items: Sequence[RemoteResult]) -> str:
    name = plain(host)
    if any("outcome" in item.facts for item in items):
        ended = sum(item.facts.get("outcome") in ENDED for item in items)
        failed = sum(item.error is not None for item in items)
        return f"{name} {ended} of {len(items)} ended" + (f", {failed} failed" if failed else "")
    alive = sum(item.facts.get("live") == ALIVE for item in items)
    return f"{name} {alive} of {len(items)} alive"
