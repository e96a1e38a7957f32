"""Our hooks in an agent's settings: which entry is due, which are ours, and the text with them and
without. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tmuxreap.agents.hooks.jsonsplice import Node, parse, with_item, with_member, without
from tmuxreap.agents.profiles import Hooks

HOOKS, EVENT = "hooks", "event"
SWITCHES = ("disableAllHooks",)
EMPTY = " # was empty: "  # to the shell a comment: what had stood there empty, and so stays
STAYS = {HOOKS: 2, EVENT: 3}  # so much of the way to an entry


def installed(text: str, hooks: Hooks, agent: str, program: str) -> str:
    """The same text when all are there as they are due; else ours are made anew, after those of
    others."""
    before = removed(text, agent)
    due = {
        event: entry_of(hooks, agent, program, event, _empty(before, event))
        for event in hooks.events
    }
    if {event: [entry] for event, entry in due.items()} == _there(text, agent):
        return text
    text = before
    for key, value in hooks.base.items():
        text = with_member(text, (), key, value)
    text = with_member(text, (), HOOKS, {})
    for event, entry in due.items():
        text = with_member(text, (HOOKS,), event, [])
        text = with_item(text, (HOOKS, event), entry)
    return text


def removed(text: str, agent: str) -> str:
    """Without ours, and what stands empty without them and did not before; nothing else is
    touched."""
    while ways := _ways(text, agent):
        way = ways[-1]
        stays = _stays(text, way)
        while len(way) > stays and len(way[-1][0].children) == 1:
            way = way[:-1]
        text = without(text, *way[-1])
    return text


def switched_off_by(text: str) -> str | None:
    """Name the switch by which the agent calls no hook at all."""
    root = parse(text)
    switches = ((switch, root.child(switch)) for switch in SWITCHES)
    return next((it for it, at in switches if at and text[at.start : at.end] == "true"), None)


def entry_of(
    hooks: Hooks, agent: str, program: str, event: str, empty: str | None = None
) -> object:
    """What is called never fails the agent, also when this program is not there any more."""
    word = "" if hooks.named else f" {event}"
    remark = f"{EMPTY}{empty}" if empty else ""
    return _filled(hooks.entry, f"{program} hook {agent}{word} 2>/dev/null || :{remark}")


def _empty(text: str, event: str) -> str | None:
    """What stands there for our entry of that event, with nothing in it."""
    block = parse(text).child(HOOKS)
    if block is None or not block.children:
        return HOOKS if block else None
    entries = block.child(event)
    return EVENT if entries and not entries.children else None


def _filled(value: object, command: str) -> object:
    if isinstance(value, Mapping):
        return {str(key): _filled(one, command) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, command) for one in value]
    return value.replace("{command}", command) if isinstance(value, str) else value


Way = list[tuple[Node, int]]  # from the outside: each container, and which child of it


def _stays(text: str, way: Way) -> int:
    container, number = way[-1]
    entry = container.children[number]
    words = text[entry.start : entry.end]
    return next((stays for word, stays in STAYS.items() if f"{EMPTY}{word}" in words), 1)


def _ways(text: str, agent: str) -> list[Way]:
    """To every entry of ours."""
    root = parse(text)
    block = root.child(HOOKS)
    if block is None:
        return []
    top = max(number for number, key in enumerate(root.keys or ()) if key == HOOKS)
    found: list[Way] = []
    for number, event in enumerate(block.children if block.keys is not None else ()):
        found += [[(root, top), (block, number), *way] for way in _ways_in(text, event, agent)]
    return found


def _ways_in(text: str, entries: Node, agent: str) -> list[Way]:
    """Alone in the list of an event, or in a group with others."""
    found: list[Way] = []
    for number, entry in enumerate(entries.children if entries.keys is None else ()):
        group = entry.child(HOOKS)
        if group is not None:
            found += [[(entries, number), *way] for way in _ways_in(text, group, agent)]
        elif _is_ours(json.loads(text[entry.start : entry.end]), agent):
            found.append([(entries, number)])
    return found


def _is_ours(entry: object, agent: str) -> bool:
    ours = re.compile(rf"(?:^|[/\s'\"])tmuxreap['\"]? hook {re.escape(agent)}(?:\s|$)")
    return isinstance(entry, Mapping) and any(
        isinstance(one, str) and ours.search(one) for one in entry.values()
    )


def _there(text: str, agent: str) -> dict[str, list[object]]:
    """The events that have entries of ours, and these, as they stand."""
    found: dict[str, list[object]] = {}
    for way in _ways(text, agent):
        (block, number), (entries, place) = way[1], way[2]
        entry = entries.children[place]
        found.setdefault((block.keys or ())[number], []).append(
            json.loads(text[entry.start : entry.end])
        )
    return found
