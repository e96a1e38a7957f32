"""`interrupt` on each real agent in each state: the turn ends and begins no other, no dialog is
approved, what was typed or queued stays in the input, and the agent goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench, let_go_on
from tests.real_agents.cases import UNANSWERED, answers, asking_first
from tests.real_agents.jobs import Job
from tests.real_agents.mock_model import ANSWER, LIMIT, TOOL
from tests.real_agents.setups import SETUPS
from tests.real_agents.states import DRAFT, QUEUED, SITUATIONS, WATCHED_S
from tests.real_agents.stops import brought, resumed, told
from tmuxreap.agents.screens import State

FROZEN_S = (1.0, 2.5, 4.0)
STATES = ("idle", "draft", "busy", "streaming", "dialog", "queued")
REST = {"idle": "", "draft": DRAFT}
UNDER_WAY = (State.BUSY, State.DIALOG)
RESTING = (State.IDLE.value, State.DRAFT.value)
SLEEP = "sleep 77"
# The keys to each page, and whether it waits for the person.
VIEWS = (
    (("/config",), True),
    (("/config", "a"), True),
    (("/config", "Escape"), True),
    (("C-r",), False),
    (("C-o",), False),
)
CHOOSES = ("gemini",)  # no key closes its question but an answer


def jobs() -> Iterator[Job]:
    for state, agent in product(STATES, SETUPS):
        play = partial(_played, state=state)
        yield Job(agent, f"interrupt, {state}", play, SITUATIONS[state].allowed, varies=True)
    for agent in SETUPS:
        yield Job(agent, "interrupt, tool", _a_tool, allowed=True)
    for agent in SETUPS:
        yield Job(agent, "interrupt, frozen", _frozen)
    for agent, setup in SETUPS.items():
        if setup.tells_limit and agent not in CHOOSES:
            yield Job(agent, "interrupt, limited", _limited)
    for agent in UNANSWERED:
        yield Job(agent, "interrupt, asks first", _asks_first)
    yield Job("claude", "interrupt, views", _views)


def _played(bench: Bench, *, state: str) -> str:
    brought(bench, state)
    before, asked = _agent(bench), len(bench.model.asked)
    if state == "queued" and bench.setup.queue_by != "exit_keys":
        return _left_alone(bench)
    if state == "dialog" and not bench.setup.denies:
        return _unanswered(bench)
    item = bench.reap("interrupt", NAME)
    due = "already_idle" if state in REST else "interrupted"
    assert item["outcome"] == due, item
    assert bool(item["keys"]) is (state not in REST), item
    _lives_at_rest(bench, before, asked)
    where = _kept(bench, state)
    if state == "queued":
        return _word(item) + where
    bench.say(AGAIN)
    bench.until("both messages", lambda: told(bench.model.asked[asked:]))
    _taken_up(bench)
    return _word(item)


def _taken_up(bench: Bench) -> None:
    """Nothing of the conversation was lost: the model hears the first message after a resume."""
    bench.until("the end of its turn", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    if bench.reap("stop", NAME)["resumable"]:
        resumed(bench)


def _frozen(bench: Bench) -> str:
    """A machine that is busy, or a laptop that slept: the screen is the one before the key."""
    words = []
    bench.start("sh", "-c", f"{bench.line}; exec sh")  # tmux lets go on what it started itself
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    bench.say(MESSAGE)
    bench.until("the answer", lambda: ANSWER in bench.screen() and bench.seen().state is State.IDLE)
    bench.settle()
    for seconds in FROZEN_S:
        SITUATIONS["busy"].bring(bench)
        bench.becomes(State.BUSY, "the turn")
        frozen = bench.below_its_shell()
        assert frozen, "nothing runs below its shell"
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        threading.Timer(seconds, let_go_on, [frozen]).start()
        item = bench.answer("interrupt", NAME)["results"][0]
        time.sleep(seconds)
        assert _lives(frozen[0]), f"it has left: {item}\n{bench.screen()}"
        words.append(str(item["outcome"]))
        if item["outcome"] != "interrupted":  # two keys that are heard at once may be another one
            again = bench.answer("interrupt", NAME)["results"][0]
            if again["outcome"] == "refused":  # what is queued cannot be taken back
                return ", ".join(dict.fromkeys([*words, "refused"]))
        bench.until("its rest", lambda: bench.seen().state in (State.IDLE, State.DRAFT), 20)
        bench.keys("C-u")
        bench.settle()
    _taken_up(bench)
    return ", ".join(dict.fromkeys(words))


def _lives(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _left_alone(bench: Bench) -> str:
    """What is queued cannot be taken back, and the key that ends the turn would begin it."""
    asked = len(bench.model.asked)
    item = bench.answer("interrupt", NAME)["results"][0]
    assert (item["outcome"], item["error"]["code"]) == ("refused", "not_interruptible"), item
    time.sleep(WATCHED_S)
    assert not bench.turns(asked), "what was queued has begun"
    assert bench.seen().queued == QUEUED, bench.screen()
    return "refused"


def _unanswered(bench: Bench) -> str:
    """Whatever closes its dialog lets the turn go on."""
    shown, asked = bench.screen(), len(bench.model.asked)
    item = bench.answer("interrupt", NAME)["results"][0]
    assert (item["outcome"], item["error"]["code"]) == ("refused", "not_interruptible"), item
    time.sleep(WATCHED_S)
    assert (bench.screen(), len(bench.model.asked)) == (shown, asked), bench.screen()
    return "refused"


def _lives_at_rest(bench: Bench, before: set[int], asked: int) -> None:
    """At once, and for a while."""
    assert bench.pane_state() in RESTING, bench.screen()
    assert bench.reap("interrupt", NAME)["outcome"] == "already_idle", bench.screen()
    time.sleep(WATCHED_S)
    must: list[tuple[str, Callable[[], bool]]] = [
        ("the tool ran", lambda: not bench.proof.exists()),
        ("the model was asked to go on", lambda: not bench.turns(asked)),
        ("the agent is another one", lambda: _agent(bench) == before),
        ("it is at work", lambda: bench.pane_state() in RESTING),
    ]
    for what, holds_ in must:
        assert holds_(), f"{what}\n{bench.screen()}"


def _kept(bench: Bench, state: str) -> str:
    """What was typed stands in the input; or in the ledger, where the agent puts the prompt of the
    turn that was broken off into its place."""
    if state == "queued" and bench.setup.keeps_queue:
        assert QUEUED in bench.screen(), bench.screen()
        return ", in the conversation"
    typed, draft = SITUATIONS[state].typed, bench.seen().draft
    if all(one in draft for one in typed):
        return ""
    said = "\n".join(bench.drafts())
    assert state == "queued" and all(one in said for one in typed), (draft, said, bench.screen())
    return ", in the ledger"


def _a_tool(bench: Bench) -> str:
    """The command that runs ends with its turn."""
    brought(bench, "idle")
    bench.model.command = f"touch {bench.proof}; {SLEEP}"
    bench.say(f"{TOOL} please")
    bench.until("the tool", bench.proof.exists)
    bench.proof.unlink()
    before, asked = _agent(bench), len(bench.model.asked)
    item = bench.reap("interrupt", NAME)
    assert item["outcome"] == "interrupted", item
    _lives_at_rest(bench, before, asked)
    left = [words for words in bench.left().values() if words == SLEEP]
    return _word(item) + (", its command goes on" if left else "")


def _limited(bench: Bench) -> str:
    """Who goes on by himself when it is over, or asks whether to, does not any more."""
    bench.environ.update(bench.setup.subscribed)
    brought(bench, "idle")
    bench.say(f"{LIMIT} please")
    bench.until("the limit", lambda: bench.seen().limit is not None)
    bench.settle()
    held, before, asked = bench.seen().state in UNDER_WAY, _agent(bench), len(bench.model.asked)
    item = bench.reap("interrupt", NAME)
    assert item["outcome"] == ("interrupted" if held else "already_idle"), item
    _lives_at_rest(bench, before, asked)
    return _word(item)


def _views(bench: Bench) -> str:
    """Behind a page of a menu, a search or a transcript the turn is ended, too. A view that asks
    nothing leaves an idle agent idle: it gets no key."""
    brought(bench, "idle")
    for pages, asks in VIEWS:
        for turn in (False, True):
            if turn:
                SITUATIONS["busy"].bring(bench)
                bench.becomes(State.BUSY, "the turn")
            _open(bench, pages)
            shown, before, asked = bench.seen().view, _agent(bench), len(bench.model.asked)
            assert shown, bench.screen()
            due = "waiting" if asks else "working" if turn else "idle"
            assert bench.one_state() == due, pages
            item = bench.reap("interrupt", NAME)
            left = turn or asks
            assert item["outcome"] == ("interrupted" if left else "already_idle"), (pages, item)
            assert (bench.seen().view != shown) is left, bench.screen()
            if not left:
                bench.keys("Escape")
            bench.until("its rest", lambda: bench.seen().state in (State.IDLE, State.DRAFT), 20)
            assert (_agent(bench), bench.turns(asked)) == (before, []), bench.screen()
            bench.keys("C-u")
            bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    _taken_up(bench)
    return f"{len(VIEWS)} views"


def _open(bench: Bench, pages: Sequence[str]) -> None:
    for page in pages:
        if page.startswith("/"):
            bench.say(page)
        else:
            bench.keys(*page.split())
        bench.settle()


def _asks_first(bench: Bench) -> str:
    """No key is known that is no answer, and leaves it there."""
    asking_first(bench)
    shown = bench.screen()
    item = bench.answer("interrupt", NAME)["results"][0]
    assert (item["outcome"], item["error"]["code"]) == ("refused", "not_interruptible"), item
    assert bench.screen() == shown, bench.screen()
    assert not answers(bench)
    return "refused"


def _agent(bench: Bench) -> set[int]:
    item = bench.reap("show", NAME)
    return {one["pid"] for one in item["processes"] if one["why"] == "agent"} or {item["pid"]}


def _word(item: dict[str, Any]) -> str:
    return f"{item['outcome']}, {item['duration_ms'] / 1000:.2f} s"
