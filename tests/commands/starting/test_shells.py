"""The command that runs an agent below a shell."""

from __future__ import annotations

import pytest

from tmuxreap.commands.starting.comeback import FISH_SCRIPT, SCRIPT, below, shell_of_pane

WORDS = ("claude", "--resume", "it's $1")


@pytest.mark.parametrize(
    ("argv", "shell"),
    [
        (["-bash"], ("bash", "-l")),
        (["bash"], ("bash",)),
        (["/usr/bin/zsh", "-l"], ("/usr/bin/zsh", "-l")),
        (["-zsh", "-l"], ("zsh", "-l")),
        (["bash", "--norc", "-i"], ("bash", "--norc", "-i")),
        (["fish"], ("fish",)),
        (["sh", "-c", "claude; bash"], ("/bin/zsh",)),
        (["bash", "start.sh"], ("/bin/zsh",)),
        (["claude"], ()),
        (["node", "/usr/bin/claude"], ()),
        ([], ()),
    ],
)
def test_the_shell_of_a_pane_is_read_from_its_command_line(
    argv: list[str], shell: tuple[str, ...]
) -> None:
    assert shell_of_pane(argv, "/bin/zsh") == shell


def test_a_script_without_a_known_shell_comes_back_below_its_own() -> None:
    assert shell_of_pane(["dash", "-c", "x; y"], None) == ("dash",)


@pytest.mark.parametrize("shell", [("bash", "-l"), ("zsh",), ("fish",), ("tcsh", "-l")])
def test_the_shell_of_a_pane_is_recognised_again(shell: tuple[str, ...]) -> None:
    argv = below(shell, WORDS)
    assert argv[-3:] == WORDS
    assert shell_of_pane(argv, "/bin/other") == shell


def test_each_shell_is_asked_in_its_own_words() -> None:
    name = SCRIPT + "bash -l"
    assert below(("bash", "-l"), WORDS) == ("bash", "-l", "-i", "-c", name, "bash", *WORDS)
    assert below(("fish",), WORDS) == ("fish", "-i", "-c", FISH_SCRIPT + "fish", *WORDS)
    assert below(("tcsh",), WORDS) == ("sh", "-i", "-c", SCRIPT + "tcsh", "sh", *WORDS)
    assert below(("bash", "-i"), WORDS)[:3] == ("bash", "-i", "-c")


def test_without_a_shell_the_command_is_unchanged() -> None:
    assert below((), WORDS) == WORDS
