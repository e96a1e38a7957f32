"""The command of `watch --exec`: checked, run, and killed when it hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real import alive, until
from tmuxreap.commands.watch import telling
from tmuxreap.core.errors import Failure


def test_a_command_that_hangs_is_ended_with_what_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(telling, "EXEC_S", 1.5)
    file = tmp_path / "pid"
    telling.execute(f"sleep 600 & echo $! > {file}; wait", "{}")
    until("the end of its child", lambda: not alive(int(file.read_text())))
    assert capfd.readouterr() == (
        "",
        "warning: the command of --exec ended with: nothing within 1.5 s\n",
    )


def test_a_command_that_fails_is_reported_and_its_words_are_no_events(
    capfd: pytest.CaptureFixture[str],
) -> None:
    telling.execute("echo words; exit 3", "{}")
    assert capfd.readouterr() == ("", "words\nwarning: the command of --exec ended with: 3\n")


@pytest.mark.parametrize("command", ["/nope/x", "no-such-program -q", "if true", "'unfinished"])
def test_a_command_that_cannot_be_run_is_refused(command: str) -> None:
    with pytest.raises(Failure, match="could not use --exec"):
        telling.check(command)


@pytest.mark.parametrize(
    "command", ["cat > /dev/null", "x=1 env", "{ true; }", "cd / && true", "test -n x", "$EDITOR x"]
)
def test_a_command_that_can_be_run_is_accepted(command: str) -> None:
    telling.check(command)
