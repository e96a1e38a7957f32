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
EMPTY = " # was empty: "  # a shell comment, naming a container that was empty before and so stays
STAYS = {HOOKS: 2, EVENT: 3}  # how many steps on the path to an entry stay


def installed(text: str, hooks: Hooks, agent: str, program: str) -> str:
    """Return the text with our hooks: unchanged if all are right, else with ours removed and added
    anew, after other entries."""
    before = removed(text, agent)
    needed = {
        event: entry_of(hooks, agent, program, event, _empty(before, event))
        for event in hooks.events
    }
    if {event: [entry] for event, entry in needed.items()} == _there(text, agent):
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
    while ways := _ways(text, agent):
        way = ways[-1]
        stays = _stays(text, way)
        while len(way) > stays and len(way[-1][0].children) == 1:
            way = way[:-1]
        text = without(text, *way[-1])
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
    comment = f"{EMPTY}{empty}" if empty else ""
    return _filled(hooks.entry, f"{program} hook {agent}{argument} 2>/dev/null || :{comment}")


def _empty(text: str, event: str) -> str | None:
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


Way = list[tuple[Node, int]]  # the path to a node: each container, with the child's index


def _stays(text: str, way: Way) -> int:
    container, number = way[-1]
    entry = container.children[number]
    words = text[entry.start : entry.end]
    return next((stays for word, stays in STAYS.items() if f"{EMPTY}{word}" in words), 1)


def _ways(text: str, agent: str) -> list[Way]:
    """Return the paths to all our entries."""
    root = parse(text)
    block = root.child(HOOKS)
    if block is None:
        return []
    top = max(number for number, key in enumerate(root.keys or ()) if key == HOOKS)
    ways: list[Way] = []
    for number, event in enumerate(block.children if block.keys is not None else ()):
        ways += [[(root, top), (block, number), *way] for way in _ways_in(text, event, agent)]
    return ways


def _ways_in(text: str, entries: Node, agent: str) -> list[Way]:
    """Return the paths to our entries in an event's list, alone or in a group with others."""
    ways: list[Way] = []
    for number, entry in enumerate(entries.children if entries.keys is None else ()):
        group = entry.child(HOOKS)
        if group is not None:
            ways += [[(entries, number), *way] for way in _ways_in(text, group, agent)]
        elif _is_ours(json.loads(text[entry.start : entry.end]), agent):
            ways.append([(entries, number)])
    return ways


def _is_ours(entry: object, agent: str) -> bool:
    ours = re.compile(rf"(?:^|[/\s'\"])tmuxreap['\"]? hook {re.escape(agent)}(?:\s|$)")
    return isinstance(entry, Mapping) and any(
        isinstance(value, str) and ours.search(value) for value in entry.values()
    )


def _there(text: str, agent: str) -> dict[str, list[object]]:
    """Return our current entries by event."""
    by_event: dict[str, list[object]] = {}
    for way in _ways(text, agent):
        (block, number), (entries, place) = way[1], way[2]
        entry = entries.children[place]
        by_event.setdefault((block.keys or ())[number], []).append(
            json.loads(text[entry.start : entry.end])
        )
    return by_event
