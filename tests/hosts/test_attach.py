"""`attach NAME@HOST` attaches this terminal to a remote session, by ssh."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.fakes import Story
from tests.hosts.conftest import GONE, PROGRAM, Fleet
from tmuxreap.hosts.engines import AT, engine_of, terminal_words
from tmuxreap.hosts.file import Host


def test_a_name_is_read_by_the_shell_there_unchanged() -> None:
    host = Host("gpu", ssh="me@gpu-7", program="~/bin/tmuxreap", registry="a b.yaml")
    words = terminal_words(host, "$(reboot); x")
    assert words == (
        *("ssh", "-t", "--", "me@gpu-7", "~/bin/tmuxreap", "attach"),
        *("--registry", "'a b.yaml'", "--", "'$(reboot); x'"),
    )
    assert terminal_words(Host("dev", via=("docker", "exec", "-i", "dev")), "x") is None


def attached(fleet: Fleet, name: str) -> tuple[int, str]:
    """Run it on a terminal, with an ssh that prints its arguments."""
    folder = fleet.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "ssh").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (folder / "ssh").chmod(0o755)
    mine, its = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TMUX", "XDG"))}
    done = subprocess.run(
        [str(PROGRAM), "attach", name],
        env={**kept, "HOME": str(fleet.home("me")), "PATH": f"{folder}:{os.environ['PATH']}"},
        cwd=fleet.home("me"),
        stdin=its,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(mine)
    os.close(its)
    return done.returncode, done.stdout + done.stderr


def test_a_terminal_goes_to_another_host(fleet: Fleet) -> None:
    fleet.configure({"far": {"ssh": "far-1", "program": "tmuxreap"}})
    assert attached(fleet, "web@far") == (0, "-t|--|far-1|tmuxreap|attach|--|web|")


@pytest.mark.parametrize(
    ("name", "said"), [("web@a", "not reached by ssh"), ("web@nowhere", "could not find")]
)
def test_attach_says_why_a_terminal_cannot_go_there(fleet: Fleet, name: str, said: str) -> None:
    status, told = attached(fleet, name)
    assert status != 0
    assert said in told


def test_a_row_of_this_machine_wins(fleet: Fleet) -> None:
    fleet.configure({"far": {"ssh": "far-1"}})
    fleet.register("me", {"web@far": GONE})
    status, told = attached(fleet, "web@far")
    assert (status, "far-1" in told) == (3, False)
    assert "web@far" in told
    assert Path(fleet.registry("me")).exists()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("tmuxreap", ("tmuxreap", AT)),
        ("~/tmuxreap", ("sh", "-c", f"exec ~/tmuxreap {AT}")),
    ],
)
def test_only_a_home_needs_a_shell_in_a_container(
    tmp_path: Path, program: str, words: tuple[str, ...]
) -> None:
    host = Host("dev", via=("docker", "exec", "-i", "dev"), program=program)
    engine = engine_of(host, Story(tmp_path).app().settings)
    assert engine.words == ("docker", "exec", "-i", "dev", *words)
