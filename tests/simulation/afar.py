"""A second machine in the simulated world, from which commands run verbs on the first one, by
`--host`: over connections that are refused, silent, cut off, late, or lose the answer.

Never knows what a verb does. What is here runs in the worlds of both machines."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.simulation.actors import Actor
from tests.simulation.lives import SOCKETS, Life
from tests.simulation.world import World
from tmuxreap.core.results import RemoteResult, Result
from tmuxreap.core.text import Style
from tmuxreap.hosts import talk as talking
from tmuxreap.hosts.talk import OUTCOME, EndedError, SilentError
from tmuxreap.hosts.wire import Line, Say, WireRequest, parse_line, request_of, say
from tmuxreap.interfaces.cli.boundary import Call, run_work
from tmuxreap.interfaces.remote import near, on_hosts
from tmuxreap.interfaces.remote import there as at
from tmuxreap.sessions.context import Context

HOST = "there"
NOBODY = ("-",)  # named by what must end nothing
CUT_S, BEAT_S = 0.3, 5.0
# What happens to one connection, and how late its answers are.
LATE_S = {"late": 3.0, "too late": 40.0}
LINKS = ("refused", "silent", "cut before", "cut", "lost", *LATE_S)
TOLD = ("outcome", "live", "status")
SAID = (Say.ANSWER, Say.NEVER)
Facts = Callable[[Collection[str]], dict[str, Any]]


class Ask(NamedTuple):
    """What one command asks of the machine there. `links`: of its connections, in their order;
    `broken`: what breaks in the process there."""

    verb: str
    words: Mapping[str, Any]
    links: Sequence[str]
    broken: Collection[tuple[int, str]]


class Far:
    """The machine `here`, and its way to the one `there`, where the history plays. `facts`: what
    the judges remember of a command there, by its names."""

    def __init__(self, there: World, facts: Facts) -> None:
        self.there, self._facts = there, facts
        folder = there.folder / "near"
        folder.mkdir()
        self.here = World(folder, there.clock)
        self.here.undo()  # watches are there
        self.here.story.HOST = "near"
        there.stages.append(self.here)
        hosts = {"hosts": {HOST: {"via": ["reach"]}}}
        (folder / ".config" / "tmuxreap" / "hosts.yaml").write_text(json.dumps(hosts))
        self.requests: set[str] = set()
        self.told: list[Actor] = []
        for name in ("a", "b"):  # neighbors, of the same names
            life = self.here.live(name, "demo", SOCKETS[0])
            assert life is not None
            self.here.write_row(life, "full")

    def ask(self, one: Ask, broken: Collection[tuple[int, str]]) -> None:
        def work(context: Context) -> Result | None:
            return near.run_on_hosts(context, one.verb, [HOST], dict(one.words))

        facts = {"links": list(one.links), "broken": one.broken, "did": [], "said": []}
        self.here.act(one.verb, NOBODY, work, broken, None, facts)

    # What arrives there

    def arrived(self, talk: Talk, text: str) -> None:
        request = request_of(text)
        fresh = request.id not in self.requests
        self.there.check(fresh, 5, f"{talk.caller} sent {request.verb} twice")
        self.requests.add(request.id)

        def work(context: Context) -> Any:
            try:
                at._answer(Output(talk), request)  # type: ignore[arg-type]
                if request.words.get("dry_run"):
                    planned = self._facts(tuple(self.there.rows()))["lives"]
                    talk.caller.facts["planned"] = list(planned.values())
            finally:
                talk.over()
            return self._result(request, actor)

        names = self._names(request)
        broken = talk.caller.facts["broken"] if request.verb != OUTCOME else ()
        facts = self._facts(names)
        actor = self.there.later(request.verb, names, work, broken, None, facts)
        if actor is None:
            talk.over()
        else:
            talk.caller.facts["did"].append(actor)

    def _names(self, request: WireRequest) -> Collection[str]:
        """Return the rows that a request may change; none stands for all."""
        if request.verb == OUTCOME or request.words.get("dry_run"):
            return NOBODY
        targets = request.words.get("targets")
        if not isinstance(targets, list) or "all" in targets:
            return ()
        return tuple(targets)

    def _result(self, request: WireRequest, actor: Actor | None) -> Result | None:
        plans = request.words.get("dry_run")
        return None if actor is None or plans else actor.facts.get("result")

    def context(self) -> Context:
        assert self.there.current is not None
        return self.there.context(self.there.current)

    def run(self, verb: str, work: Any, *_: object) -> Result:
        """Run a verb there, as the command line does."""
        actor = self.there.current
        result = run_work(verb, self.context(), lambda it: work(Call(it, Style(json=True))))
        if actor is not None:
            actor.facts["result"] = result
        return result

    # What is told here

    def answered(self, caller: Actor) -> None:
        """Check that nothing is told that nobody said there."""
        if caller.result is None:
            return
        self.told.append(caller)
        for item in caller.result.results:
            if isinstance(item, RemoteResult):
                self._was_said(caller, item, caller.facts["said"])
        self._did_nothing(caller)
        planned = caller.facts.get("planned")
        others = [life for life in self._touched(caller) if life not in (planned or [life])]
        told = f"{caller} ended {others}, and had confirmed {planned}"
        self.there.check(not others, 2, told)

    def _touched(self, caller: Actor) -> list[Life]:
        did = set(caller.facts["did"])
        return [life for life in self.there.lives if not did.isdisjoint(life.struck)]

    def _was_said(
        self, caller: Actor, item: RemoteResult, said: Sequence[Mapping[str, object]]
    ) -> None:
        unknown = item.facts.get("outcome") == "unknown"
        heard = caller.facts.get("heard")
        told = f"{caller} told that the outcome of {item.target} is unknown"
        self.there.check(not unknown or heard is None, 5, f"{told}, and heard {heard}")
        of_it = [one for one in said if one.get("name") == item.name]
        for key in TOLD:
            word = item.facts.get(key)
            heard = word in (None, "unknown") or any(one.get(key) == word for one in of_it)
            told = f"{caller} told {key} {word} of {item.target}"
            self.there.check(heard, 5, f"{told}, and nobody there said so")

    def _did_nothing(self, caller: Actor) -> None:
        """Check that what is told without any outcome has touched nothing."""
        result = caller.result
        if result is None or result.results or not result.others:
            return
        touched = self._touched(caller)
        words = [failure.message for failure in result.others]
        self.there.check(not touched, 5, f"{caller} told {words}, and it touched {touched}")

    def settled(self) -> None:
        for caller in self.told:
            self._did_nothing(caller)


class Output:
    """What the tmuxreap there says."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    @property
    def is_open(self) -> bool:
        return self._talk.is_open

    def say(self, what: Say, **facts: object) -> None:
        answer = facts.get("answer")
        if what is Say.ANSWER and isinstance(answer, Mapping):
            self._talk.caller.facts["said"] += answer["results"]
        self._talk.said(say(what, **facts))


