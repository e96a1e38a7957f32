"""A user with running agents and no registry: from the first command to all agents registered."""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Answer, tmuxreap
from tests.real import until

NAMES = ["api", "docs", "web"]
AGENT = shlex.join(
    ["env", f"PYTHONPATH={Path(__file__).parents[2]}", sys.executable, "-m", "tmuxreap.demo_agent"]
)


def tmux(*words: str) -> str:
    command = ["tmux", "-f", "/dev/null", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture
def project(tmux_socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three agents on the default server, a shell next to them, and a folder without a registry."""
    for name in ("TMUXREAP_REGISTRY", "TMUXREAP_ID"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in NAMES:
        tmux("new-session", "-d", "-s", name, AGENT)
    tmux("new-session", "-d", "-s", "mine", "sleep 600")
    until(
        "the agents were ready",
        lambda: all(">" in tmux("capture-pane", "-p", "-t", f"={n}:") for n in NAMES),
    )
    return folder


def listed(answer: Answer) -> list[str]:
    return sorted(row["name"] for row in answer.json["results"])


def test_three_commands_lead_from_nothing_to_all_stopped(project: Path) -> None:
    first = tmuxreap("list", "--json")
    assert (first.exit, first.json["results"]) == (6, [])
    hint = first.error["hint"]
    assert all(f"{name} (demo)" in hint for name in NAMES)
    assert "tmuxreap adopt --all" in hint
    assert "mine" not in hint
    adopted = tmuxreap("adopt", "--all", "--json")
    assert (adopted.exit, listed(adopted), adopted.json["registry_made"]) == (0, NAMES, True)
    assert adopted.json["registry"] == str(project / ".hermes" / "agent-sessions.yaml")
    stopped = tmuxreap("stop", "all", "--json")
    assert (stopped.exit, listed(stopped)) == (0, NAMES)
    assert tmux("list-sessions", "-F", "#{session_name}").split() == ["mine"]


def test_an_unregistered_agent_is_reported_until_registered(project: Path) -> None:
    adopted = tmuxreap("adopt", "api", "nobody")
    assert adopted.exit == 3
    assert f"new registry: {project}" in adopted.err
    assert "nobody" in adopted.err
    told = tmuxreap("list")
    assert (
        "2 agents are not registered: docs (demo), web (demo); register with: tmuxreap adopt --all"
        in told.err
    )
    assert [one["name"] for one in tmuxreap("list", "--json").json["unregistered"]] == [
        "docs",
        "web",
    ]
    missed = tmuxreap("stop", "web", "--json")
    assert (missed.exit, missed.codes) == (3, ["session_not_registered"])
    assert "tmuxreap adopt web" in missed.error["hint"]
    assert "tmuxreap stop web --unregistered" in missed.error["hint"]
    assert tmuxreap("adopt", "docs", "web").exit == 0
    assert "not registered" not in tmuxreap("list").err
    assert tmuxreap("stop", "all").exit == 0


def test_adopt_all_shows_the_agents_before_it_takes_them(project: Path) -> None:
    planned = tmuxreap("adopt", "--all", "--dry-run", "--json")
    assert {row["outcome"] for row in planned.json["results"]} == {"planned"}
    assert not (project / ".hermes").exists()
    refused = tmuxreap("adopt", "all", "--json")
    assert (refused.exit, "tmuxreap adopt --all" in refused.error["hint"]) == (2, True)
    assert tmuxreap("adopt").exit == 2
    assert tmuxreap("stop", *NAMES, "--unregistered").exit == 0


def test_a_registry_in_the_home_folder_must_be_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project))
    assert "adopt --all --registry PATH" in tmuxreap("list", "--json").error["hint"]
    refused = tmuxreap("adopt", "--all", "--json")
    assert (refused.exit, os.listdir(project)) == (6, [])
    named = str(project / ".hermes" / "agent-sessions.yaml")
    assert named in refused.error["hint"]
    assert tmuxreap("adopt", "--all", "--registry", named, "--json").exit == 0
    assert tmuxreap("stop", "all").exit == 0


def test_without_tmux_a_list_says_so(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tmuxreap("adopt", "--all").exit == 0
    blind = tmuxreap("list", "--json", env={"PATH": "/nonexistent"})
    assert (blind.exit, blind.error["code"]) == (4, "tmux_missing")
    assert "install tmux" in blind.error["hint"]
    assert {one["live"] for one in blind.json["results"]} == {"unknown"}
    assert tmuxreap("stop", "all").exit == 0


@pytest.mark.parametrize("kind", ["root", "sticky", "a home", "a folder of homes"])
def test_no_registry_is_created_in_a_shared_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    folder = Path("/") if kind == "root" else project
    home = {"a home": project, "a folder of homes": project / "alice"}.get(kind, Path("/home/bob"))
    someone = pwd.struct_passwd(("alice", "x", 1234, 1234, "", str(home), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwall", lambda: [someone])
    monkeypatch.chdir(folder)
    if kind == "sticky":
        project.chmod(0o1777)
    for words in (["start", "x", "--agent", "demo"], ["adopt", "--all"], ["adopt", "api"]):
        refused = tmuxreap(*words, "--json")
        assert (refused.exit, refused.error["code"]) == (6, "registry_not_found")
        assert f"could not create a registry in {folder}: " in refused.error["message"]
        assert "--registry" in refused.error["hint"]
    assert not (folder / ".hermes").exists()
    assert "--registry PATH" in tmuxreap("list", "--json").error["hint"]
    assert tmuxreap("stop", *NAMES, "--unregistered").exit == 0


def test_a_registry_outside_this_folder_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "registry: " not in tmuxreap(
        "adopt", "api", "--registry", ".hermes/mine.yaml"
    ).err.replace("new registry: ", "")
    assert tmuxreap("adopt", "docs", "--registry", ".hermes/mine.yaml").err == ""
    below = project / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    above = project / ".hermes" / "mine.yaml"
    named = tmuxreap("adopt", "web", "--registry", str(above))
    assert f"registry: {above}\n" in named.err
    assert "registry: " not in tmuxreap("adopt", "web", "--registry", str(above), "-q").err
    started = tmuxreap("start", "more", "--agent", "demo", "--registry", str(above))
    assert f"registry: {above}\n" in started.err
    assert tmuxreap("stop", "all", "--registry", str(above)).exit == 0


def test_adopt_all_names_the_servers_where_it_looked(project: Path) -> None:
    assert tmuxreap("adopt", "--all").exit == 0
    tmux("-L", "swarm", "new-session", "-d", "-s", "mate", AGENT)
    try:
        until(
            "the agent was ready",
            lambda: ">" in tmux("-L", "swarm", "capture-pane", "-p", "-t", "=mate:"),
        )
        nobody = tmuxreap("adopt", "--all")
        assert nobody.exit == 0
        assert "no unregistered agent runs on /" in nobody.out
        assert nobody.out.endswith("/swarm: tmuxreap adopt --all --server swarm\n")
        assert tmuxreap("adopt", "--all", "-q").out == ""
    finally:
        tmux("-L", "swarm", "kill-server")
    assert tmuxreap("stop", "all").exit == 0
    registry = project / ".hermes" / "agent-sessions.yaml"
    waited = tmuxreap("wait", "all", "--until", "working")
    assert (waited.exit, waited.out) == (
        0,
        f"nothing to wait for: no session in {registry} is running\n",
    )
    assert tmuxreap("forget", "all").exit == 0
    for verb in ("stop", "kill", "interrupt", "forget"):
        assert tmuxreap(verb, "all").out == f"nothing to {verb} in {registry}\n"
    assert tmuxreap("stop", "all", "-q").out == ""


def test_without_hosts_the_file_that_lists_them_is_named(project: Path) -> None:
    assert tmuxreap("hosts").out.startswith("no hosts yet; list them in ")


@pytest.mark.parametrize("verb", ["stop", "show", "wait --until idle"])
def test_a_name_on_another_server_is_found_there(project: Path, tmp_path: Path, verb: str) -> None:
    """Every door says where it lives, with a command that works there."""
    word, *flags = verb.split()
    other = str(tmp_path / "agent-sessions.yaml")
    tmuxreap("adopt", "api", "--json")
    tmux("-L", "side", "new-session", "-d", "-s", "swarm", AGENT)
    started = ("theirs", "--agent", "demo", "--server", "side", "--registry", other, "--json")
    assert tmuxreap("start", *started).exit == 0
    try:
        failure = tmuxreap(word, "theirs", *flags, "--json").error
        there = shlex.split(failure["hint"].partition("tmuxreap ")[2].partition(";")[0])
        assert there == ["show", "theirs", "--registry", other]
        assert tmuxreap(*there, "--json").exit == 0
        failure = tmuxreap(word, "swarm", *flags, "--json").error
        assert failure["hint"] == "register it with: tmuxreap adopt swarm --server side"
        failure = tmuxreap(word, "nobody", *flags, "--json").error
        assert "no registered session matches" in failure["message"]
    finally:
        tmux("-L", "side", "kill-server")
