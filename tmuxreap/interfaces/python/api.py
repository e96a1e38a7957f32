"""All public names of `import tmuxreap`; any other name may change at any time.

Holds no code: the names are imported on first use."""

from __future__ import annotations

from tmuxreap.core.answers.base import Draft, Problem, Process
from tmuxreap.core.answers.changes import Change
from tmuxreap.core.answers.endings import Awaited, Ending, Forgotten, Interrupted, Rung
from tmuxreap.core.answers.news import Action, Drift, Event, Reconciled
from tmuxreap.core.model import Conversation
from tmuxreap.interfaces.python.errors import (
    EndingError,
    Error,
    LockHeld,
    LockTimeout,
    NotFoundError,
    PermissionDeniedError,
    RegistryError,
    TmuxError,
    UsageError,
)
from tmuxreap.interfaces.python.registry import Registry, open_registry
from tmuxreap.interfaces.python.results import Session
from tmuxreap.interfaces.python.streams import Stream

__all__ = [
    "Action",
    "Awaited",
    "Change",
    "Conversation",
    "Draft",
    "Drift",
    "Ending",
    "EndingError",
    "Error",
    "Event",
    "Forgotten",
    "Interrupted",
    "LockHeld",
    "LockTimeout",
    "NotFoundError",
    "PermissionDeniedError",
    "Problem",
    "Process",
    "Reconciled",
    "Registry",
    "RegistryError",
    "Rung",
    "Session",
    "Stream",
    "TmuxError",
    "UsageError",
    "open_registry",
]
