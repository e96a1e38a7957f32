"""`protect`: a protected session is ended only by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands import protect
from tmuxreap.commands.protect import ProtectRequest
from tmuxreap.commands.reap import reap
from tmuxreap.commands.reap.reap import ReapRequest
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.core.results import Result


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def outcomes(result: Result) -> dict[str, object]:
    return {
        str(one["name"]): one.get("outcome") for one in (item.as_json() for item in result.results)
    }


def test_all_spares_a_protected_session_and_its_name_ends_it(story: Story) -> None:
    story.agent("acme")
    story.agent("base")
    done = protect.run(story.app(), ProtectRequest(("base",)))
    assert done.results[0].as_json() == {
        "name": "base",
        "keep": True,
        "changed": True,
        "error": None,
    }
    again = protect.run(story.app(), ProtectRequest(("base",)))
    assert again.results[0].as_json()["changed"] is False
    result = story.stop("all", dry_run=False)
    assert (outcomes(result), int(result.exit)) == ({"acme": "stopped"}, 0)
    assert [warning.partition(":")[0] for warning in result.warnings] == ["protected"]
    protect.run(story.app(), ProtectRequest(("all",), keep=False))
    assert "keep" not in story.path.read_text()
    assert outcomes(story.stop("base")) == {"base": "stopped"}


def test_a_reap_spares_protected_sessions(story: Story) -> None:
    story.agent("acme")
    story.agent("base")
    for name in ("acme", "base"):
        text = story.path.read_text()
        story.path.write_text(text.replace(f'"name": "{name}"', f'"name": "{name}", "ttl": "1s"'))
    protect.run(story.app(), ProtectRequest(("base",)))
    story.clock.sleep(60)
    result = reap.run(story.app(), ReapRequest((Kind.EXPIRED,), yes=True))
    assert outcomes(result) == {"acme": "stopped"}
    assert result.warnings[0].startswith("protected: left out base;")
