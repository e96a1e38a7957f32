"""Agents are data: the package's own file, the user's over it, and the names of processes."""

from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path

import pytest

from tmuxreap.agents.load import Profiles, load_profiles
from tmuxreap.agents.profiles import Background, Key, Pause, Profile, Text
from tmuxreap.agents.screens import State
from tmuxreap.core.values import as_dict


@pytest.fixture(scope="module")
def ours() -> Profiles:
    return load_profiles(None)


def test_an_agent_is_recognised_by_its_program_and_not_by_an_argument(ours: Profiles) -> None:
    claude = ours.agents["claude"]
    assert claude.recognises(("node", "/x/claude"), "node", "/usr/bin/node")
    assert claude.recognises((), "claude", None)
    assert not claude.recognises(("grep", "claude"), "grep", "/bin/grep")
    assert not claude.recognises(("tail", "-f", "claude"), "tail", None)
    assert not claude.recognises(("bash", "-c", "echo claude"), "bash", None)


def test_an_agent_is_recognised_by_name_and_by_command(ours: Profiles) -> None:
    assert ours.by_name_suffix("acme-creator-claude") == "claude"
    assert ours.by_name_suffix("claude-notes") is None
    assert ours.by_command(["node", "/x/gemini"]) == "gemini"
    assert ours.by_command(["vim"]) is None
    assert ours.of(None) is None
    assert ours.of("nobody") is None


def test_the_demo_agents_block_holds_its_keys(ours: Profiles) -> None:
    demo = ours.agents["demo"]
    assert demo.idle_keys == (Text("/exit"), Pause(1.0), Pause(0.06, whole=True), Key("Enter"))
    assert demo.safe_keys[0] == Key("Escape")
    assert isinstance(demo.safe_keys[1], Pause), "an Escape that a key follows at once is Alt"
    safe = ("-P",) if sys.version_info >= (3, 11) else ()
    assert demo.command == (sys.executable, *safe, "-m", "tmuxreap.demo_agent")
    assert set(demo.screens) == {State.IDLE, State.DRAFT, State.BUSY, State.DIALOG}
    assert (demo.store_variable, demo.store_default) == ("TMUXREAP_DEMO_HOME", "~/.tmuxreap-demo")


def test_only_agents_that_were_run_for_real_get_keys(ours: Profiles) -> None:
    for profile in ours.agents.values():
        assert profile.has_keys <= (profile.verified is not None), profile.name


def test_no_profile_sends_a_bare_enter_or_an_escape_that_merges_with_the_next_key(
    ours: Profiles,
) -> None:
    for profile in ours.agents.values():
        for steps in (profile.idle_keys, profile.safe_keys, profile.again_keys):
            for step, following in zip_longest(steps, steps[1:]):
                if step == Key("Escape"):
                    assert isinstance(following, Pause), profile.name
        assert Key("Enter") not in (*profile.safe_keys, *profile.again_keys), profile.name


def test_a_shared_program_is_spared_by_its_command(ours: Profiles) -> None:
    def spared(names: tuple[str, ...], command: str) -> bool:
        return any(spare.matches(names, command) for spare in ours.common_spare)

    assert spared(("ssh-agent",), "ssh-agent -s")
    assert spared(("java",), "java -cp x org.gradle.launcher.daemon.bootstrap.GradleDaemon")
    assert not spared(("java",), "java -jar server.jar")
    assert not spared(("node",), "node firefox")


@pytest.mark.parametrize(
    ("name", "command", "told"),
    [
        ("code", "/usr/share/code/code --no-sandbox", True),
        ("code", "/srv/visual-studio-code/code .", True),
        ("code", "/srv/bin/code --run", False),  # another program of that name
        ("java", "/srv/idea/jbr/bin/java -Didea.paths.selector=IdeaIC2026.2 Main", True),
        ("idea", "/srv/idea/bin/idea x.py", True),
        ("idea", "idea", False),
        ("gvim", "gvim x.py", True),
        ("vim", "vim x.py", False),
        ("redis-server", "redis-server *:6379", False),
    ],
)
def test_a_persons_windows_are_shared(ours: Profiles, name: str, command: str, told: bool) -> None:
    assert any(spare.matches((name,), command) for spare in ours.common_spare) is told


def test_the_users_file_is_merged_over_ours(tmp_path: Path) -> None:
    mine = tmp_path / "agents.yaml"
    mine.write_text(
        "agents:\n  demo: {leave_s: 9, keys: {idle: [C-d]}}\n  mine: {process: [mine], command:"
        " [mine, '{python}'], conversation: {locators: [launch]}}\n"
    )
    profiles = load_profiles(mine)
    demo = profiles.agents["demo"]
    assert (demo.leave_s, demo.idle_keys) == (9.0, (Key("C-d"),))
    assert demo.safe_keys == load_profiles(None).agents["demo"].safe_keys
    assert profiles.agents["mine"].command == ("mine", sys.executable)
    assert profiles.agents["mine"].leave_s == 3.0
    assert not profiles.agents["mine"].has_keys
    assert "claude" in profiles.agents


def test_a_missing_user_file_changes_nothing(tmp_path: Path) -> None:
    assert load_profiles(tmp_path / "none.yaml").agents.keys() == load_profiles(None).agents.keys()


def test_a_profile_without_words_asks_for_nothing() -> None:
    values = [*as_dict(Profile("x")).values(), *as_dict(Background()).values()]
    assert True not in [it for it in values if isinstance(it, bool)]
    assert Background().respawn_s == 0
