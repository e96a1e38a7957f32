"""`schema`: the JSON Schema of an answer."""

from __future__ import annotations

import pytest

from tmuxreap.commands import schema
from tmuxreap.core.errors import Failure


def test_a_schema_of_one_verb_says_more_than_the_shared_one() -> None:
    shared, stop = schema.run(None), schema.run("stop")
    assert shared != stop
    assert set(shared["properties"]) <= set(stop["properties"])
    assert {"schema", "ok", "exit_code", "results", "error"} <= set(shared["properties"])


def test_a_verb_that_answers_no_json_is_refused_with_those_that_do() -> None:
    with pytest.raises(Failure, match="no verb of that name answers in JSON") as caught:
        schema.run("popup")
    assert caught.value.code.text == "usage"
    assert "stop" in caught.value.hint
