"""Owns what a client may read without a tool: the registry, and the screens of sessions with
secrets masked. Never changes anything."""

from __future__ import annotations

from urllib.parse import quote, unquote

from mcp_types import Resource, ResourceTemplate

from tmuxreap.commands import show
from tmuxreap.core.errors import Code, Failure
from tmuxreap.sessions.context import Context

REGISTRY = "tmuxreap://registry"
SCREEN = "tmuxreap://sessions/{name}/screen"
TEXT, YAML = "text/plain", "application/yaml"
MOST = 100  # running sessions that are listed
ABOUT_A_SCREEN = "What a session's pane shows now; secrets are masked."
SCREENS = ResourceTemplate(
    uri_template=SCREEN, name="screen", description=ABOUT_A_SCREEN, mime_type=TEXT
)


def readable(context: Context) -> list[Resource]:
    """Return the registry, and the screen of each running session."""
    about = "agent-sessions.yaml: every session, also ended ones."
    registry = Resource(uri=REGISTRY, name="registry", description=about, mime_type=YAML)
    try:
        rows = context.registry.look().usable
    except Failure:
        return [registry]
    names = [row.name for row in rows if not row.status.ended][:MOST]
    return [registry, *map(_screen_resource, names)]


def _screen_resource(name: str) -> Resource:
    uri = SCREEN.format(name=quote(name, safe=""))
    return Resource(uri=uri, name=f"{name}: screen", description=ABOUT_A_SCREEN, mime_type=TEXT)


def read(context: Context, uri: str) -> tuple[str, str]:
    """Return the resource's MIME type and its text."""
    if uri == REGISTRY:
        return YAML, context.registry.look().document.text
    before, after = SCREEN.split("{name}")
    if not (uri.startswith(before) and uri.endswith(after) and len(uri) > len(before + after)):
        raise Failure(Code.USAGE, f"could not read {uri!r}: there is no such resource", SCREEN)
    return TEXT, _screen(context, unquote(uri[len(before) : -len(after)]))


def _screen(context: Context, name: str) -> str:
    """Return the screen of one session, given its exact name: patterns and tags have no screen."""
    if not any(row.name == name for row in context.registry.look().usable):
        reason = f"could not read the screen of {name!r}: there is no such session"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")
    (session,) = show.run(context, [name]).results
    return str(session.as_json().get("screen") or "")
