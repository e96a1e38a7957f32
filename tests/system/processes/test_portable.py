"""What cannot be provoked on Linux: a process that must not even be looked at."""

from __future__ import annotations

import psutil
import pytest

from tmuxreap.core.model import ProcessId
from tmuxreap.system.processes.portable import PsutilProcesses


@pytest.mark.parametrize(
    ("raised", "gone"),
    [(psutil.AccessDenied(7), set()), (psutil.NoSuchProcess(7), {ProcessId(7, 1)})],
)
def test_a_process_that_may_not_be_signalled_is_not_gone(
    raised: psutil.Error, gone: set[ProcessId], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(pid: int) -> psutil.Process:
        raise raised

    monkeypatch.setattr(psutil, "Process", refused)
    assert PsutilProcesses().wait({ProcessId(7, 1)}, 0.0) == gone
