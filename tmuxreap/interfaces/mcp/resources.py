"""Owns what a client may read without a tool: the registry, and the screens of sessions with
secrets masked. Never changes anything."""

from __future__ import annotations

from urllib.parse import quote, unquote

from tmuxreap.commands import show
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen
from tmuxreap.sessions.context import Context

REGISTRY = "tmuxreap://registry"
SCREEN = "tmuxreap://sessions/{name}/screen"
MOST = 100  # running sessions that are listed


@frozen
class Readable:
    uri: str
    name: str
    about: str
    kind: str = "text/plain"


THE_REGISTRY = Readable(
    REGISTRY, "registry", "agent-sessions.yaml: every session, also ended ones.", "application/yaml"
)
A_SCREEN = Readable(SCREEN, "screen", "What a session's pane shows now; secrets are masked.")


def readable(context: Context) -> list[Readable]:
    """Return the registry, and the screen of each running session."""
    try:
        rows = context.registry.look().usable
    except Failure:
        return [THE_REGISTRY]
    names = [row.name for row in rows if not row.status.ended][:MOST]
    return [
        THE_REGISTRY,
        *(
            Readable(SCREEN.format(name=quote(name, safe="")), f"{name}: screen", A_SCREEN.about)
            for name in names
        ),
    ]


def read(context: Context, uri: str) -> tuple[str, str]:
    """Return the resource's MIME type and its text."""
    if uri == REGISTRY:
        return THE_REGISTRY.kind, context.registry.look().document.text
    before, after = SCREEN.split("{name}")
    if not (uri.startswith(before) and uri.endswith(after) and len(uri) > len(before + after)):
        raise Failure(Code.USAGE, f"could not read {uri!r}: there is no such resource", SCREEN)
    return A_SCREEN.kind, _screen(context, unquote(uri[len(before) : -len(after)]))


def _screen(context: Context, name: str) -> str:
    """Return the screen of one session, given its exact name: patterns and tags have no screen."""
    if not any(row.name == name for row in context.registry.look().usable):
        reason = f"could not read the screen of {name!r}: there is no such session"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")
    (session,) = show.run(context, [name]).results
    return str(session.as_json().get("screen") or "")
