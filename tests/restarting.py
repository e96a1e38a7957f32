"""A lost session that asks for a restart, on fakes."""

from __future__ import annotations

import json

import yaml

from tests.fakes import Story, row_of
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.model import Row
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.transitions import life_of
from tmuxreap.system.environment import user_here


def wanting(
    story: Story,
    name: str = "acme",
    restart: str = "on-failure",
    start_command: str | None = None,
    **fields: object,
) -> Row:
    """Add a running session, next to one that keeps the server alive."""
    story.agent(name, **fields)  # type: ignore[arg-type]
    if not any(one.name == "base" for one in story.tmux.servers[story.SOCKET].sessions):
        story.tmux.open(story.SOCKET, "base", "bash")
    own = {} if start_command is None else {"start_command": start_command}
    write(story, name, restart=restart, **own)
    begin(story, name)
    return row_of(story, name)


def begin(story: Story, name: str = "acme", kind: str = "adopted", **facts: object) -> None:
    """Let the ledger tell that a user began this session here."""
    life = life_of(row_of(story, name))
    data = {"life": life, "user": user_here(story.app().settings.uid), **facts}
    story.app().books.note_all([NewEvent(name, kind, data)])


def lost(
    story: Story,
    name: str = "acme",
    restart: str = "on-failure",
    cause: str | None = "SIGKILL",
    start_command: str | None = None,
    **fields: object,
) -> Row:
    """Add a session that died of that cause."""
    wanting(story, name, restart, start_command, **fields)
    die(story, name, cause)
    return row_of(story, name)


def die(story: Story, name: str = "acme", cause: str | None = "SIGKILL") -> None:
    story.processes.die(story.agents[name].process)
    reconcile.settle(story.app(), cause_of={}.get if cause is None else {name: cause}.get)


def write(story: Story, name: str, **fields: object) -> None:
    """Write fields like another tool."""
    lines = story.path.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if f'"name": "{name}"' in line)
    row = {**yaml.safe_load(lines[at])[0], **fields}
    lines[at] = f"  - {json.dumps(row)}\n"
    story.path.write_text("".join(lines))


def kinds(story: Story, name: str = "acme") -> list[str]:
    """Return the kinds of its events, without the one that tells of its start."""
    with story.ledger() as ledger:
        return [it.kind for it in ledger.events({name}) if it.kind != "adopted"]
