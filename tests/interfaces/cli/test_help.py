"""The help: 80 columns, everyday verbs first, and every word of the command line explained."""

from __future__ import annotations

import os
import subprocess

import pytest
import typer.core

from tests import warm
from tests.test_docs import commands
from tmuxreap.core.verbs import PUBLIC, VERBS, Group


def helped(*verb: str) -> list[str]:
    environ = {**os.environ, "COLUMNS": "80"}
    words = [warm.program(), *verb, "--help"]
    told = subprocess.run(
        words, env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    return told.stdout.splitlines()


@pytest.mark.parametrize("verb", ["", *PUBLIC])
def test_the_help_fits_80_columns(verb: str) -> None:
    lines = helped(*verb.split())
    assert len(lines) > 5
    assert [line for line in lines if len(line) > 80] == []


def test_the_list_of_verbs_lists_each_in_full_and_in_groups() -> None:
    lines = helped()
    listed = [line for line in lines[lines.index("Everyday:") + 1 :] if line.startswith("  ")]
    assert {line.split()[0] for line in listed} >= set(PUBLIC) - {"hook"}
    assert [line for line in listed if line.endswith("...") or len(line.split()) < 3] == []
    titles = [group.value for group in Group]
    assert [line.rstrip(":") for line in lines if line.rstrip(":") in (*titles, "More")] == titles


@pytest.mark.parametrize("verb", ["", "stop", "kill"])
def test_everyday_examples_come_first(verb: str) -> None:
    lines = helped(*verb.split())
    example = next(at for at, line in enumerate(lines) if line.startswith(f"  tmuxreap {verb}"))
    assert 0 < example < lines.index("Options:")
    assert sum(line.startswith("  tmuxreap ") for line in lines) >= 3


@pytest.mark.parametrize("verb", PUBLIC)
def test_every_flag_and_argument_says_what_it_is_for(verb: str) -> None:
    command = commands()[verb]
    assert command.help
    silent = [
        param.name
        for param in command.params
        if isinstance(param, typer.core.TyperArgument | typer.core.TyperOption)
        and not param.hidden
        and not param.help
    ]
    assert not silent


@pytest.mark.parametrize("verb", ["", *PUBLIC])
def test_a_default_is_named_in_one_way(verb: str) -> None:
    text = " ".join(helped(*verb.split()))
    assert [way for way in ("(default", "[default:", "e.g.") if way in text] == []


def test_targets_are_optional_where_a_flag_or_nothing_can_choose() -> None:
    optional = [verb for verb in PUBLIC if "[TARGETS...]" in helped(verb)[0]]
    required = [verb for verb in PUBLIC if " TARGETS..." in helped(verb)[0]]
    assert optional == ["list", "resume", "forget", "events"]
    assert required == [verb for verb in PUBLIC if VERBS[verb].needs_targets]
