"""Adds our hooks to an agent's settings, takes them out, and tells which are there. Text in, text
out: every other byte of the user's JSON stays, and no file is touched."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]

from tmuxreap.agents.profiles import Hooks
from tmuxreap.core.values import frozen

SPACE = re.compile(r"[ \t\r\n]*")
SCALAR = re.compile(r"[^\s,\]}]+")
INDENT = re.compile(r"\n([ \t]+)\S")


class NotJson(ValueError):  # noqa: N818 - an expected answer: the file is the user's
    """Why the text cannot be edited."""


@frozen
class Node:
    """A value and its place in the text. `sign`: its first character. A member of an object has a
    key, which begins at `outer`; elsewhere that is the value's own start."""

    sign: str
    start: int
    end: int
    outer: int
    key: str | None = None
    children: tuple[Node, ...] = ()

    def child(self, key: str) -> Node | None:
        """Return the child with this key; of duplicates the last one, as JSON parsers do."""
        return next((node for node in reversed(self.children) if node.key == key), None)


def parse(text: str) -> Node:
    try:
        root = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if not isinstance(root, dict):
        raise NotJson("it does not hold an object")
    try:
        return _value(text, _skip(text, 0), 0)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None


def with_member(text: str, path: Sequence[str], key: str, value: object) -> str:
    """Add a member at the end of the object at this path, unless it has one of that name."""
    parent = _at(text, path)
    if parent.sign != "{":
        raise NotJson(f"{'.'.join(path) or 'it'} is no object")
    if parent.child(key) is not None:
        return text
    return _put(text, parent, f"{json.dumps(key, ensure_ascii=False)}: ", value, len(path))


def with_item(text: str, path: Sequence[str], value: object) -> str:
    """Add an item at the end of the array at this path."""
    parent = _at(text, path)
    if parent.sign != "[":
        raise NotJson(f"{'.'.join(path)} is no list")
    return _put(text, parent, "", value, len(path))


def without(text: str, parent: Node, index: int) -> str:
    """Remove a child of an object or an array, with its comma."""
    children = parent.children
    if index > 0:
        return text[: children[index - 1].end] + text[children[index].end :]
    if len(children) > 1:
        return text[: children[0].outer] + text[children[1].outer :]
    return text[: parent.start + 1] + text[parent.end - 1 :]


def _at(text: str, path: Sequence[str]) -> Node:
    node = parse(text)
    for key in path:
        below = node.child(key)
        if below is None:
            raise NotJson(f"there is no {key} in it")
        node = below
    return node


def _put(text: str, parent: Node, before: str, value: object, depth: int) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    match = INDENT.search(text)
    unit = match[1] if match else "  "
    if parent.children:
        last = parent.children[-1].end
        gap = text[parent.start + 1 : parent.children[0].outer]
        if "\n" not in gap:  # all on one line
            return f"{text[:last]}, {before}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
        margin = gap.rpartition("\n")[2]
        dumped = _dumped(value, unit, margin, newline)
        return f"{text[:last]},{newline}{margin}{before}{dumped}{text[last:]}"
    outer = _margin(text, parent.start) if depth else ""
    dumped = _dumped(value, unit, outer + unit, newline)
    inside = f"{newline}{outer}{unit}{before}{dumped}{newline}{outer}"
    return text[: parent.start + 1] + inside + text[parent.end - 1 :]


def _margin(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _dumped(value: object, unit: str, margin: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline}{margin}".join(lines)


def _skip(text: str, place: int) -> int:
    match = SPACE.match(text, place)
    return match.end() if match else place


def _value(text: str, start: int, outer: int, key: str | None = None) -> Node:
    """Parse a value; the text is known to be valid JSON."""
    sign = text[start]
    children: list[Node] = []
    if sign == '"':
        end: int = scanstring(text, start + 1)[1]
    elif sign in "{[":
        place = _skip(text, start + 1)
        while text[place] not in "}]":
            children.append(_child(text, place, sign))
            place = _after(text, children[-1].end)
        end = place + 1
    else:
        match = SCALAR.match(text, start)
        end = match.end() if match else start + 1
    return Node(sign, start, end, outer, key, tuple(children))


def _child(text: str, place: int, sign: str) -> Node:
    if sign == "[":
        return _value(text, place, place)
    key, end = scanstring(text, place + 1)
    return _value(text, _skip(text, _skip(text, end) + 1), place, key)


def _after(text: str, end: int) -> int:
    """Return where the next child begins, or the container ends."""
    place = _skip(text, end)
    if text[place] == ",":
        return _skip(text, place + 1)
    return place


HOOKS = "hooks"
EVENT = "event"
SWITCHES = ("disableAllHooks",)
# A shell comment, naming a container that was empty before and so stays.
EMPTY_COMMENT = " # was empty: "
KEPT_DEPTH = {HOOKS: 2, EVENT: 3}  # how many steps on the path to an entry stay


def installed(text: str, hooks: Hooks, agent: str, program: str) -> str:
    """Return the text with our hooks: unchanged if all are right, else with ours removed and added
    again, after other entries."""
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
    if isinstance(value, str):
        return value.replace("{command}", command)
    return value


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
        for path in _entry_paths_in(text, event, agent):
            paths.append([(root, top), (block, number), *path])
    return paths


def _entry_paths_in(text: str, entries: Node, agent: str) -> list[EntryPath]:
    """Return the paths to our entries in an event's list, alone or in a group with others."""
    paths: list[EntryPath] = []
    for number, entry in enumerate(entries.children if entries.sign == "[" else ()):
        group = entry.child(HOOKS)
        if group is not None:
            for path in _entry_paths_in(text, group, agent):
                paths.append([(entries, number), *path])
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
        (block, number) = path[1]
        (entries, place) = path[2]
        event = block.children[number].key
        entry = entries.children[place]
        stored = json.loads(text[entry.start : entry.end])
        by_event.setdefault(event or "", []).append(stored)
    return by_event
