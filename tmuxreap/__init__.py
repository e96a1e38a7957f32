"""tmuxreap ends AI coding agents in tmux properly.

    registry = tmuxreap.open_registry()
    for session in registry.sessions(live=True):
        print(session.name, session.agent)
    ending = registry.stop("acme", reason="nightly")

The public names are those of `interfaces.python.api`, described in docs/python.md. They are
imported on first use."""

__version__ = "0.2.0"

TYPE_CHECKING = False  # not from `typing`: importing that would cost more than this whole module
if TYPE_CHECKING:
    from tmuxreap.interfaces.python.api import *  # noqa: F403
else:

    def __getattr__(name):
        if name == "__all__":
            return sorted(_public())
        if name.startswith("_") or name not in _public():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = _public()[name]
        return value

    def __dir__():
        return sorted({*globals(), *_public()})

    def _public():
        from tmuxreap.interfaces.python import api

        found = {}
        for name, value in vars(api).items():
            if not name.startswith("_"):
                found[name] = value
        return found
