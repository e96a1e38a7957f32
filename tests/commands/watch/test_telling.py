"""What a watch reports: many deaths are one alarm, and a notice is one plain line."""

from __future__ import annotations

import pytest

from tmuxreap.commands.watch import telling
from tmuxreap.commands.watch.telling import ALARM_DELAY_S, Reporter, ledger_drift, notice
from tmuxreap.core.answers import Change, Drift


class Heard:
    def __init__(self) -> None:
        self.told: list[Change] = []
        self.alarms: list[Change] = []
        self.all = Reporter(self.told.append, None, "registry", notify=self.alarms.append)

    def die(self, *names: str, cause: str | None = "SIGKILL") -> None:
        dead = [Drift(name, "dead", "gone", settled=True, cause=cause) for name in names]
        self.all.drifts(1.0, dead)

    def words(self, of: list[Change]) -> list[tuple[object, object]]:
        return [(one.event, one.count) for one in of]


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_many_deaths_are_one_alarm_with_their_number(heard: Heard) -> None:
    heard.die("a", "b")
    assert heard.all.delays_alarms(0.0)
    heard.die("c", "d")
    assert heard.all.delays_alarms(0.1)
    assert heard.alarms == []
    assert not heard.all.delays_alarms(0.2)
    assert heard.words(heard.alarms) == [("mass_death", 4)]
    assert heard.alarms[0].names == ("a", "b", "c", "d")
    assert heard.alarms[0].cause == "SIGKILL"
    assert heard.words(heard.told) == [("dead", None)] * 4 + [("mass_death", 4)]
    assert not heard.all.delays_alarms(0.3)
    assert len(heard.alarms) == 1


def test_a_single_death_is_its_own_alarm_a_moment_later(heard: Heard) -> None:
    heard.die("a")
    heard.all.delays_alarms(0.0)
    heard.all.delays_alarms(0.1)
    assert heard.words(heard.alarms) == [("dead", None)]
    heard.die("b")
    heard.all.flush()
    assert heard.words(heard.alarms) == [("dead", None)] * 2


def test_repeated_deaths_do_not_suppress_an_alarm_forever(heard: Heard) -> None:
    for step in range(30):
        heard.die(f"n{step}")
        heard.all.delays_alarms(step * 0.1)
    assert heard.words(heard.alarms)[0][0] == "mass_death"
    assert 0.1 * int(str(heard.alarms[0].count)) <= ALARM_DELAY_S + 0.2


def test_a_notice_is_one_line_that_commands_no_terminal() -> None:
    line = notice(Change("acme", "agent_gone", "T", evidence="a\nb\x1b[31m" + "x" * 500))
    assert line.startswith("acme: agent_gone: a b\\x1b[31mx")
    assert (len(line), line.isprintable()) == (telling.NOTICE_CELLS, True)
    state = Change("acme", "state", "T", before="working", state="waiting")
    assert notice(state) == "acme: state: working -> waiting"


def test_a_fault_of_the_ledger_is_reported_and_nothing_else() -> None:
    warnings = ["ledger_not_read: it is locked", "row_invalid: no", "plain words"]
    (told,) = ledger_drift(warnings)
    assert (told.drift, told.evidence) == ("ledger_not_read", "it is locked")
