"""`start`: what is refused and reported before anything is created."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands import start
from tmuxreap.commands.start import StartRequest
from tmuxreap.core.errors import Failure


def test_a_second_agent_in_one_folder_is_reported(story: Story, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    story.agent()
    story.path.write_text(story.path.read_text().replace('"cwd": "/"', f'"cwd": "{folder}"'))
    wish = StartRequest(
        "other", agent="demo", cwd=str(folder), command=("demo-agent",), dry_run=True
    )
    (said,) = start.run(story.app(), wish).warnings
    assert said.startswith(f"folder_in_use: acme works in {folder} too")
    story.stop("acme")
    assert not start.run(story.app(), wish).warnings


@pytest.mark.parametrize(
    ("restart", "limit", "flag"),
    [
        ("sometimes", None, "--restart:"),
        ("", None, "--restart:"),
        ("always", "0/1m", "--restart-limit:"),
        ("always", "5/1000y", "--restart-limit:"),
        ("on-failure", "", "--restart-limit:"),
        (None, "5/10m", "limits no restart"),
        ("never", "5/10m", "limits no restart"),
    ],
)
def test_restarts_that_make_no_sense_are_refused_before_anything_is_made(
    story: Story, restart: str | None, limit: str | None, flag: str
) -> None:
    before = story.written()
    wish = StartRequest(
        "acme", agent="demo", command=("demo-agent",), restart=restart, restart_limit=limit
    )
    with pytest.raises(Failure, match=flag) as caught:
        start.run(story.app(), wish)
    assert (caught.value.code.text, story.written(), story.told()) == ("usage", before, [])
