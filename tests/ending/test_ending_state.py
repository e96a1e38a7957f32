"""The ending of one session: conclusions from observations and actions."""

from __future__ import annotations

from tests.ending.ladder.test_climb import an_ending
from tests.ending.test_plan import AGENT, OTHER, SIGHT, TROUBLE
from tmuxreap.core.model import Outcome, ProcessId, StoppedBy
from tmuxreap.core.values import replace
from tmuxreap.ending.ending_state import RungReport
from tmuxreap.ending.plan import RungKind
from tmuxreap.proof.ownership import Belonging, Owned
from tmuxreap.proof.panes import Carried


def test_panes_of_others_block_an_ending_until_something_was_ended() -> None:
    one = an_ending()
    assert not one.barred
    one.sight = replace(SIGHT, foreign=(OTHER,))
    assert (one.barred, one.blocked) == (True, True)
    one.touched = True
    assert (one.barred, one.blocked) == (False, False)
    one.sight = replace(SIGHT, trouble=TROUBLE)
    assert one.blocked


def test_two_endings_share_nothing() -> None:
    one, other = an_ending(), an_ending()
    one.kept.append("draft")
    one.rungs.append(RungReport(RungKind.KEYS))
    assert (other.kept, other.rungs, other.struck) == ([], [], {})


def test_an_ending_behind_an_opaque_carrier_awaits_the_carrier() -> None:
    ssh = replace(AGENT, comm="ssh", id=ProcessId(101, 8))
    one = an_ending(sight=replace(SIGHT, carrier=Carried(ssh, "ssh", beyond=True)))
    assert (one.awaited, one.beyond, one.cut_off) == (frozenset({ssh.id}), "ssh", False)
    one.sight, one.stopped_by = SIGHT, StoppedBy.HANGUP
    assert (one.awaited, one.cut_off) == (frozenset({AGENT.id}), True)
    one.agent_left = True
    assert not one.cut_off


def test_a_signalled_survivor_is_not_listed_as_swept() -> None:
    helper = Belonging(replace(AGENT, id=ProcessId(101, 8)), "tree")
    one = an_ending(outcome=Outcome.SURVIVED)
    one.struck = {helper.process.id: helper}
    one.sight = replace(SIGHT, owned=Owned((helper,)))
    assert (one.swept, one.survivors) == ((), (helper,))
    one.sight, one.outcome = replace(SIGHT, owned=Owned()), Outcome.STOPPED
    assert (one.swept, one.survivors) == ((helper,), ())


def test_panes_that_were_struck_stay_struck() -> None:
    one = an_ending()
    one.strike()
    one.sight = replace(SIGHT, session=None)
    one.strike()
    assert one.past.struck == {"%0"}
