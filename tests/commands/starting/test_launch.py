"""What a start refuses before it creates anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes import Story
from tmuxreap.commands import adopt, start
from tmuxreap.commands.starting.launch import existing_folder
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import Unreachable
from tmuxreap.registry.file import RegistryFile, edited


@pytest.mark.parametrize(
    ("missing", "denied", "code"),
    [
        (True, False, Code.TMUX_MISSING),
        (False, True, Code.PERMISSION_DENIED),
        (False, False, Code.TMUX_UNREACHABLE),
    ],
)
def test_a_tmux_that_cannot_be_asked_is_reported_as_by_a_stop(
    story: Story, missing: bool, denied: bool, code: Code
) -> None:
    story.tmux.answers[story.SOCKET] = Unreachable(
        story.SOCKET, "no", "the way out", missing, denied
    )
    for verb, ask in (
        (
            "start",
            lambda: start.run(story.app(), start.StartRequest("new", "demo", server=story.SOCKET)),
        ),
        (
            "adopt",
            lambda: adopt.run(story.app(), adopt.AdoptRequest("new", "demo", server=story.SOCKET)),
        ),
    ):
        with pytest.raises(Failure, match=f"could not {verb} new: no") as refused:
            ask()
        assert (refused.value.code, refused.value.hint) == (code, "the way out")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="there is no folder"):
        existing_folder("shop", str(tmp_path / "gone"))
    with pytest.raises(Failure, match="the working directory was removed"):
        existing_folder("shop", "")


def test_a_folder_whose_name_no_registry_can_hold_is_refused_with_a_hint(
    tmp_path: Path,
) -> None:
    folder = os.fsencode(tmp_path) + b"/bad\xff"
    os.mkdir(folder)
    with pytest.raises(Failure, match="not UTF-8") as refused:
        existing_folder("shop", os.fsdecode(folder))
    assert (refused.value.code, refused.value.hint) == (
        Code.START_FAILED,
        "rename it, or name another with --cwd",
    )


def test_a_folder_of_any_script_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "日本 café\u200b"
    folder.mkdir()
    assert existing_folder("shop", str(folder)) == str(folder.resolve())


def test_invalid_utf8_in_a_new_row_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "agent-sessions.yaml"
    file.write_text("tmux_sessions:\n  - name: shop\n    status: running\n")
    look = RegistryFile(file).look()
    with pytest.raises(Failure, match="not UTF-8") as refused:
        edited(look, {"shop": {("pane", "cwd"): "/bad\udcff"}})
    assert refused.value.code is Code.REGISTRY_UNWRITABLE
    assert refused.value.hint == "give it in UTF-8, or rename that folder, then try again"
