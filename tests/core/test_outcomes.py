"""What the outcomes of endings say together."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Outcome, StoppedBy
from tmuxreap.core.results import Counts, Ending, counts, failed_target


def ended(name: str, by: StoppedBy) -> Ending:
    return Ending(name=name, outcome=Outcome.STOPPED, stopped_by=by)


def test_a_refusal_is_no_failed_attempt() -> None:
    refused = failed_target("acme", Failure(Code.OWN_SESSION, "could not stop acme: it is yours"))
    failed = failed_target("acme", Failure(Code.PROCESS_NOT_FOUND, "could not find acme"))
    assert (refused.outcome, failed.outcome) == (Outcome.REFUSED, Outcome.FAILED)
    assert refused.error is not None
    assert refused.error.code == "own_session"


def test_endings_are_counted_by_their_means() -> None:
    failed = failed_target("d", Failure(Code.PROCESS_NOT_FOUND, "could not find d"))
    endings = [ended("a", StoppedBy.EXIT_KEYS), ended("b", StoppedBy.HANGUP), failed]
    assert counts(endings) == Counts(ended=2, by_keys=1, by_term=1, by_kill=0, failed=1)
