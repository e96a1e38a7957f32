"""The words of `at`, which another host's tmuxreap calls: it has none. What it does is in
`remote.there`."""

from __future__ import annotations

import typer


def command() -> None:
    """Answer the tmuxreap of another host: not for people."""
    from tmuxreap.interfaces.remote.there import serve

    raise typer.Exit(serve())
