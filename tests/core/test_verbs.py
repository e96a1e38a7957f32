"""The table of verbs: total, and each word of it means one thing."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter

import pytest

from tmuxreap.core.verbs import ALL, CALLED, PUBLIC, VERBS, Verb, changes, is_endless
from tmuxreap.interfaces.cli import commands
from tmuxreap.interfaces.cli.main import function


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
def test_each_verb_has_a_function_that_declares_its_flags(verb: Verb) -> None:
    declared = commands.function_of(verb)
    assert declared.__doc__
    assert isinstance(function(verb), Callable)  # type: ignore[arg-type]


def test_each_command_word_names_one_verb() -> None:
    words = [verb.called for verb in ALL]
    words += [verb.alias for verb in ALL if verb.alias]
    for verb in ALL:
        words += verb.synonyms.split()
    assert len(words) == len(set(words))
    assert set(CALLED) >= {verb.called for verb in ALL}


def test_a_verb_for_people_has_a_group() -> None:
    assert [verb.name for verb in ALL if verb.group is None] == [
        "hook",
        "finish",
        "bring_back",
        "at",
    ]
    assert set(PUBLIC) == {verb.name for verb in ALL if verb.group} | {"hook"}


def test_a_verb_without_an_answer_prints_for_people_or_programs_itself() -> None:
    silent = {verb.name for verb in ALL if verb.result is None}
    assert silent == {
        *("attach", "mcp", "schema", "popup"),
        *("hook", "finish", "bring_back", "at"),
    }


def test_every_verb_that_asks_takes_yes() -> None:
    for verb in ALL:
        if verb.asks:
            assert "yes" in commands.defaults(verb), verb.name


def test_only_what_changes_something_is_planned_first() -> None:
    assert all(verb.changes and verb.on_hosts for verb in ALL if verb.is_planned)


def test_a_call_that_only_shows_changes_nothing() -> None:
    stop, reap = VERBS["stop"], VERBS["reap"]
    assert changes(stop, {}) and not changes(stop, {"dry_run": True})
    assert changes(reap, {"yes": True}) and not changes(reap, {})
    assert not changes(VERBS["resume"], {"print_only": True})
    assert is_endless(VERBS["watch"], {})
    assert is_endless(VERBS["events"], {"follow": True}) and not is_endless(VERBS["events"], {})


def test_shared_flags_come_before_those_about_the_question() -> None:
    names = [one.name for one in commands.parameters(VERBS["stop"])]
    assert names.index("registry") < names.index("dry_run") < names.index("host")
    required = [
        one for one in commands.parameters(VERBS["start"]) if one.default is Parameter.empty
    ]
    assert [one.name for one in required] == ["name"]
