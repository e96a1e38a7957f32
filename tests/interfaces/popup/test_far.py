"""What the popup remembers of other hosts."""

from __future__ import annotations

from tests.interfaces.text.test_report import SHOP
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import replace
from tmuxreap.interfaces.popup.actions import HostAnswer, HostAnswers, by_host, why

DOWN = Failure(Code.HOST_UNREACHABLE, "could not reach gpu: no route")


def there(*names: str) -> HostAnswer:
    return HostAnswer(tuple(replace(SHOP, name=name) for name in names))


def known(*names: str) -> HostAnswers:
    hosts = HostAnswers()
    hosts.names = names
    return hosts


def test_a_host_is_asked_again_when_it_has_answered_and_so_many_at_once() -> None:
    hosts = known("a", "b", "c")
    assert hosts.due(2) == ["a", "b"]
    assert hosts.due(2) == []
    hosts.record("b", there())
    assert hosts.due(2) == ["b"]
    assert hosts.waiting() == 2


def test_sessions_are_known_by_their_target_and_a_row_of_this_machine_wins() -> None:
    hosts = known("gpu", "dev")
    hosts.record("gpu", there("web@gpu", "api@gpu"))
    hosts.record("dev", there("web@dev"))
    assert hosts.of({"api@gpu"}) == {"web@gpu": "gpu", "web@dev": "dev"}
    assert [one.name for one in hosts.sessions({"api@gpu"})] == ["web@gpu", "web@dev"]


def test_a_failure_of_a_host_is_kept_until_it_answers() -> None:
    hosts = known("gpu")
    hosts.record("gpu", HostAnswer((), DOWN))
    assert (hosts.troubles(), hosts.waiting()) == ([DOWN], 0)
    hosts.record("gpu", there("web@gpu"))
    assert hosts.troubles() == []


def test_an_answer_after_hosts_were_hidden_is_dropped() -> None:
    hosts = known("gpu")
    assert hosts.due(1) == ["gpu"]
    hosts.forget()
    hosts.record("gpu", there("web@gpu"))
    assert (hosts.sessions(()), hosts.due(1)) == ([], [])


def test_targets_are_grouped_by_their_host() -> None:
    found = by_host(["web@gpu", "mine", "api@gpu"], {"web@gpu": "gpu", "api@gpu": "gpu"})
    assert found == {"gpu": ["web@gpu", "api@gpu"], "": ["mine"]}


def test_a_false_row_on_a_host_names_the_command_that_says_why() -> None:
    told = why(replace(SHOP, drift="gone"), "gpu")
    assert told == "gone; see: tmuxreap reconcile --host gpu --dry-run"
