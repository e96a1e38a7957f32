"""Which hosts are meant, and which target goes to which: from `--host` and from what follows the
last @ of a target.

Pure: asks no host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen
from tmuxreap.hosts.file import EVERY, LOCAL, Host, Hosts


@frozen
class Errand:
    """What one host is asked about; `named`: by its own name in a target, not by --host."""

    host: Host
    targets: tuple[str, ...]
    by_flag: bool


def hosts_of(words: Iterable[str], hosts: Hosts) -> list[Host]:
    """Of `--host`: names, `@tag`, `all`, `local`; each host once, in the order in which it was
    first meant."""
    found: dict[str, Host] = {}
    for word in map(str.strip, chain.from_iterable(word.split(",") for word in words)):
        found.update((host.name, host) for host in _meant(word, hosts))
    return list(found.values())


def _meant(word: str, hosts: Hosts) -> list[Host]:
    if word == EVERY:
        return list(hosts.found.values())
    if word.startswith("@"):
        tagged = hosts.tagged(word[1:])
        return tagged if tagged else _unknown(word, hosts)
    host = hosts.named(word)
    return [host] if host is not None else _unknown(word, hosts)


def _unknown(word: str, hosts: Hosts) -> list[Host]:
    kind = "no host has the tag" if word.startswith("@") else "there is no host"
    known = ", ".join([*hosts.found, LOCAL])
    raise Failure(
        Code.HOST_UNKNOWN,
        f"could not tell which host is meant: {kind} {word.lstrip('@')!r}",
        f"known: {known}; hosts are listed in {hosts.path or 'hosts.yaml'}",
    )


def split(target: str, hosts: Hosts) -> tuple[str, Host] | None:
    """`NAME@HOST`, where that host is known."""
    before, at, name = target.rpartition("@")
    host = hosts.named(name) if at and before else None
    return (before, host) if host is not None else None


def errands(
    targets: Sequence[str],
    flagged: Sequence[Host] | None,
    hosts: Callable[[], Hosts],
    is_row: Callable[[str], bool],
) -> list[Errand] | None:
    """None where only this machine is meant. `flagged`: of --host, None where it was not given."""
    wanted: dict[str, tuple[Host, list[str]]] = {host.name: (host, []) for host in flagged or ()}
    asked = flagged is not None
    here = Host(LOCAL)
    plain = tuple(flagged) if flagged is not None else (here,)
    for target in targets:
        found = None if "@" not in target or is_row(target) else split(target, hosts())
        asked = asked or found is not None
        to = [(found[1], found[0])] if found else [(host, target) for host in plain]
        if "@" in target and found is None and is_row(target):
            to = [(here, target)]
        for host, word in to:
            wanted.setdefault(host.name, (host, []))[1].append(word)
    if not asked:
        return None
    named = {host.name for host in flagged or ()}
    every = [Errand(host, tuple(words), host.name in named) for host, words in wanted.values()]
    return [one for one in every if one.targets or not targets]
