"""Which hosts are selected, and which target goes to which."""

from __future__ import annotations

import pytest

from tmuxreap.core.errors import Failure
from tmuxreap.hosts.choose import HostTargets, hosts_of, split, targets_by_host
from tmuxreap.hosts.file import LOCAL, Host, Hosts

NORTH, SOUTH = Host("north", "north", tags=("lab",)), Host("south", "south", tags=("lab", "big"))
HOSTS = Hosts(None, {"north": NORTH, "south": SOUTH})
HERE = Host(LOCAL)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["north"], [NORTH]),
        (["south,north", "south"], [SOUTH, NORTH]),
        (["@lab"], [NORTH, SOUTH]),
        (["@big", "all"], [SOUTH, NORTH]),
        (["local, north"], [HERE, NORTH]),
    ],
)
def test_each_host_is_selected_once_in_the_order_of_the_words(
    words: list[str], meant: list[Host]
) -> None:
    assert hosts_of(words, HOSTS) == meant


@pytest.mark.parametrize(
    ("word", "reason"),
    [("east", "there is no host 'east'"), ("@far", "no host has the tag 'far'")],
)
def test_an_unknown_host_is_reported_with_the_known_ones(word: str, reason: str) -> None:
    with pytest.raises(Failure, match=reason) as caught:
        hosts_of([word], HOSTS)
    assert "north, south, local" in caught.value.hint


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("acme@north", ("acme", NORTH)),
        ("a@b@south", ("a@b", SOUTH)),
        ("acme@local", ("acme", HERE)),
        ("acme@east", None),
        ("@north", None),
        ("acme", None),
    ],
)
def test_the_host_comes_after_the_last_at(target: str, parts: tuple[str, Host] | None) -> None:
    assert split(target, HOSTS) == parts


def sent(*targets: str, flag: list[Host] | None = None, rows: str = "") -> list[HostTargets] | None:
    return targets_by_host(targets, flag, lambda: HOSTS, lambda word: word in rows.split())


def test_a_target_without_a_host_is_local_and_reads_no_file() -> None:
    assert targets_by_host(["a", "tag:x"], None, pytest.fail, lambda _: False) is None


def test_a_name_with_an_at_may_be_a_row_of_this_machine() -> None:
    assert sent("me@north", rows="me@north") is None
    assert sent("me@north", flag=[SOUTH], rows="me@north") == [
        HostTargets(HERE, ("me@north",), False)
    ]


def test_a_target_goes_to_its_own_host_and_others_go_to_all_selected() -> None:
    assert sent("a@north", "b", flag=[SOUTH]) == [
        HostTargets(SOUTH, ("b",), True),
        HostTargets(NORTH, ("a",), False),
    ]
    assert sent("a@north", "b") == [
        HostTargets(NORTH, ("a",), False),
        HostTargets(HERE, ("b",), False),
    ]


def test_a_host_without_a_target_is_asked_only_when_no_target_is_given() -> None:
    assert sent("a@north", flag=[SOUTH]) == [HostTargets(NORTH, ("a",), False)]
    assert sent(flag=[SOUTH]) == [HostTargets(SOUTH, (), True)]
