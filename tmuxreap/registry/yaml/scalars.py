"""Lines and values in YAML 1.1: where lines begin and end, the meaning of unquoted scalars, and
writing values so that they round-trip.

Never deals with documents or positions in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeAlias

import yaml

Scalar: TypeAlias = str | int | float | bool | None
# Tuples come back as lists.
Value: TypeAlias = "Scalar | list[Value] | tuple[Value, ...] | Mapping[str, Value]"

# What constructing a value can raise.
NO_VALUE = (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError)
LONGEST_PLAIN = 10_000  # characters of a number: base 60 takes time by the square of its parts
_TEXT_TAG = "tag:yaml.org,2002:str"
_RESOLVER: Any = yaml.resolver.Resolver()
_TAG_STARTS = frozenset(_RESOLVER.yaml_implicit_resolvers)
# Narrower than YAML allows: every parser reads this as the same text, in flow and in block.
_PLAIN = r"(?!\.\.\.)[\w/.$~](?:[\w/.$~@%+=()\- ]*[\w/.$~@%+=()\-])?\Z"
_OTHER_BOOLEANS = frozenset("yYnN")  # booleans by the specification, though not in PyYAML
# Compiled on first use: with these ranges, that takes as long as two tmux calls.
_RAW = r" -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_ALL_RAW = f"[{_RAW}]*\\Z"
_ESCAPED = f'[^{_RAW}]|["\\\\]'
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def plain_value(text: str) -> object:
    """Return the value of an unquoted scalar; the first letter shows that most are text."""
    return _resolve(text) if text[:1] in _TAG_STARTS else text


@lru_cache(maxsize=512)
def _resolve(text: str) -> object:
    """Resolve a scalar. The results are immutable, so the cache can share them."""
    tag = _plain_tag(text)
    if tag == _TEXT_TAG:
        return text
    if len(text) > LONGEST_PLAIN:
        raise ValueError("too long for a number")
    value = yaml.constructor.SafeConstructor().construct_document(yaml.ScalarNode(tag, text))
    if isinstance(value, int):
        str(value)  # raises ValueError, as a decimal of so many digits does
    return value


def _plain_tag(text: str) -> str:
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))


def written(value: Value, quote: str | None = None) -> str:
    """Format a value on one line, for block and flow. `quote`: the style to keep if possible."""
    if isinstance(value, str):
        return _text(value, quote)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(written(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {written(item)}" for key, item in value.items()) + "}"
    raise TypeError(f"a {type(value).__name__} cannot be written")


def entry(key: str, value: Value, column: int, newline: str) -> str:
    """Format `key: value` for a block mapping at this column; a mapping goes on its own lines."""
    if value.__class__ in LEAVES or not (isinstance(value, Mapping) and value):
        return f"{_key(key)}: {written(value)}"
    return f"{_key(key)}:" + nested(value, column, newline)


def nested(value: Mapping[str, Value], column: int, newline: str) -> str:
    """Format a mapping's lines below a key at this column, each after a line break."""
    inner = column + 2
    return "".join(
        newline + " " * inner + entry(key, item, inner, newline) for key, item in value.items()
    )


LEAVES = {str, int, float, bool, type(None)}


def as_loaded(value: object) -> object:
    """Return the value as a loader will return it."""
    if value.__class__ in LEAVES:
        return value
    if isinstance(value, Mapping):
        return {key: as_loaded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_loaded(item) for item in value]
    return value


