"""Rows of a registry, read from their lines without a YAML parser.

Good enough to note who spoke, never enough to act on. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tmuxreap.core.values import frozen

QUOTED = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')""")
PAIR = re.compile(rf"([A-Za-z_]+):[ ]+(\[[^\]]*\]|{QUOTED.pattern}|[^,}}\s#][^,}}#]*)")
KEY = re.compile(r"([A-Za-z_]+):(?:[ ]+(.*))?$")


@frozen
class Sketch:
    name: str
    status: str = ""
    agent: str = ""
    server: str = ""
    tags: tuple[str, ...] = ()
    resumable: bool = False


def rows_of(text: str) -> list[Sketch]:
    rows = [sketch_of(item) for item in items_of(text)]
    return [row for row in rows if row is not None]


def sketch_of(item: list[str]) -> Sketch | None:
    facts = _facts(item)
    name = _plain(facts.get("name", ""))
    if not name:
        return None
    tags = facts.get("tags", "").strip("[]").split(",")
    return Sketch(
        name=name,
        status=_plain(facts.get("status", "")),
        agent=_plain(facts.get("agent", "")),
        server=_plain(facts.get("tmux_server", "")),
        tags=tuple(plain for tag in tags if (plain := _plain(tag.strip()))),
        resumable=facts.get("resumable") == "true",
    )


def items_of(text: str) -> Iterator[list[str]]:
    """Yield the lines of each list item, its dash replaced by a space to align the row's keys."""
    inside, indent = False, -1
    item: list[str] = []
    for line in text.splitlines():
        bare = line.lstrip(" ")
        depth = len(line) - len(bare)
        if not bare or bare.startswith("#"):
            continue
        if bare.startswith("- ") and inside and indent in (-1, depth):
            if item:
                yield item
            indent, item = depth, [" " * depth + " " + bare[1:]]
        elif depth == 0 and not bare.startswith("-"):
            inside = bare.startswith("tmux_sessions:")
        elif inside and depth > indent:
            item.append(line)
    if item:
        yield item


def _facts(item: list[str]) -> dict[str, str]:
    first = item[0].lstrip(" ")
    if first.startswith("{"):
        return {
            key: value.strip() for key, value in PAIR.findall(" ".join(item))[::-1]
        }  # reversed: of equal keys the first, outer one wins
    depth = len(item[0]) - len(first)
    facts: dict[str, str] = {}
    key = ""
    for line in item:
        bare = line.lstrip(" ")
        here = len(line) - len(bare)
        match = KEY.match(bare) if here == depth else None
        if match is not None:
            key = match[1]
            facts.setdefault(key, _without_comment(match[2] or ""))
        elif key == "tags" and bare.startswith("- "):
            facts["tags"] = f"{facts['tags'].rstrip(']') or '['}{_without_comment(bare[2:])},]"
    return facts


def _without_comment(value: str) -> str:
    quoted = QUOTED.match(value)
    return quoted[0] if quoted is not None else value.partition(" #")[0].strip()


def _plain(value: str) -> str:
    """Unquote a value; return "" for an anchor, alias, tag or escape, which need a parser."""
    if value[:1] in ("'", '"') and value.endswith(value[0]) and len(value) > 1:
        inner = value[1:-1]
        if value[0] == "'":
            return inner.replace("''", "'")
        return "" if "\\" in inner else inner
    return (
        "" if value[:1] in ("&", "*", "!", "|", ">", "{", "[") or value in ("null", "~") else value
    )
