"""`resume`: what can be continued, and why not."""

from __future__ import annotations

import pytest

from tests.fakes import CONVERSATION, Story
from tmuxreap.commands.resume import ResumeRequest, run
from tmuxreap.commands.starting.comeback import resumable
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row
from tmuxreap.core.values import replace


def ended(story: Story, **agent: object) -> Row:
    story.agent(**agent)  # type: ignore[arg-type]
    story.stop()
    row = story.app().registry.look().named("acme")
    assert row is not None
    return row


def error(story: Story, **request: object) -> str | None:
    (item,) = run(story.app(), ResumeRequest(("acme",), **request)).results  # type: ignore[arg-type]
    return item.error.code if item.error else None


def test_the_command_is_reported_with_its_folder(story: Story) -> None:
    ended(story)
    (told,) = run(story.app(), ResumeRequest(("acme",), print_only=True)).results
    line = str(told.as_json()["command"])
    assert CONVERSATION in line
    assert f"TMUXREAP_DEMO_HOME={story.store}" in line
    assert told.as_json()["cwd"] == "/"


def test_a_living_session_is_not_resumed(story: Story) -> None:
    story.agent()
    assert error(story) == "session_exists"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"agent": "nobody-knows"}, "no resume command is known for nobody-knows"),
        ({"conversations": ()}, "no conversation was captured"),
        ({"data": {"termination_mode": "purge"}}, "its conversation was purged"),
        ({"data": {}}, f"the conversation {CONVERSATION} is not on disk"),
    ],
)
def test_a_refusal_says_why_it_cannot_be_resumed(
    story: Story, fields: dict[str, object], why: str
) -> None:
    row = replace(ended(story), **fields)
    with pytest.raises(Failure, match=why) as caught:
        resumable(story.app(), row)
    assert (caught.value.code.text, caught.value.hint) == (
        "not_resumable",
        "start a new conversation: tmuxreap start acme",
    )


def test_two_agents_never_share_one_conversation(story: Story) -> None:
    ended(story)
    story.agent("other")
    (item,) = run(story.app(), ResumeRequest(("acme",), dry_run=True)).results
    assert item.error is not None
    assert (item.error.code, item.error.hint) == (
        "conversation_in_use",
        "stop it first: tmuxreap stop other",
    )


@pytest.mark.parametrize("folder", ["its own", "of the other"])
def test_a_history_kept_by_folder_is_in_use_in_that_folder_alone(story: Story, folder: str) -> None:
    """The file has the same name in every folder."""
    history = ".aider.chat.history.md"
    (story.folder / history).write_text("\n#### hello  \n")
    story.agent("other")
    text = story.path.read_text().replace("demo_conversation_id_own", "aider_conversation_id_own")
    story.path.write_text(text.replace('"agent": "demo"', '"agent": "aider"'))
    known = {"status": "stopped", "agent": "aider", "aider_conversation_id_own": history}
    cwd = str(story.folder) if folder == "its own" else "/"
    story.path.write_text(story.path.read_text().replace(CONVERSATION, history))
    story.add_row({"name": "acme", **known, "store": str(story.folder), "pane": {"cwd": cwd}})
    (told,) = run(story.app(), ResumeRequest(("acme",), dry_run=True)).results
    code = told.error.code if told.error else None
    assert code == (None if folder == "its own" else "conversation_in_use")
