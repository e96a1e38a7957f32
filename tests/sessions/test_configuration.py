"""config.yaml and its variables: precedence, and what each verb does with a bad file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import tmuxreap as run
from tests.fakes import Story
from tmuxreap.commands import stop
from tmuxreap.commands.reap.reap import request_of
from tmuxreap.core.defaults import BUILT_IN, VARIABLES
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.masking import kept_screen, mask_also, mask_secrets
from tmuxreap.core.model import EndVerb
from tmuxreap.core.values import replace
from tmuxreap.ending.policy import EndingOptions, Policy
from tmuxreap.sessions.configuration import Given, read_given, read_usable
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
REGISTRY = "tmux_sessions:\n  - {name: shop, status: stopped, stopped_at: '2026-11-18T09:12:33Z'}\n"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tmuxreap").mkdir()
    return tmp_path / "tmuxreap" / "config.yaml"


def settings(file: Path, **environ: str) -> Settings:
    given = {"XDG_CONFIG_HOME": str(file.parent.parent), **environ}
    return Settings(given, file.parent, os.getuid(), 1, "linux")


def values(found: dict[str, Given]) -> dict[str, object]:
    return {key: given.value for key, given in found.items()}


def configured(story: Story, text: str, **environ: str) -> Context:
    file = story.folder / ".config" / "tmuxreap" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    app = story.app()
    app.settings = replace(app.settings, environ={**app.settings.environ, **environ})
    app.configure()
    return app


def test_the_file_of_the_page_is_read_and_its_table_names_every_key(mine: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    mine.write_text(example)
    given = read_given(settings(mine))
    assert values(given) == {
        "server": "agents",
        "reason": "night shift",
        "grace": 8.0,
        "reap.stalled_after": 300.0,
        "reap.idle_after": 14400.0,
        "reap.grace": 10.0,
        "cleanup": True,
        "retention": 30 * 86400.0,
        "secrets": ("acme-[0-9a-f]{16}", r"(?P<keep>pin: )\d+"),
    }
    assert given["reap.idle_after"].place == f"{mine}, line 6"
    documented = dict(
        re.findall(r"^\| `([a-z_.]+)` \| (?:`([A-Z_]+)`)? ?\|", PAGE, flags=re.MULTILINE)
    )
    assert documented == {key: VARIABLES.get(key, "") for key in BUILT_IN}


def test_a_variable_goes_before_the_file(mine: Path) -> None:
    mine.write_text("grace: 8\ncleanup: true\n")
    given = read_given(
        settings(mine, TMUXREAP_GRACE="1m", TMUXREAP_CLEANUP="no", TMUXREAP_REASON="")
    )
    assert values(given) == {"grace": 60.0, "cleanup": False}
    assert (given["grace"].source, given["grace"].place) == ("environment", "TMUXREAP_GRACE")
    assert values(read_given(settings(mine))) == {"grace": 8.0, "cleanup": True}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("grace: 5\ngrcae: 3\n", "line 2, column 1: grcae: 'grcae' is not known here"),
        ("reap:\n  idle: 2h\n", "line 2, column 3: reap.idle: 'idle' is not known here"),
        ("# x\nreapp:\n  idle: 3\n", "line 2, column 1: reapp: "),
        ("grace: soon\n", "line 1, column 1: grace: 'soon' is not a duration"),
        ("grace: true\n", "line 1, column 1: grace: expected a duration"),
        ("retention: -1\n", "line 1, column 1: retention: "),
        ("cleanup: 3\n", "line 1, column 1: cleanup: expected true or false"),
        ("server: [a]\n", "line 1, column 1: server: expected a word"),
        ("reap: 3\n", "line 1, column 1: reap: expected a mapping"),
        ("secrets: word\n", "line 1, column 1: secrets: expected a list"),
        ("secrets:\n  - ok\n  - '('\n", "line 3, column 5: secrets.1: "),
        (
            "secrets:\n  - ok\n  - 'x*'\n",
            "line 3, column 5: secrets.1: 'x*' matches nothing at all",
        ),
        ("a: [\n", "line 2, column 1: "),
        ("- a\n", "line 1, column 1: the file is not a mapping"),
    ],
)
def test_a_mistake_is_reported_with_its_line(mine: Path, text: str, told: str) -> None:
    mine.write_text(text)
    with pytest.raises(Failure) as caught:
        read_given(settings(mine))
    assert caught.value.code is Code.CONFIG_INVALID
    assert told in caught.value.message
    assert str(mine) in caught.value.message
    assert str(mine) in caught.value.hint


def test_an_invalid_variable_and_an_irregular_file_are_refused(mine: Path) -> None:
    with pytest.raises(Failure, match=r"\$TMUXREAP_GRACE: 'soon'"):
        read_given(settings(mine, TMUXREAP_GRACE="soon"))
    mine.mkdir()
    with pytest.raises(Failure, match="it is no regular file"):
        read_given(settings(mine))
    mine.rmdir()
    mine.symlink_to(mine.with_name("nowhere"))
    with pytest.raises(Failure, match="No such file"):
        read_given(settings(mine))


def test_without_a_file_there_is_no_default(story: Story) -> None:
    app = story.app()
    assert not app.settings.configured
    app.configure()
    assert (app.defaults, app.default_server, app.default_seconds("grace")) == ({}, None, None)


@pytest.mark.parametrize("words", ["list", "show shop", "agents", "reap", "events", "hosts"])
def test_a_bad_file_is_a_warning_for_every_verb(mine: Path, tmp_path: Path, words: str) -> None:
    mine.write_text("grcae: 3\n")
    answer = run(*words.split(), "--json", *registered(tmp_path, words))
    assert answer.exit == 0
    (warning,) = answer.json["warnings"]
    assert warning.startswith("config_invalid: ")
    assert "line 1" in warning


def test_config_refuses_a_broken_config_file(mine: Path, tmp_path: Path) -> None:
    mine.write_text("grcae: 3\n")
    answer = run("config", "--json")
    assert (answer.exit, answer.error["code"]) == (2, "config_invalid")
    found = run("doctor", "--json", *registered(tmp_path, "doctor"))
    (said,) = [one for one in found.json["results"] if one["name"] == "profiles"]
    assert "line 1" in said["message"]


def test_a_reap_ends_nothing_while_a_default_is_not_known(mine: Path, tmp_path: Path) -> None:
    mine.write_text("reap: {idle_aftr: 8h}\n")
    answer = run("reap", "--yes", "--json", *registered(tmp_path, "reap"))
    assert (answer.exit, answer.error["code"]) == (2, "config_invalid")


def test_a_wrong_default_counts_as_it_was_last_read_well(mine: Path, tmp_path: Path) -> None:
    here = settings(mine, XDG_STATE_HOME=str(tmp_path))
    mine.write_text("grace: 8\nreap: {idle_after: 8h}\nreason: night\n")
    assert read_usable(here)[1] == ()
    mine.write_text("grace: soon\nreap: {idle_after: never}\nreason: day\n")
    given, faults = read_usable(here)
    assert values(given) == {"grace": 8.0, "reap.idle_after": 28800.0, "reason": "day"}
    assert [(one.part, one.remembered) for one in faults] == [
        ("grace", True),
        ("reap.idle_after", True),
    ]
    for text in ("a: [", "[" * 50_000, "reap: 3\ngrace: 8\nreason: day"):
        mine.write_text(text)
        given, (fault,) = read_usable(here)
        assert (values(given)["reap.idle_after"], given["grace"].value) == (28800.0, 8.0)
        assert fault.remembered or fault.part == "reap"


@pytest.mark.parametrize("text", ["secrets: ['(']\n", "secrets: [x]\na: [\n"])
def test_no_screen_is_kept_while_it_is_not_known_what_to_mask(story: Story, text: str) -> None:
    story.agent()
    try:
        app = configured(story, text)
        stop.run(app, stop.EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop")))
        assert kept_screen("acme-77") == ""
    finally:
        mask_also()
    assert story.row()["status"] == "stopped"
    assert "last_visible_status" not in story.row()


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_an_ending_warns_and_continues(mine: Path, tmp_path: Path, verb: str) -> None:
    mine.write_text("grcae: 3\n")
    answer = run(verb, "shop", "--json", *registered(tmp_path, verb))
    assert answer.exit == 0
    (warning,) = answer.json["warnings"]
    assert warning.startswith("config_invalid: ")
    assert "line 1" in warning


def test_a_heartbeat_never_reads_the_configuration(mine: Path, tmp_path: Path) -> None:
    mine.write_text("grcae: 3\n")
    answer = run(
        "heartbeat", "shop", "--state", "idle", "--json", *registered(tmp_path, "heartbeat")
    )
    assert answer.exit == 0
    assert answer.json["warnings"] == []


def registered(folder: Path, words: str) -> list[str]:
    if words in ("config", "agents", "hosts"):
        return []
    path = folder / "agent-sessions.yaml"
    path.write_text(REGISTRY)
    return ["--registry", str(path)]


def test_a_flag_goes_before_the_file_and_the_file_before_what_is_built_in(
    mine: Path, tmp_path: Path
) -> None:
    mine.write_text("reason: night\ngrace: 9\n")
    flags = ("--reason", "mine", "--grace", "1")
    answers = [
        (one["stop_reason"], one["grace_s"])
        for one in (_stopped(tmp_path), _stopped(tmp_path, *flags))
    ]
    assert answers == [("night", 9.0), ("mine", 1.0)]
    mine.unlink()
    assert _stopped(tmp_path)["stop_reason"] == "manual_stop"


def _stopped(folder: Path, *words: str) -> dict[str, Any]:
    registry = folder / "agent-sessions.yaml"
    registry.write_text("tmux_sessions:\n  - {name: shop, status: running, agent: demo}\n")
    (one,) = run("stop", "shop", *words, "--json", "--registry", str(registry)).json["results"]
    return dict(one)


def test_reap_takes_its_own_defaults(story: Story) -> None:
    app = configured(story, "grace: 1\nreap: {stalled_after: 5m, grace: 7}\ncleanup: true\n")
    request = request_of(app, (), EndingOptions())
    assert (request.limits.stalled_after_s, request.limits.idle_after_s) == (300.0, 7200.0)
    assert (request.policy.grace_s, request.policy.cleanup) == (7.0, True)
    assert request.policy.task_status == "failed"


def test_the_server_is_that_of_a_new_row(story: Story) -> None:
    app = configured(story, "server: mine\n")
    assert app.default_server == "mine"


def test_own_patterns_are_masked_beside_the_known_kinds(story: Story) -> None:
    try:
        configured(story, "secrets: ['acme-[0-9]+', '(?P<keep>pin: )[0-9]+']\n")
        assert mask_secrets("acme-77 pin: 1234 sk-abcdefghijklmnop") == "*** pin: *** ***"
    finally:
        mask_also()
    assert mask_secrets("acme-77") == "acme-77"


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", r"(a*)*\1b", r"^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_a_pattern_that_backtracks_holds_up_no_stop(story: Story, pattern: str) -> None:
    agent = story.agent()
    try:
        app = configured(story, f"secrets: ['{pattern}']\n")
        agent.pane.screen = f"{'a' * 140}!\n{agent.pane.screen}"
        result = stop.run(app, stop.EndRequest(("acme",), Policy(EndVerb.STOP, "manual_stop")))
    finally:
        mask_also()
    assert story.row()["status"] == "stopped"
    assert "a" * 140 not in str(story.row()["last_visible_status"])
    assert any(pattern in warning for warning in result.warnings)


def test_only_the_defaults_of_reap_come_back_where_its_block_is_wrong(
    mine: Path, tmp_path: Path
) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    mine.write_text("grace: 7\nreap: {idle_after: 3h}\n")
    read_usable(settings(mine, **state))
    mine.write_text("reap: [\n]\n")
    found, faults = read_usable(settings(mine, **state))
    assert [fault.part for fault in faults] == ["reap"]
    assert list(found) == ["reap.idle_after"]
