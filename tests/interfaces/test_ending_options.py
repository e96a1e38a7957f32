"""The options of an ending: every interface has the same, and the same defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

import tmuxreap
from tests.fakes import Story, plans_of
from tmuxreap.commands.reap import reap
from tmuxreap.core.defaults import BUILT_IN
from tmuxreap.core.model import EndVerb
from tmuxreap.core.results import Result
from tmuxreap.core.text import Style
from tmuxreap.core.verbs import VERBS
from tmuxreap.ending.policy import DEFAULTS, DEFAULTS_OF_REAP, EndingOptions
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.commands import own_parameters, work_of
from tmuxreap.interfaces.mcp import tools
from tmuxreap.interfaces.mcp.tools import Reap, StopSession
from tmuxreap.interfaces.popup.actions import Desk, silent_progress
from tmuxreap.interfaces.python import calls
from tmuxreap.interfaces.python.options import KillOptions, StopOptions
from tmuxreap.interfaces.python.registry import Registry
from tmuxreap.sessions.context import Context


def configured(story: Story, text: str) -> None:
    folder = story.folder / ".config" / "tmuxreap"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(text)


def by_command_line(story: Story) -> None:
    context = story.app()
    context.configure()
    work_of("stop", {"targets": ["acme"]})(Call(context, Style(json=True)))


def by_tool(story: Story) -> None:
    context = story.app()
    context.configure()
    StopSession.model_validate({"targets": ["acme"], "reason": "night"}).run(context)


def by_popup(story: Story) -> None:
    Desk(story.app).end("", EndVerb.STOP, ["acme"], silent_progress())


def by_python(story: Story) -> None:
    Registry(story.path).stop("acme")


@pytest.mark.parametrize("door", [by_command_line, by_tool, by_popup, by_python])
def test_the_defaults_of_the_user_apply_in_every_interface(
    door: Callable[[Story], None], story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "real_app", lambda *_, **__: story.app())
    configured(story, "reason: night\ngrace: 8s\ncleanup: true\n")
    story.agent()
    door(story)
    (plan,) = map(json.loads, plans_of(story.path))
    waits = {rung["name"]: rung["waits_ms"] for rung in plan["rungs"]}
    assert (plan["reason"], waits["hangup"]) == ("night", 8000)
    assert "cleanup" not in plan, "that is a default of reap"


OPTIONS = set(EndingOptions.__fields__)
OF_ONE_VERB = {"stop": {"keys_timeout", "after_turn"}, "kill": {"task_status"}}
OF_REAP = {
    "reason",
    "grace",
    "cleanup",
    "task_status",
    "set_name",
}  # a sweep chooses the rest by its evidence

# Names of an interface's own, and what they are called elsewhere.
CALLED = {
    "force_no_yaml": "unregistered",
    "force": "no_force",
    "purge_conversation": "purge",
    "set": "set_name",
}
# Arguments that say whom to end, and whether, rather than how.
WHOM = {"targets", "dry_run", "yes", "confirm_purge", "target", "check", "how"}
EVIDENCE = {"stalled", "idle", "expired", "orphans", "stalled_after", "idle_after"}
# What an interface lacks, and why.
LACKING = {
    ("cli", "reap", "reason"): "the verdict is the reason",
    ("mcp", "stop", "unregistered"): "an agent ends only what is registered",
    ("mcp", "kill", "unregistered"): "an agent ends only what is registered",
}


def of_verb(verb: str) -> set[str]:
    if verb == "reap":
        return OF_REAP
    of_others = set().union(*(names for other, names in OF_ONE_VERB.items() if other != verb))
    return OPTIONS - of_others


def on_command_line(verb: str) -> set[str]:
    return {parameter.name for parameter in own_parameters(VERBS[verb])}


def in_tools(verb: str) -> set[str]:
    (tool,) = (tool for tool in tools.ALL if tool.verb == verb)
    return set(tool.arguments.model_fields)


def in_python(verb: str) -> set[str]:
    if verb == "reap":
        return set(signature(Registry.reap).parameters) - {"self"}
    return set((StopOptions if verb == "stop" else KillOptions).__annotations__)


@pytest.mark.parametrize("verb", ["stop", "kill", "reap"])
@pytest.mark.parametrize(
    ("name", "door"), [("cli", on_command_line), ("mcp", in_tools), ("python", in_python)]
)
def test_every_interface_has_the_same_options(
    name: str, door: Callable[[str], set[str]], verb: str
) -> None:
    known = {CALLED.get(option, option) for option in door(verb) - WHOM - EVIDENCE}
    lacking = {option for where, of, option in LACKING if (where, of) == (name, verb)}
    assert known == of_verb(verb) - lacking


def test_every_default_of_an_ending_is_a_key_of_the_file() -> None:
    for keys in (DEFAULTS, DEFAULTS_OF_REAP):
        assert set(keys) <= OPTIONS
        assert set(keys.values()) <= set(BUILT_IN)


def test_no_interface_makes_a_policy_of_its_own() -> None:
    package = Path(tmuxreap.__file__).parent
    makers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"(?<!\w)Policy\(", path.read_text(encoding="utf-8"))
    }
    assert makers == {
        "ending/policy.py",
        "ending/interrupt.py",  # ends a turn: nothing to choose
        "ending/hold.py",  # the first half of a restart: nothing to choose
        "ending/send.py",  # gives a prompt: nothing to choose
    }


def test_a_reap_has_the_same_defaults_in_every_interface(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[reap.ReapRequest] = []

    def run(context: Context, request: reap.ReapRequest) -> Result:
        asked.append(request)
        return context.result("reap")

    monkeypatch.setattr(reap, "run", run)
    monkeypatch.setattr(calls, "real_app", lambda *_, **__: story.app())
    configured(story, "cleanup: true\nreap: {grace: 9s, idle_after: 1m}\n")
    Registry(story.path).reap(reason="night")
    Registry(story.path).reap(reason="night", cleanup=False, idle_after="2m")
    context = story.app()
    context.configure()
    Reap.model_validate({"reason": "night"}).run(context)
    work_of("reap", {})(Call(context, Style(json=True), why="night"))
    by_python, chosen, by_tool, by_command_line = asked
    assert by_python == by_tool == by_command_line
    assert (by_python.limits.idle_after_s, by_python.policy.grace) == (60.0, 9.0)
    assert (by_python.policy.cleanup, by_python.why) == (True, "night")
    assert (chosen.limits.idle_after_s, chosen.policy.cleanup) == (120.0, False)
