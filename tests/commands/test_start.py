"""`start`: what is refused and told before anything is made."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import Story
from tmuxreap.commands import start
from tmuxreap.commands.start import StartRequest


def test_a_second_agent_in_one_folder_is_told(story: Story, tmp_path: Path) -> None:
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
