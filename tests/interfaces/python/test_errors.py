"""A class of error for each exit status, with code, message and hint."""

from __future__ import annotations

import pytest

from tmuxreap.core.errors import Code, Exit, Failure, LockIsHeld
from tmuxreap.interfaces.python import options
from tmuxreap.interfaces.python.options import KINDS, error_of


@pytest.mark.parametrize("code", [code for code in Code if code.exit in KINDS])
def test_the_kind_follows_from_the_exit_status(code: Code) -> None:
    error = error_of(Failure(code, "could not: no", "try"), ["x"])
    assert isinstance(error, KINDS[code.exit])
    assert (error.code, str(error), error.results) == (code.text, "could not: no (try)", ("x",))
    assert str(error_of(Failure(code, "could not: no"))) == "could not: no"


def test_a_lock_of_the_caller_is_an_error_of_its_own() -> None:
    assert type(error_of(LockIsHeld("stop"))) is options.LockHeld
    assert Exit.OK not in KINDS
