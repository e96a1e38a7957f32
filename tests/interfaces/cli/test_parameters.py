"""A plain line is parsed with typer's result; every other line is left to typer."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from tmuxreap.interfaces.cli.commands import declared
from tmuxreap.interfaces.cli.main import HIDDEN, VERBS
from tmuxreap.interfaces.cli.parameters import Command, Parameter, read
from tmuxreap.interfaces.cli.program import typed

FILES = (*VERBS, *HIDDEN.values())
ODD = (
    "",
    "-",
    "--",
    "-x",
    "-qy",
    "--json=1",
    "--no-json",
    "--jso",
    "--help",
    "a=b",
    "3",
    "ä b",
    "\n",
)
heard: list[dict[str, Any]] = []


@cache
def parameters(verb: str) -> tuple[Parameter, ...]:
    return declared(verb).parameters


@cache
def by_typer(verb: str) -> Any:
    app = typer.Typer(add_completion=False)
    app.command()(typed(Command(lambda **said: heard.append(said), parameters(verb), None)))
    return typer.main.get_command(app)


def lines(verb: str) -> st.SearchStrategy[list[str]]:
    flags = [flag for one in parameters(verb) for flag in one.flags]
    word = st.sampled_from(["acme", "tag:x", "a b"]) | st.sampled_from(["acme", *ODD])
    flag = st.sampled_from([*flags, "--json"])
    said = st.one_of(
        word.map(lambda one: [one]),
        flag.map(lambda one: [one]),
        st.tuples(flag, word).map(list),
        st.tuples(flag, word).map(lambda pair: ["=".join(pair)]),
    )
    return st.lists(said, max_size=4).map(lambda found: [one for part in found for one in part])


@given(st.sampled_from(FILES).flatmap(lambda verb: st.tuples(st.just(verb), lines(verb))))
def test_both_readers_read_the_same(line: tuple[str, list[str]]) -> None:
    verb, words = line
    said = read(parameters(verb), words)
    if said is None:
        return
    heard.clear()
    with contextlib.redirect_stdout(None):
        by_typer(verb).main(words, standalone_mode=False)
    assert heard == [said]


def test_no_property_fails_because_the_machine_is_slow() -> None:
    assert settings().deadline is None


@pytest.mark.parametrize("verb", FILES)
def test_what_people_say_is_plain(verb: str) -> None:
    """Each flag once, and a name wherever one is allowed."""
    names = ["12" if one.kind is int else "acme" for one in parameters(verb) if not one.flags]
    words = list(names)
    for one in parameters(verb):
        if one.kind is bool:
            words.append(one.flags[-1])
        elif one.flags and one.kind not in (int, int | None):
            words += [one.flags[0], "some word"]
    said = read(parameters(verb), words)
    assert said is not None
    heard.clear()
    by_typer(verb).main(words, standalone_mode=False)
    assert heard == [said]


def loaded(*words: str) -> str:
    code = (
        "import sys; from tmuxreap.__main__ import main; main(sys.argv[1:]);"
        " print('typer' in sys.modules, file=sys.stderr)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=True
    )
    return told.stderr.splitlines()[-1]


def test_typer_is_loaded_only_for_what_is_not_plain() -> None:
    assert loaded("config", "--json") == "False"
    assert loaded("config", "--help") == "True"
    assert loaded("config", "--nothing") == "True"
