"""Declares `at`, called by the tmuxreap of another host; it has no flags. `remote.there` does the
work."""

from __future__ import annotations

from tmuxreap.interfaces.cli.parameters import Done


def command() -> None:
    """Internal: answer the tmuxreap of another host."""
    from tmuxreap.interfaces.remote.there import serve

    raise Done(serve())