def same(one: object, other: object) -> bool:
    """Tell whether values are equal, with equal types throughout; ignores the order of keys."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in LEAVES:
        return one == other or (one != one and other != other)  # NaN equals NaN here
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(
            key in other and same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a {type(key).__name__} cannot be a key")
    return _text(key)


@lru_cache(maxsize=512)  # thousands of rows share most keys and words
def _text(text: str, quote: str | None = None) -> str:
    if quote == "'" and re.match(_ALL_RAW, text):
        return "'" + text.replace("'", "''") + "'"
    if quote != '"' and re.match(_PLAIN, text) and _reads_as_text(text):
        return text
    return '"' + re.sub(_ESCAPED, _escape, text) + '"'


def _reads_as_text(text: str) -> bool:
    if text in _OTHER_BOOLEANS or _plain_tag(text) != _TEXT_TAG:
        return False
    with suppress(ValueError):
        float(text)
        return False
    with suppress(ValueError):
        int(text, 0)
        return False
    return True


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        # No form of a lone surrogate works in both loaders: unescaped, the check after every edit
        # rejects it.
        return char
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"  # all above these are raw


def _float(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    text = repr(float(value))
    return text if "." in text else text.replace("e", ".0e")  # YAML 1.1 reads 1e+16 as text


BREAKS = "\r\n\x85\u2028\u2029"  # the line breaks of YAML 1.1
_LINE = re.compile(f"[^{BREAKS}]*")
_BREAK = re.compile(f"\r\n|[{BREAKS}]")
_NEWLINE = re.compile("\r\n|\n|\r")
_GAP = f"(?:[ \t{BREAKS}]|#[^{BREAKS}]*)*"
_BLOCK_HEADER = f"(?:[&!]\\S*\\s+)*[|>]([-+0-9]*)[^{BREAKS}]*"


def line_end(text: str, position: int) -> int:
    """Return the end of the line, before its line break."""
    match = _LINE.match(text, position)
    return match.end() if match else position


def after_break(text: str, position: int) -> int:
    """Return the position after the line break at this position, if there is one."""
    match = _BREAK.match(text, position)
    return match.end() if match else position


def line_start(text: str, position: int) -> int:
    return max(text.rfind(mark, 0, position) for mark in BREAKS) + 1


def skip_gap(text: str, position: int) -> int:
    """Skip blanks, line breaks and comments."""
    match = re.compile(_GAP).match(text, position)
    return match.end() if match else position


def real_end(text: str, start: int, end: int, style: str | None) -> int:
    """Return the end of a value, before its line break. The loader's end of a block scalar includes
    the blank lines after it."""
    header = None
    if style in ("|", ">"):
        header = re.compile(_BLOCK_HEADER).match(text, start, end)
    if header is None:
        return end
    if "+" in header[1]:  # trailing blank lines are kept
        breaks = [*_BREAK.finditer(text, header.end(), end)]
        if breaks and breaks[-1].end() == end:
            return breaks[-1].start()
        return end
    digit = header[1].strip("-")
    return _content_end(text, header.end(), end, int(digit) if digit else None)


def _content_end(text: str, header_end: int, end: int, indent: int | None) -> int:
    """Return the end of a block scalar's content. Blanks beyond the indentation are content; of an
    explicit indentation only the minimum is known, which suffices."""
    content_end = header_end
    position = after_break(text, header_end)
    while position < end:
        stop = min(line_end(text, position), end)
        line = text[position:stop]
        if indent is None and line.strip(" "):
            indent = len(line) - len(line.lstrip(" "))
        if indent is not None and (line.strip(" ") or len(line) > indent):
            content_end = stop
        position = after_break(text, stop)
        if position == stop:
            break
    return content_end


def lines_before(text: str, position: int) -> int:
    return len(_BREAK.findall(text, 0, position))


def newline_of(text: str) -> str:
    """Return the text's line break: its first one."""
    match = _NEWLINE.search(text)
    return match[0] if match else "\n"


def newline_at(text: str, position: int, default: str) -> str:
    """Return the break of the line at this position, else of the line before it: what is written
    next to a line ends as that line does."""
    match = _NEWLINE.match(text, line_end(text, position))
    if match is None:
        start = line_start(text, position)
        match = _NEWLINE.match(text, start - 2) or _NEWLINE.match(text, start - 1)
    return match[0] if match else default


def find_colon(text: str, key_end: int) -> int | None:
    while text[key_end : key_end + 1] in (" ", "\t"):
        key_end += 1
    if text[key_end : key_end + 1] == ":":
        return key_end
    return None
