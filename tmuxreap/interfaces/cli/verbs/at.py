"""Declares `at`, called by another host's tmuxreap; `remote.there` does the work."""

from __future__ import annotations

from tmuxreap.interfaces.cli.parameters import Done


def command() -> None:
    """Internal: answer the tmuxreap of another host."""
    from tmuxreap.interfaces.remote.there import serve

    raise Done(serve())
