"""What is sent to tmux for the requests of a ladder: keys, closings, options. Sends nothing itself.

Decides one thing only: no key goes to a pane whose foreground process is not the agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tmuxreap.agents.profiles import Key, Text
from tmuxreap.core import model
from tmuxreap.core.model import Deed
from tmuxreap.core.ports import Processes
from tmuxreap.core.values import replace
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.ladder import requests
from tmuxreap.ending.ladder.requests import Request
from tmuxreap.ending.plan import WHILE_KEYS
from tmuxreap.ledger.records import PaneOption
from tmuxreap.proof.panes import in_foreground


def deeds_of(ending: Ending, request: Request[Any], processes: Processes) -> list[Deed]:
    """Return the commands for a request; none if a key may not be sent right now."""
    if isinstance(request, requests.Press):
        return _press(ending, request.step, processes)
    return _close(ending)


def _close(ending: Ending) -> list[Deed]:
    """Return the commands that close the session. Panes of a window that is linked into another
    session are closed one by one: they would outlive the session."""
    server, session, whole = ending.plan.server, ending.sight.session, ending.sight.whole
    assert server is not None and session is not None and whole is not None  # noqa: S101 - it was seen
    ending.strike()
    if ending.past.pane_only or ending.sight.foreign:
        return [model.ClosePane(server, whole, pane) for pane in session.panes]
    shared = [pane for pane in session.panes if whole.shares(pane)]
    left = replace(whole, panes=tuple(pane for pane in whole.panes if pane not in shared))
    alone = [pane for pane in session.panes if pane not in shared]
    panes = [model.ClosePane(server, whole, pane) for pane in shared]
    return [*panes, model.CloseSession(server, left, alone)]


def ready(ending: Ending) -> list[Deed]:
    """Return the commands that make the pane ready for keys."""
    plan, pane = ending.plan, ending.plan.sight.pane
    assert pane is not None  # noqa: S101 - a plan without a pane skips the keys
    during = [model.SetOption(it.pane, it.option, WHILE_KEYS[it.option]) for it in plan.options]
    return [model.LeaveMode(pane.id), *during]


def _press(ending: Ending, step: Key | Text, processes: Processes) -> list[Deed]:
    """Return the command for a key, or none if the agent is not in the foreground right now."""
    pane, server = ending.sight.pane, ending.plan.server
    now = (processes.refresh(process.id) for process in ending.sight.keyed)
    in_front = any(process and in_foreground(process) for process in now)
    if pane is None or server is None or not in_front:
        return []
    keys, text = ((step.name,), "") if isinstance(step, Key) else ((), step.text)
    return [model.Press(server, pane, keys, text)]


def restore(options: Iterable[PaneOption]) -> list[Deed]:
    """Return the commands that give the options of the user's pane their values back."""
    return [model.SetOption(option.pane, option.option, option.before) for option in options]
