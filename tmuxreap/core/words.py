"""The words of outcomes, liveness and states as types: an editor completes them in a user's script.
Decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tmuxreap.core.model import AgentState, Live, Outcome

OutcomeName = Literal[
    "stopped",
    "killed",
    "terminated",
    "already_stopped",
    "handed_over",
    "taken_over",
    "planned",
    "refused",
    "survived",
    "failed",
    "interrupted",
    "already_idle",
    "sent",
    "restarted",
    "unknown",
]
LiveName = Literal["alive", "agent_gone", "gone", "unknown", "replaced"]
StateName = Literal["working", "waiting", "limited", "idle", "unknown"]

if TYPE_CHECKING:
    # A type checker of users knows the words; a member of ours equals its text.
    OutcomeText = Outcome | OutcomeName
    LiveText = Live | LiveName
    StateText = AgentState | StateName
else:
    OutcomeText = LiveText = StateText = str  # a newer host may have other words
