"""Options of the Python interface, and the policy made from them."""

from __future__ import annotations

import pytest

from tmuxreap.core.model import Scope, Verb
from tmuxreap.interfaces.python.options import UsageError, limits_of, policy_of, seconds


def test_names_become_a_policy_and_the_rest_is_as_on_the_command_line() -> None:
    stop = policy_of(
        Verb.STOP,
        {"reason": "done", "grace": "2s", "keys_timeout": 1, "after_turn": "1m", "pane_only": True},
    )
    assert (stop.verb, stop.reason, stop.grace_s) == (Verb.STOP, "done", 2.0)
    assert (stop.keys_timeout_s, stop.after_turn_s, stop.scope) == (1, 60.0, Scope.PANE)
    kill = policy_of(Verb.KILL, {})
    assert (kill.verb, kill.reason, kill.task_status) == (Verb.KILL, "killed", "failed")
    assert (kill.force, kill.purge, kill.scope) == (True, False, Scope.AGENT)


def test_a_mistake_is_no_option() -> None:
    with pytest.raises(TypeError, match="got an unexpected option: gracee"):
        policy_of(Verb.STOP, {"gracee": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got an unexpected option: after_turn"):
        policy_of(Verb.KILL, {"after_turn": 1})
    with pytest.raises(TypeError, match="cannot be combined"):
        policy_of(Verb.KILL, {"whole_session": True, "pane_only": True})


def test_limits_and_lengths_of_time() -> None:
    assert limits_of("2m", None).stalled_after_s == 120.0
    assert limits_of(None, None) == limits_of(None, None)
    assert (seconds(None), seconds(3), seconds("15m")) == (None, 3, 900.0)
    with pytest.raises(UsageError):
        seconds("soon")
