"""Registries as text, in every hand that people and tools write;
where each part stands is known from the making."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.yaml_parts import COMMENTS, KEYS, ODD, SCALARS, WORDS, Field, Made, Named, RowPlace


class Writer:
    """Writes one document with a die: `roll(n)` is 0 to n-1."""

    def __init__(
        self, roll: Callable[[int], int], troubled: bool = False, *, least: int = 1
    ) -> None:
        self.roll = roll
        self.least = least  # rows of a list in lines
        self.troubled = troubled
        self.out = Made()
        self.newline = self.pick("\n", "\n", "\n", "\r\n")
        self.row: RowPlace | None = None
        self.anchors = 0
        self.linked = self.one_in(3)
        self.named: list[Named] = []  # what an alias may repeat from here on

    def pick(self, *options: Any) -> Any:
        return options[self.roll(len(options))]

    def one_in(self, n: int) -> bool:
        return self.roll(n) == n - 1

    def put(self, text: str) -> None:
        self.out.text += text.replace("\n", self.newline)

    @property
    def here(self) -> int:
        return len(self.out.text)

    def document(self) -> Made:
        if self.one_in(6):
            self.put("\ufeff")
        if self.one_in(5):
            self.comments(0)
        if self.one_in(6):
            self.put(self.pick("---\n", "%YAML 1.1\n---\n", "--- # start\n"))
        if self.one_in(12):
            self.json()
        else:
            self.block_top()
        if self.one_in(4) and self.out.text.endswith(self.newline):
            self.out.text = self.out.text[: -len(self.newline)]
        return self.out

    def block_top(self) -> None:
        for number in range(self.roll(3)):
            self.other(f"before{number}")
        self.put(
            self.pick("tmux_sessions", "tmux_sessions", '"tmux_sessions"', "'tmux_sessions'")
            + self.pick(":", ":", " :")
        )
        self.pick(
            self.block_list,
            self.block_list,
            self.block_list,
            self.block_list,
            self.flow_list,
            self.no_list,
        )()
        for number in range(self.roll(3)):
            self.other(f"after{number}")
        if self.one_in(8):
            self.put("...\n")

    def json(self) -> None:
        self.out.shape = "flow"
        self.put('{"version": 1, "tmux_sessions": [')
        self.flow_rows(" ")
        self.put("], z: null}\n")

    def other(self, key: str) -> None:
        self.put(f"{key}:")
        self.value(0, ())
        self.rest_of_line()
        self.between(0)

    def no_list(self) -> None:
        self.out.shape = "none"
        self.put(self.pick("", " []", " null", " ~", " [ ]"))
        self.rest_of_line()

    def flow_list(self) -> None:
        self.out.shape = "flow"
        lines = self.one_in(2)
        self.put(" [")
        self.flow_rows("\n  " if lines else " ")
        self.put(self.pick("", "\n ") + "]")
        self.rest_of_line()

    def flow_rows(self, between: str) -> None:
        count = self.roll(4)
        for number in range(count):
            self.put(between if number or between != " " else "")
            self.begin_row(flow=True)
            self.flow_mapping(())
            self.end_row()
            self.put("," if number + 1 < count or self.one_in(4) else "")

    def block_list(self) -> None:
        self.rest_of_line()
        indent = self.pick(0, 2, 2, 4)
        self.between(indent)
        for _ in range(self.least + self.roll(4)):
            self.block_row(indent)
            self.between(indent)

    def block_row(self, indent: int) -> None:
        self.put(" " * indent)
        self.begin_row(flow=self.one_in(6))
        assert self.row
        if self.row.flow:
            self.put("- ")
            self.flow_mapping(())
            self.end_row()
            self.rest_of_line()
            return
        column = indent + self.pick(2, 2, 2, 4, 3)
        if self.one_in(5):
            self.put("-" + self.pick("\n", " # dash\n", " \n") + " " * column)
        else:
            self.put("-" + " " * (column - indent - 1))
            if self.linked and self.one_in(8):
                self.anchored(lambda: self.put("\n" + " " * column), column, ())
                self.put("\n")
                self.end_row()
                return
        self.block_mapping(column, ())
        self.end_row()

    def begin_row(self, flow: bool) -> None:
        self.row = RowPlace(self.here, 0, flow, True)

    def end_row(self) -> None:
        assert self.row
        self.row.end = self.here
        self.out.rows.append(self.row)
        self.row = None

    def keys(self, least: int) -> Sequence[str]:
        first = self.roll(len(KEYS))
        count = least + self.roll(5)
        return [
            KEYS[(first + 5 * step) % len(KEYS)] for step in range(count)
        ]  # 5 and 12 share no divisor

    def block_mapping(self, column: int, path: tuple[str, ...]) -> None:
        names = self.keys(1)
        merged = self.roll(len(names) + 1) if self.linked and self.one_in(5) else -1
        for number, name in enumerate(names):
            if number:
                self.put(" " * column)
            if number == merged:
                self.merge()
                self.put("\n" + " " * column)
            self.block_field(name, column, path, len(names) == 1)
            if number + 1 < len(names):
                self.between(column)

    def block_field(self, name: str, column: int, path: tuple[str, ...], only: bool) -> None:
        start = self.here
        self.put(self.key(name) + self.pick(":", ":", ":", " :"))
        place = Field((*path, name), start, self.here, 0, False, only)
        if self.row:
            self.row.fields.append(place)
        self.value(column, (*path, name))
        place.end = self.here
        self.rest_of_line()

    def key(self, name: str) -> str:
        return str(self.pick(name, name, name, f'"{name}"', f"'{name}'"))

    def value(self, column: int, path: tuple[str, ...]) -> None:
        if self.troubled and self.row and self.one_in(8):
            self.trouble()
            return
        if self.linked and self.one_in(5):
            self.link(column, path)
            return
        kinds = [self.on_line] * 8 + [
            self.empty,
            self.over_lines,
            self.block_scalar,
            self.block_scalar,
            self.block_sequence,
        ]
        if len(path) < 3:
            kinds += [self.inner, self.inner]
        self.pick(*kinds)(column, path)

    def trouble(self) -> None:
        assert self.row
        self.row.clean = False
        anchor = self.anchor()
        self.put(" " + self.pick("!!str x", "! y", "!foreign z", f"&{anchor} !!str 7"))
        if self.out.text.endswith("7"):
            self.named.append(Named(anchor, False, False))

    def anchor(self) -> str:
        self.anchors += 1
        return f"{self.pick('a', 'id00')}{self.anchors}"

    def link(self, column: int, path: tuple[str, ...]) -> None:
        """Write a value with an anchor, or an alias of one."""
        if self.named and self.one_in(2):
            self.put(" ")
            self.alias(self.pick(*self.named))
            return
        kinds = [self.on_line, self.on_line, self.block_sequence, self.block_scalar, self.empty]
        if len(path) < 3:
            kinds += [self.inner, self.inner, self.inner]
        kind = self.pick(*kinds)
        if kind == self.inner:
            self.put(" ")
            deeper = column + self.pick(2, 4)
            self.anchored(lambda: self.put("\n" + " " * deeper), deeper, path)
            return
        anchor = self.anchor()
        self.put(f" &{anchor}")
        kind(column, path)
        self.named.append(Named(anchor, False, True))

    def anchored(self, begin: Callable[[], object], column: int, path: tuple[str, ...]) -> None:
        """Write a block mapping with an anchor."""
        anchor = self.anchor()
        self.put(f"&{anchor}")
        begin()
        clean = self.row is None or self.row.clean
        if self.row:
            self.row.clean = True
        self.block_mapping(column, path)
        if self.out.text.endswith(self.newline):  # the caller ends the line
            self.out.text = self.out.text[: -len(self.newline)]
        self.named.append(Named(anchor, True, self.row is None or self.row.clean))
        if self.row:
            self.row.clean = self.row.clean and clean

    def alias(self, named: Named) -> None:
        self.put(f"*{named.anchor}")
        if self.row and not named.clean:
            self.row.clean = False

    def merge(self) -> None:
        """Write a merge key and its mappings."""
        self.put("<<: ")
        mappings = [each for each in self.named if each.mapping]
        if not mappings:
            self.put("{name: merged, pane: {pid: 5}}")
        elif self.one_in(3):
            self.put("[")
            self.alias(self.pick(*mappings))
            self.put(", {x-unknown: merged}, ")
            self.alias(self.pick(*mappings))
            self.put("]")
        else:
            self.alias(self.pick(*mappings))

    def on_line(self, column: int, path: tuple[str, ...]) -> None:
        lead = "\n" + " " * (column + 2) if self.one_in(12) else " " * self.pick(1, 1, 2)
        self.put(lead)
        self.pick(
            self.scalar,
            self.scalar,
            self.scalar,
            self.flow_sequence,
            lambda: self.flow_mapping(path),
        )()

    def scalar(self) -> None:
        word = self.pick(*WORDS)
        odd = self.pick(*WORDS, *ODD)
        double = odd.replace("\\", "\\\\").replace('"', '\\"')
        single = odd.replace("'", "''")
        self.put(
            self.pick(
                word,
                word,
                self.pick(*SCALARS),
                f'"{double}"',
                f"'{single}'",
                '"\\n\\u00e9\\t"',
                '""',
                "''",
            )
        )

    def flow_sequence(self) -> None:
        self.put("[")
        for number in range(self.roll(3)):
            self.put(", " if number else "")
            self.put(self.pick("a", "1", "'b, c'", '"]"', "{k: v}", "[]"))
        self.put(self.pick("", "", " ", "\n         ") + "]")

    def flow_mapping(self, path: tuple[str, ...]) -> None:
        names = self.keys(0) if len(path) < 2 else self.keys(0)[:1]
        self.put("{" + self.pick("", "", " "))
        if names and self.linked and self.one_in(6):
            self.merge()
            self.put(", ")
        for number, name in enumerate(names):
            if number:
                self.put(self.pick(", ", ", ", ",", ",\n          ", ", # c\n          "))
            self.flow_field(name, path, len(names) == 1)
        self.put(
            (self.pick("", "", "", ",", ", ") if names else "")
            + self.pick("", "", " ", "\n         ")
            + "}"
        )

    def flow_field(self, name: str, path: tuple[str, ...], only: bool) -> None:
        start, key = self.here, self.key(name)
        bare = self.one_in(15)
        self.put(key if bare else key + (":" if key[0] == '"' and self.one_in(3) else ": "))
        place = Field((*path, name), start, self.here, 0, True, only)
        if (
            self.row
            and place.path[:1]
            and len({f.path for f in self.row.fields} & {place.path}) == 0
        ):
            self.row.fields.append(place)
        if not bare:
            place.value = self.out.text.rindex(":") + 1
            nest = len(path) < 2
            if self.linked and self.named and self.out.text.endswith(" ") and self.one_in(6):
                self.alias(self.pick(*self.named))
                place.end = self.here
                return
            self.pick(
                *[self.scalar] * 5,
                self.flow_sequence,
                (lambda: self.flow_mapping(place.path)) if nest else self.scalar,
            )()
        place.end = self.here

    def empty(self, column: int, path: tuple[str, ...]) -> None:
        self.put(self.pick("", "", " "))

    def over_lines(self, column: int, path: tuple[str, ...]) -> None:
        pad = "\n" + " " * (column + self.pick(1, 2, 4))
        self.put(
            " "
            + self.pick(
                f"one{pad}two",
                f"one{pad}two\n{pad}three",
                f'"one{pad}two \\{pad}x"',
                f"'one\n{pad}two'",
            )
        )

    def block_scalar(self, column: int, path: tuple[str, ...]) -> None:
        deep = self.pick(1, 2, 4)
        pad = " " * (column + deep)
        digit = self.pick("", "", "", str(deep))
        self.put(
            " "
            + self.pick("|", ">")
            + self.pick(digit + self.pick("", "-", "+"), digit)
            + self.pick("", "", " # head")
        )
        for _ in range(self.roll(4)):
            self.put(
                "\n"
                + pad
                + self.pick(
                    "text", "# text", "a: b", "é😀", "- x", "  " + "deep" if digit else "deep"
                )
            )
            if self.one_in(4):
                self.put("\n" + self.pick("", pad, pad + "  ", " "))

    def block_sequence(self, column: int, path: tuple[str, ...]) -> None:
        indent = " " * (column + self.pick(0, 2))
        if self.one_in(4):
            self.put(" # items")
        for _ in range(1 + self.roll(3)):
            self.put(
                "\n"
                + indent
                + self.pick(
                    "- a",
                    "- 1 # one",
                    "- k: v\n" + indent + "  l: w",
                    "-",
                    "- |\n" + indent + "   t",
                )
            )

    def inner(self, column: int, path: tuple[str, ...]) -> None:
        self.put(self.pick("", "", " # inner") + "\n")
        if self.one_in(6):
            self.put(" " * (column + 2) + "# first\n")
        deeper = column + self.pick(2, 2, 4, 1)
        self.put(" " * deeper)
        before = self.here
        self.block_mapping(deeper, path)
        assert self.here > before
        text = self.out.text
        if text.endswith(self.newline):  # the caller ends the line
            self.out.text = text[: -len(self.newline)]

    def rest_of_line(self) -> None:
        line = self.out.text.replace("\r\n", "\n").rpartition("\n")[2]
        comment = (
            " " * self.pick(1, 2) + self.pick(*COMMENTS)
            if self.one_in(6) and not self.in_block_scalar()
            else ""
        )
        self.put((comment if line.strip() else "") + "\n")

    def in_block_scalar(self) -> bool:
        """A comment here would be text; cheap and sure: no comment after lines that could be of a
        block scalar."""
        tail = self.out.text.replace("\r\n", "\n").splitlines()[-9:]
        return any("|" in line or ">" in line for line in tail)

    def between(self, column: int) -> None:
        if self.one_in(5):
            self.comments(
                self.pick(column, column, 0, column if self.in_block_scalar() else column + 2)
            )
        if self.one_in(6):
            self.put(self.pick("\n", "\n\n", "  \n"))

    def comments(self, column: int) -> None:
        for _ in range(1 + self.roll(2)):
            self.put(" " * column + self.pick(*COMMENTS) + "\n")


@st.composite
def documents(draw: st.DrawFn, troubled: bool = False, least: int = 1) -> Made:
    """One in two is thrown from a seed: large and ever new. The others hypothesis can make
    small."""
    seed = draw(st.none() | st.integers(0, 2**48))
    if seed is not None:
        return Writer(Random(seed).randrange, troubled, least=least).document()
    dice = {n: st.integers(0, n - 1) for n in range(1, 64)}
    return Writer(lambda n: draw(dice[n]), troubled, least=least).document()
