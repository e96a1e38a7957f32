"""Fields for scripts: totals of endings, and a row's account of its session's life."""

from __future__ import annotations

from tests.fakes import Story


def with_fields(story: Story, **fields: str) -> None:
    words = "".join(f'"{name}": {value}, ' for name, value in fields.items())
    story.path.write_text(
        story.path.read_text().replace('"agent": "demo"', f'{words}"agent": "demo"')
    )


def test_endings_are_summed_up(story: Story) -> None:
    story.agent("leaves")
    story.agent("stays", leaves=False)
    story.agent("hangs", leaves=False, ignores={1, 15})
    story.agent("ended", status="stopped")
    story.tmux.servers[story.SOCKET].sessions.pop()
    answer = story.stop("leaves", "stays", "hangs", "nobody").as_json()
    assert answer["counts"] == {"ended": 3, "by_keys": 1, "by_term": 1, "by_kill": 1, "failed": 1}
    assert set(story.stop("leaves").as_json()["counts"].values()) == {0}


def test_an_ending_names_task_time_and_grace(story: Story) -> None:
    story.agent()
    with_fields(story, task_id='"TASK-31-1"')
    (one,) = story.kill("task:TASK-31-1", grace_s=10.0).results
    answer = one.as_json()
    assert (answer["task_id"], answer["grace_s"]) == ("TASK-31-1", 10.0)
    assert answer["ended_at"] == story.row()["stopped_at"]
    (again,) = story.kill("task:TASK-31-1").results
    assert (again.as_json()["outcome"], again.as_json()["ended_at"]) == (
        "already_stopped",
        answer["ended_at"],
    )


def test_a_cancelled_task_is_reported(story: Story) -> None:
    story.agent()
    with_fields(story, task_id='"T-1"')
    story.kill("task:T-1", task_status="cancelled")
    with story.ledger() as ledger:
        assert ledger.fetch("SELECT status FROM orchestrator_task WHERE task_id = 'T-1'") == [
            ("cancelled",)
        ]
