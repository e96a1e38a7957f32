"""What the caller of an ending asked for."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb, Scope
from tmuxreap.ending.policy import DEFAULTS_OF_REAP, EndingOptions, Policy, make_policy


def asked(verb: EndVerb = EndVerb.STOP, **options: Any) -> Policy:
    return make_policy(verb, EndingOptions(**options), {})


def test_options_become_a_policy() -> None:
    stop = asked(reason="done", grace="2s", keys_timeout=1, after_turn="1m", pane_only=True)
    assert (stop.verb, stop.reason, stop.grace_s) == (EndVerb.STOP, "done", 2.0)
    assert (stop.keys_timeout_s, stop.after_turn_s, stop.scope) == (1.0, 60.0, Scope.PANE)
    kill = asked(EndVerb.KILL, no_force=True, whole_session=True)
    assert (kill.reason, kill.task_status, kill.force) == ("killed", "failed", False)
    assert (kill.purge, kill.cleanup, kill.scope) == (False, False, Scope.SESSION)
    assert asked() == Policy(EndVerb.STOP, "manual_stop")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"whole_session": True, "pane_only": True}, "cannot be combined"),
        ({"task_status": "done"}, "could not read --task-status: 'done'"),
        ({"grace": "soon"}, "could not read --grace: 'soon'"),
        ({"grace": -1}, "could not read --grace: '-1'"),
        ({"keys_timeout": float("nan")}, "could not read --keys-timeout: 'nan'"),
        ({"after_turn": float("inf")}, "could not read --after-turn: 'inf'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(Failure, match=said) as caught:
        asked(**options)
    assert caught.value.code is Code.USAGE
    assert caught.value.hint


def test_the_users_defaults_fill_in_what_was_not_given() -> None:
    defaults = {"reason": "night", "grace": 8.0, "cleanup": True, "reap.grace": 20.0}
    plain = make_policy(EndVerb.STOP, EndingOptions(), defaults)
    assert (plain.reason, plain.grace, plain.cleanup) == ("night", 8.0, False)
    chosen = make_policy(EndVerb.STOP, EndingOptions("mine", grace=0), defaults)
    assert (chosen.reason, chosen.grace) == ("mine", 0.0)
    swept = make_policy(EndVerb.STOP, EndingOptions("idle"), defaults, DEFAULTS_OF_REAP)
    assert (swept.reason, swept.grace, swept.cleanup) == ("idle", 20.0, True)
    kept = make_policy(
        EndVerb.STOP, EndingOptions("idle", cleanup=False), defaults, DEFAULTS_OF_REAP
    )
    assert not kept.cleanup
