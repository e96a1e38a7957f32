"""Every code has one exit status; a run with several failures returns the one that all share."""

from __future__ import annotations

import pytest

from tests.fakes import DEMO, Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Exit, Failure, command, shared_exit

# The exit statuses are a public contract.
CONTRACT = {
    1: (
        "still_running session_alive session_replaced own_session foreign_panes ambiguous_pane"
        " kill_failed cleanup_failed pane_close_failed ambiguous_conversation session_exists"
        " start_failed not_resumable conversation_in_use registered_elsewhere beyond_reach"
        " timed_out gone not_interruptible declined not_idle unconfirmed"
        " respawned resume_halted"
    ),
    2: "usage host_unknown config_invalid",
    3: "session_not_registered process_not_found no_tracked_pid",
    4: "tmux_unreachable tmux_missing host_unreachable host_without_tmuxreap host_incompatible",
    5: "permission_denied",
    6: (
        "registry_not_found registry_invalid registry_untrusted registry_unwritable row_invalid"
        " lock_timeout"
    ),
    70: "bug",
    130: "interrupted",
}


def test_codes_and_exit_statuses_are_those_of_the_contract() -> None:
    assert {code.text: int(code.exit) for code in Code} == {
        text: status for status, texts in CONTRACT.items() for text in texts.split()
    }
    assert {int(status) for status in Exit} == {0, *CONTRACT}


def test_no_two_codes_share_their_text() -> None:
    assert len(Code) == len({code.text for code in Code}) == len(Code.__members__)


@pytest.mark.parametrize(
    ("codes", "status"),
    [
        ([], 0),
        ([Code.LOCK_TIMEOUT], 6),
        ([Code.LOCK_TIMEOUT, Code.ROW_INVALID], 6),
        ([Code.STILL_RUNNING, Code.STILL_RUNNING], 1),
        ([Code.SESSION_NOT_REGISTERED, Code.ROW_INVALID], 1),
        ([Code.PERMISSION_DENIED, Code.TMUX_MISSING, Code.USAGE], 1),
    ],
)
def test_the_exit_status_is_the_one_that_all_failures_share(codes: list[Code], status: int) -> None:
    assert int(shared_exit(codes)) == status


def test_a_failure_is_written_as_json() -> None:
    failure = Failure(Code.USAGE, "could not do it: no", "do that")
    assert failure.as_json() == {
        "code": "usage",
        "message": "could not do it: no",
        "hint": "do that",
    }
    assert str(failure) == "could not do it: no"


def test_a_hint_can_be_copied_into_a_shell_with_any_name() -> None:
    assert command("stop", "acme-2") == "tmuxreap stop acme-2"
    assert (
        command("adopt", "x; reboot", "--agent", "demo")
        == "tmuxreap adopt 'x; reboot' --agent demo"
    )


def test_a_strangers_session_name_is_not_offered_as_a_command(story: Story) -> None:
    story.agent()
    story.tmux.open(story.SOCKET, "$(reboot)", *DEMO)
    (told,) = reconcile.run(story.app(), dry_run=True).results
    assert told.as_json()["hint"] == "tmuxreap adopt '$(reboot)' --agent demo"
