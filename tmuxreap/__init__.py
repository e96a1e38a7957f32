"""tmuxreap ends AI coding agents in tmux properly.

    registry = tmuxreap.open_registry()
    for session in registry.sessions(live=True):
        print(session.name, session.agent)
    ending = registry.stop("acme", reason="nightly")

The names below are public and described in docs/python.md. They are imported on first use."""

__version__ = "0.1.0"

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

TYPE_CHECKING = False  # not from `typing`: importing that would cost more than this whole module
if TYPE_CHECKING:
    from tmuxreap.interfaces.python.api import *  # noqa: F403
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module("tmuxreap.interfaces.python.api"), name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
