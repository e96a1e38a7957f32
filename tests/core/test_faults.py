"""Fault points fail the armed step and no other."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from tmuxreap.core import faults
from tmuxreap.core.faults import Step


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    faults.arm("")


def test_unarmed_no_step_fails() -> None:
    faults.arm("")
    for step in Step:
        faults.at(step)


def test_the_armed_steps_fail_as_they_were_set_to_and_no_other() -> None:
    faults.arm("intent=ENOSPC,ledger=EIO")
    for step, number in ((Step.INTENT, errno.ENOSPC), (Step.LEDGER, errno.EIO)):
        with pytest.raises(OSError) as caught:
            faults.at(step)
        assert caught.value.errno == number
    faults.at(Step.READ)


def test_a_step_may_be_armed_for_its_second_passing() -> None:
    faults.arm("replaced@2=EIO")
    faults.at(Step.REPLACED)
    with pytest.raises(OSError):
        faults.at(Step.REPLACED)
    faults.at(Step.REPLACED)


def test_a_fault_that_nobody_knows_is_an_error_of_the_test() -> None:
    faults.arm("read=ENOSUCH")
    with pytest.raises(AttributeError):
        faults.at(Step.READ)
