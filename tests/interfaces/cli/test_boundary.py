"""The boundary between command line and verbs: words become requests, failures become answers."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.fakes import Story
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Ending, Result
from tmuxreap.core.text import Style
from tmuxreap.interfaces.cli import boundary
from tmuxreap.interfaces.cli.verbs import looking
from tmuxreap.sessions.context import Context


def broken(error: BaseException) -> Callable[[Context], Result]:
    def work(context: Context) -> Result:
        context.warnings.append("careful")
        raise error

    return work


def test_a_failure_of_a_verb_becomes_an_answer(story: Story) -> None:
    failure = Failure(Code.TMUX_MISSING, "could not look: no tmux")
    told = boundary.run_work("list", story.app(), broken(failure))
    assert (told.failure, told.warnings, told.registry) == (failure, ("careful",), str(story.path))
    interrupted = boundary.run_work("list", story.app(), broken(KeyboardInterrupt()))
    assert int(interrupted.exit) == 130
    with pytest.raises(ZeroDivisionError):
        boundary.run_work("list", story.app(), broken(ZeroDivisionError()))


def test_words_that_exclude_each_other_or_mean_nothing_are_refused() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: looking.kinds_of("stalled,orphan", "--reap"),
        lambda: boundary.seconds("soon", "--grace"),
    ]
    for one in wrong:
        with pytest.raises(Failure) as caught:
            one()
        assert caught.value.code is Code.USAGE
        assert caught.value.hint


def test_reap_kinds_appear_once_and_in_their_order() -> None:
    found = looking.kinds_of("idle, stalled,idle", "--reap")
    assert [kind.value for kind in found] == ["idle", "stalled"]
    assert boundary.seconds("15m", "--grace") == 900.0
    assert boundary.seconds(None, "--grace") is None


def test_names_may_stand_on_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a\n\n b \n"))
    assert boundary.targets_of(["x", "-"]) == ("x", "a", "b")
    assert boundary.targets_of(None) == ()


@pytest.mark.parametrize(
    ("said", "agreed"),
    [("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False), ("", False)],
)
def test_only_a_yes_counts_as_one(
    said: str, agreed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    plan = Result("stop", None, 0.0, [Ending("acme")])
    assert boundary.question(Style(), purge=True)(plan) is agreed
    asked = capsys.readouterr()
    question = "stop acme, and delete its conversation for good? [y/N] "
    assert asked.err.endswith(question if said else f"{question}\n")  # nobody typed a line end
    assert asked.out == ""


def test_a_tool_asks_nothing_even_on_a_terminal(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary, "on_terminal", lambda: True)
    assert boundary.Call(story.app(), Style()).question() is None
    assert boundary.Call(story.app(), Style(), asks=True).question() is not None


@pytest.fixture
def handlers() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_a_signal_ignored_by_nohup_stays_ignored(handlers: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    boundary.heed_signals()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_an_interrupted_question_says_that_nothing_was_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def readline(self) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted())
    with pytest.raises(Failure, match="nothing was started") as caught:
        boundary.confirm("stop them?")
    assert (caught.value.code, caught.value.hint) == (Code.INTERRUPTED, "")
    assert capsys.readouterr().err == "stop them? [y/N] \n"