class Talk:
    """One connection."""

    def __init__(self, far: Far) -> None:
        caller = far.here.current
        assert isinstance(caller, Actor)
        links = caller.facts["links"]
        self.far, self.caller = far, caller
        self.how: str = links.pop(0) if links else ""
        self.version = self.words = ""
        self._clock = far.there.clock
        self._coming: list[tuple[float, str]] = []
        self._ends: float | None = None
        self._works = False  # something there was asked, and has not ended
        self._beat_at = self._clock.monotonic() + BEAT_S
        if self.how == "refused":
            self.words = "Connection refused"
            self._ends = self._clock.monotonic()
        elif self.how != "silent":
            self._coming.append((self._clock.monotonic(), say(Say.HELLO, version="0")))

    @property
    def is_open(self) -> bool:
        return self._ends is None

    def send(self, text: str) -> None:
        if request_of(text).verb != OUTCOME:
            self.caller.facts["heard"] = None
        if not self.is_open:
            return
        if self.how == "cut before":
            self._ends = self._clock.monotonic()
            return
        self._works = True
        self.far.arrived(self, text)
        if self.how == "cut":
            self._ends = self._clock.monotonic() + CUT_S

    def said(self, text: str) -> None:
        """Bring what is said there, unless it is lost on its way."""
        now = self._clock.monotonic()
        if self.how == "lost":
            self._end(now)
        elif self.is_open or now < (self._ends or 0.0):
            self._coming.append((now + LATE_S.get(self.how, 0.0), text))
            self._wake()

    def over(self) -> None:
        """Hear that the process there has ended."""
        self._works = False
        self._end(max([self._clock.monotonic(), *(moment for moment, _ in self._coming)]))

    def _end(self, moment: float) -> None:
        self._ends = moment if self._ends is None else min(moment, self._ends)
        self._wake()

    def _wake(self) -> None:
        if self.caller.awaited is not None:
            self.caller.awaited = None

    def line(self, wait_s: float) -> Line:
        """Return the next line, as soon as it is here."""
        until = self._clock.monotonic() + wait_s
        while True:
            now = self._clock.monotonic()
            if self._coming and self._coming[0][0] <= now:
                line = parse_line(self._coming.pop(0)[1])
                assert line is not None
                if line.say in SAID:
                    self.caller.facts["heard"] = line.say
                return line
            if self._ends is not None and self._ends <= now:
                raise EndedError
            if self._works and self.is_open and self._beat_at <= now and self.how != "too late":
                self._beat_at = now + BEAT_S
                return Line(Say.BEAT, {})
            if now >= until:
                raise SilentError
            moments = [until, *(moment for moment, _ in self._coming[:1])]
            moments += [one for one in (self._ends, self._beat_at) if one is not None and one > now]
            self.caller.pause((), min(moments))

    def end(self) -> int:
        return 255

    def close(self) -> None:
        self._end(self._clock.monotonic())


class Time:
    """The time of a conversation."""

    def __init__(self, far: Far) -> None:
        self._far = far

    def monotonic(self) -> float:
        return self._far.there.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        caller = self._far.here.current
        assert isinstance(caller, Actor)
        caller.pause((), self.monotonic() + seconds)


@contextlib.contextmanager
def connected(far: Far) -> Iterator[None]:
    """Let commands here reach the tmuxreap there."""
    one_by_one = lambda functions, *_: [function() for function in functions]  # noqa: E731
    places: Sequence[tuple[object, str, object]] = (
        (talking, "Talk", lambda host, engine: Talk(far)),
        (talking, "time", Time(far)),
        (on_hosts, "call_in_threads", one_by_one),
        (on_hosts, "call_until", one_by_one),
        (at, "_change_to_home", lambda request: None),
        (at, "_exit_when_caller_left", lambda *_: None),
        (at, "_context", lambda request: far.context()),
        (at, "result_of", far.run),
    )
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, ours in places:
        setattr(module, name, ours)
    try:
        yield
    finally:
        for (module, name, _), one in zip(places, before, strict=True):
            setattr(module, name, one)
