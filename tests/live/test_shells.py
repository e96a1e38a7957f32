"""Completion in the real shells: in a terminal, with a user's keys."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.real import until
from tests.workflows import Project

pytestmark = pytest.mark.live

REGISTRY = """\
tmux_sessions:
  - {name: shop-one, status: running, agent: demo, tags: [acme]}
  - {name: other, status: stopped, agent: demo}
  - {name: two words, status: running}
"""


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture
def project(tmux_socket: str, tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.registry.parent.mkdir()
    made.registry.write_text(REGISTRY)
    return made


class Terminal:
    """A shell in a pane, without user settings."""

    def __init__(self, project: Project, shell: str, setup: str) -> None:
        self.project = project
        project.run(f"tmux -f /dev/null new-session -d -x 100 -y 30 -s shell '{shell}'")
        self.types(f"PS1='$ '; {setup}; clear; echo rea''dy", "Enter")
        self.shows("ready")

    def types(self, text: str, *keys: str) -> None:
        quoted = text.replace("'", "'\\''")
        self.project.run(f"tmux send-keys -t '=shell:' -l '{quoted}'")
        for key in keys:
            self.project.run(f"tmux send-keys -t '=shell:' {key}")

    def shows(self, text: str) -> None:
        until(
            f"{text!r} in\n{self.project.screen('shell')}",
            lambda: text in self.project.screen("shell"),
        )

    def clears(self) -> None:
        self.project.run("tmux send-keys -t '=shell:' C-u C-l")


SHELLS = [
    pytest.param(
        "bash --norc --noprofile", "source <(tmuxreap completion bash)", marks=needs("bash")
    ),
    pytest.param(
        "zsh -f",
        "autoload -Uz compinit; compinit -u -D; source <(tmuxreap completion zsh)",
        marks=needs("zsh"),
    ),
]


@pytest.mark.parametrize(("shell", "setup"), SHELLS)
def test_shells_complete_verbs_targets_and_flags(shell: str, setup: str, project: Project) -> None:
    terminal = Terminal(project, shell, setup)
    for begun, done in (
        ("recon", "tmuxreap reconcile"),
        ("stop sh", "tmuxreap stop shop-one"),
        ("stop tag:a", "tmuxreap stop tag:acme"),
        ("stop --purge", "tmuxreap stop --purge-conversation"),
        ("list --status ter", "tmuxreap list --status terminated"),
        ("stop tw", "tmuxreap stop two\\ words"),
        ("list --registry .her", "tmuxreap list --registry .hermes/"),
    ):
        terminal.types(f"tmuxreap {begun}", "Tab")
        terminal.shows(done)
        terminal.clears()


@needs("zsh")
def test_the_state_is_shown_beside_the_name(project: Project) -> None:
    terminal = Terminal(project, *SHELLS[1].values)
    terminal.types("tmuxreap show ", "Tab", "Tab")
    terminal.shows("running, demo")
    terminal.shows("stopped, demo")


@needs("fish")
def test_fish_completes_verbs_and_sessions(project: Project) -> None:
    source = "tmuxreap completion fish | source; complete -C"

    def offered(line: str) -> list[str]:
        return project.run(f"fish --no-config -c '{source} \"{line}\"'").splitlines()

    assert offered("tmuxreap stop sh") == ["shop-one\trunning, demo"]
    assert offered("tmuxreap stop tag:") == ["tag:acme\t1 session"]
    (offer,) = offered("tmuxreap recon")
    assert offer.startswith("reconcile\tCompare the registry with what runs")
    assert ".hermes/" in offered("tmuxreap list --registry .h")
    assert len(offered("tmuxreap ")) > 10
