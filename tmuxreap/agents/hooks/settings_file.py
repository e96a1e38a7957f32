"""Our hooks in an agent's settings: which entries are needed, which are ours, and the text with and
without them. Never does I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tmuxreap.agents.hooks.jsonsplice import Node, parse, with_item, with_member, without
from tmuxreap.agents.profiles import Hooks

HOOKS, EVENT = "hooks", "event"
SWITCHES = ("disableAllHooks",)
# A shell comment, naming a container that was empty before and so stays.
EMPTY_COMMENT = " # was empty: "
KEPT_DEPTH = {HOOKS: 2, EVENT: 3}  # how many steps on the path to an entry stay


def installed(text: str, hooks: Hooks, agent: str, program: str) -> str:
    """Return the text with our hooks: unchanged if all are right, else with ours removed and added
    anew, after other entries."""
    before = removed(text, agent)
    needed = {
        event: entry_of(hooks, agent, program, event, _empty_container(before, event))
        for event in hooks.events
    }
    if {event: [entry] for event, entry in needed.items()} == _installed_entries(text, agent):
        return text
    text = before
    for key, value in hooks.base.items():
        text = with_member(text, (), key, value)
    text = with_member(text, (), HOOKS, {})
    for event, entry in needed.items():
        text = with_member(text, (HOOKS,), event, [])
        text = with_item(text, (HOOKS, event), entry)
    return text


def removed(text: str, agent: str) -> str:
    """Return the text without our hooks, and without containers that are empty only now; nothing
    else changes."""
    while paths := _entry_paths(text, agent):
        path = paths[-1]
        stays = _kept_depth(text, path)
        while len(path) > stays and len(path[-1][0].children) == 1:
            path = path[:-1]
        text = without(text, *path[-1])
    return text


def switched_off_by(text: str) -> str | None:
    """Return the setting that disables all hooks of the agent, if it is on."""
    root = parse(text)
    switches = ((switch, root.child(switch)) for switch in SWITCHES)
    return next((it for it, at in switches if at and text[at.start : at.end] == "true"), None)


def entry_of(
    hooks: Hooks, agent: str, program: str, event: str, empty: str | None = None
) -> object:
    """Return our entry. Its command never fails, even if this program is no longer installed."""
    argument = "" if hooks.named else f" {event}"
    comment = f"{EMPTY_COMMENT}{empty}" if empty else ""
    return _filled(hooks.entry, f"{program} hook {agent}{argument} 2>/dev/null || :{comment}")


def _empty_container(text: str, event: str) -> str | None:
    """Return which container of our entry is already there, and empty."""
    block = parse(text).child(HOOKS)
    if block is None or not block.children:
        return HOOKS if block else None
    entries = block.child(event)
    return EVENT if entries and not entries.children else None


def _filled(value: object, command: str) -> object:
    if isinstance(value, Mapping):
        return {str(key): _filled(item, command) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, command) for item in value]
    return value.replace("{command}", command) if isinstance(value, str) else value


EntryPath = list[tuple[Node, int]]  # the path to a node: each container, with the child's index


def _kept_depth(text: str, path: EntryPath) -> int:
    container, number = path[-1]
    entry = container.children[number]
    words = text[entry.start : entry.end]
    depths = (depth for word, depth in KEPT_DEPTH.items() if f"{EMPTY_COMMENT}{word}" in words)
    return next(depths, 1)


def _entry_paths(text: str, agent: str) -> list[EntryPath]:
    """Return the paths to all our entries."""
    root = parse(text)
    block = root.child(HOOKS)
    if block is None:
        return []
    top = max(number for number, node in enumerate(root.children) if node.key == HOOKS)
    paths: list[EntryPath] = []
    for number, event in enumerate(block.children if block.sign == "{" else ()):
        paths += [
            [(root, top), (block, number), *path] for path in _entry_paths_in(text, event, agent)
        ]
    return paths


def _entry_paths_in(text: str, entries: Node, agent: str) -> list[EntryPath]:
    """Return the paths to our entries in an event's list, alone or in a group with others."""
    paths: list[EntryPath] = []
    for number, entry in enumerate(entries.children if entries.sign == "[" else ()):
        group = entry.child(HOOKS)
        if group is not None:
            paths += [[(entries, number), *path] for path in _entry_paths_in(text, group, agent)]
        elif _is_ours(json.loads(text[entry.start : entry.end]), agent):
            paths.append([(entries, number)])
    return paths


def _is_ours(entry: object, agent: str) -> bool:
    program = r"(?:^|[/\s'\"])tmuxreap(?:/__main__\.py)?['\"]?"
    ours = re.compile(rf"{program} hook {re.escape(agent)}(?:\s|$)")
    return isinstance(entry, Mapping) and any(
        isinstance(value, str) and ours.search(value) for value in entry.values()
    )


def _installed_entries(text: str, agent: str) -> dict[str, list[object]]:
    """Return our current entries by event."""
    by_event: dict[str, list[object]] = {}
    for path in _entry_paths(text, agent):
        (block, number), (entries, place) = path[1], path[2]
        event, entry = block.children[number].key, entries.children[place]
        stored = json.loads(text[entry.start : entry.end])
        by_event.setdefault(event or "", []).append(stored)
    return by_event
