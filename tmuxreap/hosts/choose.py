"""Selects hosts, and the targets for each, by `--host` and by what follows a target's last @.

Pure: never contacts a host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen
from tmuxreap.hosts.file import EVERY, LOCAL, Host, Hosts


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
    for word in map(str.strip, chain.from_iterable(word.split(",") for word in words)):
        selected.update((host.name, host) for host in _select(word, hosts))
    return list(selected.values())


def _select(word: str, hosts: Hosts) -> list[Host]:
    if word == EVERY:
        return hosts.every()
    if word.startswith("@"):
        kind, selected = "no host has the tag", hosts.tagged(word[1:])
    else:
        host = hosts.named(word)
        kind, selected = "there is no host", [] if host is None else [host]
    if selected:
        return selected
    known = ", ".join([*hosts.found, LOCAL])
    raise Failure(
        Code.HOST_UNKNOWN,
        f"could not tell which host is meant: {kind} {word.lstrip('@')!r}",
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
        pair = split(target, hosts()) if "@" in target and not is_own else None
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
