"""The envelope of every answer, and the exit status that follows from its content."""

from __future__ import annotations

import pytest

from tmuxreap.core.answers import Beat
from tmuxreap.core.errors import Code, Exit, Failure
from tmuxreap.core.results import Result, failure_in, megabytes, problem_of

GOOD = Beat("a", "idle")


def bad(code: Code) -> Beat:
    return Beat("b", error=problem_of(Failure(code, "could not: no", "try: yes")))


def test_the_envelope_has_the_fields_of_the_contract() -> None:
    told = Result("list", "/r.yaml", 0.0, (GOOD,), ("careful",), more={"counts": {}}).as_json()
    assert told == {
        "schema": "tmuxreap/1",
        "command": "list",
        "ok": True,
        "exit_code": 0,
        "registry": "/r.yaml",
        "timestamp": "1970-01-01T00:00:00Z",
        "results": [{"name": "a", "state": "idle", "error": None}],
        "warnings": ["careful"],
        "error": None,
        "counts": {},
    }


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Result("x", None, 0.0, (GOOD,)), Exit.OK),
        (Result("x", None, 0.0, (GOOD,), status=Exit.FAILED), Exit.FAILED),
        (Result("x", None, 0.0, (GOOD, bad(Code.SESSION_NOT_REGISTERED))), Exit.NO_TARGET),
        (
            Result("x", None, 0.0, (bad(Code.TMUX_MISSING), bad(Code.SESSION_NOT_REGISTERED))),
            Exit.FAILED,
        ),
        (Result("x", None, 0.0, (bad(Code.TMUX_MISSING), bad(Code.INTERRUPTED))), Exit.INTERRUPTED),
        (
            Result("x", None, 0.0, (bad(Code.TMUX_MISSING),), failure=Failure(Code.USAGE, "no")),
            Exit.USAGE,
        ),
    ],
)
def test_an_answers_exit_status_follows_from_its_results(result: Result, expected: Exit) -> None:
    assert result.exit is expected
    assert result.as_json()["ok"] is (expected is Exit.OK)


def test_memory_is_printed_in_megabytes_with_one_decimal() -> None:
    assert megabytes(5 * 1024 * 1024 + 300_000) == 5.3


def test_a_failure_read_from_an_answer_has_its_exit_status() -> None:
    failure = failure_in(bad(Code.TMUX_MISSING))
    assert failure is not None
    assert (failure.code, failure.message, failure.hint) == (
        Code.TMUX_MISSING,
        "could not: no",
        "try: yes",
    )
    assert failure_in(GOOD) is None
