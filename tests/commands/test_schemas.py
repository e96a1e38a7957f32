"""The schemas of answers: derived from the types, checked in as files, and backward compatible."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.command_line import tmuxreap
from tests.schemas import check_answer, troubles
from tmuxreap.commands.schema import ANSWERING, DIALECT, document
from tmuxreap.core.results import Ending, read
from tmuxreap.core.verbs import PUBLIC

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schema"
OLD = sorted((ROOT / "tests" / "old_answers").glob("*.json*"))
WITHOUT_JSON = {"attach", "hook", "mcp", "popup", "schema"}  # they print formats of their own


def test_every_verb_that_answers_in_json_has_a_schema() -> None:
    assert set(ANSWERING) >= set(PUBLIC) - WITHOUT_JSON


@pytest.mark.parametrize("verb", [None, *ANSWERING])
def test_the_files_are_what_the_types_say(verb: str | None) -> None:
    path = FOLDER / f"{verb or 'envelope'}.json"
    assert json.loads(path.read_text()) == document(verb), "run: python scripts/pages"
    Draft202012Validator.check_schema(document(verb))


def test_no_schema_file_is_left_over() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*ANSWERING, "envelope"}


def test_schema_prints_the_file(registry: Path) -> None:
    told = tmuxreap("schema", "stop")
    assert json.loads(told.out) == document("stop")
    assert json.loads(told.out)["$schema"] == DIALECT
    assert tmuxreap("schema").exit == 0
    assert "use one of" in tmuxreap("schema", "nothing").err


@pytest.mark.parametrize("path", OLD, ids=[path.stem for path in OLD])
def test_an_old_answer_stays_valid(path: Path) -> None:
    """Today's schemas accept answers of earlier versions."""
    for line in path.read_text().splitlines():
        answer = json.loads(line)
        if path.stem.startswith("watch"):
            assert not troubles(answer, "watch")
        else:
            check_answer(answer)


def test_old_answers_are_there() -> None:
    assert len(OLD) >= 5


def test_an_answer_that_breaks_its_schema_is_detected() -> None:
    assert troubles({"command": "stop"}, "stop")
    wrong = json.loads((ROOT / "tests" / "old_answers" / "stop.json").read_text())
    wrong["results"][0]["duration_ms"] = "long"
    with pytest.raises(AssertionError, match="duration_ms"):
        check_answer(wrong)


def test_an_answer_is_read_into_its_type() -> None:
    answer = json.loads((ROOT / "tests" / "old_answers" / "stop.json").read_text())
    ending = read(Ending, {**answer["results"][0], "of_a_later_version": 1})
    assert ending.rungs[0].name == "keys"
    assert ending.conversation.id is not None
