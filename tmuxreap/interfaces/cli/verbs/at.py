"""The words of `at`, which another host's tmuxreap calls: it has none. What it does is in
`remote.there`."""

from __future__ import annotations

from tmuxreap.interfaces.cli.parameters import Done


def command() -> None:
    """Answer the tmuxreap of another host: not for people."""
    from tmuxreap.interfaces.remote.there import serve

    raise Done(serve())
