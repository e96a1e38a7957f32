"""Looks while other verbs are at work report neither their rows nor the ledger that they write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import CONVERSATION, Story
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.commands.reconcile.reconcile import Settled
from tmuxreap.core.model import ProcessId
from tmuxreap.ledger.records import START, Closing, NewIntent
from tmuxreap.sessions.context import Context

OWNER = 4242
EARLIER = "11111111-2222-4333-8444-555555555555"
OF_ANOTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    told = Story(tmp_path)
    yield told
    told.close()


def begun(story: Story, owner: ProcessId, verb: str = "stop", name: str = "acme") -> int:
    app = story.app()
    app.books.follow(app.registry.look())  # unchanged: the mirror shows the registry
    new = NewIntent(
        name,
        verb,
        "manual_stop",
        "agent",
        owner,
        story.BOOT,
        story.clock.now() + 60,
        (),
        _plan(story),
    )
    with story.ledger() as ledger:
        made: Any = ledger.begin_intent(
            new, owner_alive=lambda _: True, take_over=False, now=story.clock.now()
        )
    number: int = made.intent.id
    return number


def _plan(story: Story) -> str:
    return f'{{"socket": "{story.SOCKET}", "server": null, "agent": "demo", "marks": []}}'


def closed(story: Story, number: int) -> None:
    with story.ledger() as ledger:
        ledger.close_intent(Closing(number, "stopped"), story.clock.now())


def during_the_look(
    monkeypatch: pytest.MonkeyPatch, story: Story, happens: Callable[[], None]
) -> Context:
    """Return a context whose first look is followed by this event before it is judged."""
    app = story.app()
    look, pending = app.observer.look, [happens]

    def disturbed_look(*words: Any, **more: Any) -> Any:
        world = look(*words, **more)
        if pending:
            pending.pop()()
        return world

    monkeypatch.setattr(app.observer, "look", disturbed_look)
    return app


def rewritten(story: Story, text: str) -> None:
    story.path.write_text(text)


def kinds(settled: Settled) -> list[str]:
    return [str(item.as_json()["drift"]) for item in settled.result.results]


def noted(story: Story) -> list[str]:
    with story.ledger() as ledger:
        return [event.kind for event in ledger.events()]


@pytest.mark.parametrize("verb", ["stop", START])
def test_an_ending_that_is_closed_during_the_look_was_not_left(
    story: Story, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    story.agent()
    owner = story.processes.add("tmuxreap", pid=OWNER)
    number = begun(story, owner, verb)

    def closes_and_leaves() -> None:
        closed(story, number)
        story.processes.die(owner)

    settled = reconcile.settle(during_the_look(monkeypatch, story, closes_and_leaves))
    assert (kinds(settled), settled.again) == ([], True)
    assert noted(story) == []


def test_an_intent_of_a_dead_owner_is_reported(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent()
    owner = story.processes.add("tmuxreap", pid=OWNER)
    begun(story, owner)
    app = during_the_look(monkeypatch, story, lambda: story.processes.die(owner))
    assert kinds(reconcile.settle(app)) == ["intent"]


def test_a_row_handed_over_during_the_look_has_an_owner(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent()
    owner, finisher = (story.processes.add("tmuxreap", pid=OWNER + number) for number in (0, 1))
    number = begun(story, owner)

    def hands_over() -> None:
        with story.ledger() as ledger:
            ledger.hand_over(number, finisher)
        story.processes.die(owner)

    assert kinds(reconcile.settle(during_the_look(monkeypatch, story, hands_over))) == []
    assert noted(story) == []


def test_a_change_that_begins_and_ends_during_the_look_belongs_to_its_owner(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = story.agent()
    story.processes.die(agent.process)
    owner = story.processes.add("tmuxreap", pid=OWNER)

    def refused() -> None:
        closed(story, begun(story, owner))

    settled = reconcile.settle(during_the_look(monkeypatch, story, refused))
    assert (kinds(settled), settled.again) == ([], True)
    assert kinds(reconcile.settle(story.app())) == ["dead"]


def test_a_row_that_is_written_during_the_look_is_judged_at_the_next(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop closed its intent before we asked for it, and we still have the old row."""
    agent = story.agent()
    story.processes.die(agent.process)

    def writes() -> None:
        text = story.path.read_text()
        story.path.write_text(text.replace('"status": "running"', '"status": "stopped"'))

    assert "dead" not in kinds(reconcile.settle(during_the_look(monkeypatch, story, writes)))
    assert story.row()["status"] == "stopped"


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_conversation_recorded_by_another_after_the_look_is_recorded_once(
    story: Story, monkeypatch: pytest.MonkeyPatch, by_hand: bool
) -> None:
    story.agent()
    rewritten(story, story.path.read_text().replace(CONVERSATION, EARLIER))
    told: list[list[str]] = []
    before = reconcile._try

    def while_another_settles(*words: Any) -> None:
        monkeypatch.setattr(reconcile, "_try", before)
        if by_hand:
            rewritten(story, story.path.read_text().replace(EARLIER, OF_ANOTHER))
        else:
            told.append(kinds(reconcile.settle(story.app())))

    monkeypatch.setattr(reconcile, "_try", while_another_settles)
    assert kinds(reconcile.settle(story.app())) == []
    recorded = OF_ANOTHER if by_hand else CONVERSATION
    assert story.row()["demo_conversation_id_own"] == recorded
    assert told == ([] if by_hand else [["id_changed"]])
    assert noted(story) == ([] if by_hand else ["id_changed"])


def test_a_row_that_comes_during_the_look_is_not_unregistered(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.agent("first")
    text = story.path.read_text()
    story.agent("second")
    whole = story.path.read_text()
    story.path.write_text(text)
    app = during_the_look(monkeypatch, story, lambda: rewritten(story, whole))
    assert "unregistered" not in kinds(reconcile.settle(app))
    story.path.write_text(text)
    assert "unregistered" in kinds(reconcile.settle(story.app()))


# The ledger beside the registry


def mirrored(story: Story) -> None:
    story.agent("first")
    app = story.app()
    app.books.follow(app.registry.look())


def test_a_lagging_mirror_is_updated_and_is_no_drift(story: Story) -> None:
    mirrored(story)
    story.agent("second")
    app = story.app()
    assert app.books.is_behind(app.registry.look())
    assert kinds(reconcile.settle(app)) == []
    assert not app.books.is_behind(app.registry.look())


def test_a_dry_run_leaves_a_mirror_that_lags(story: Story) -> None:
    mirrored(story)
    story.agent("second")
    app = story.app()
    assert kinds(reconcile.settle(app, dry_run=True)) == []
    assert app.books.is_behind(app.registry.look())


def test_an_older_registry_never_replaces_a_newer_one_in_the_mirror(story: Story) -> None:
    """Two verbs write in one order, and update the mirror in the other."""
    story.agent("first")
    app = story.app()
    older = app.registry.look()
    story.agent("second")
    newer = app.registry.look()
    app.books.follow(newer)
    app.books.follow(older)
    assert not app.books.is_behind(newer)
