"""Declares the command line of `completion`; `commands.completion` does the work."""

from __future__ import annotations

from typing import Annotated

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer
from tmuxreap.interfaces.cli.parameters import Argument
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet
from tmuxreap.sessions.context import Context


def command(
    shell: Annotated[str, Argument(help="Shell to print it for.", metavar="bash|zsh|fish")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the shell completion script.

    \b
    source <(tmuxreap completion bash)      in ~/.bashrc
    source <(tmuxreap completion zsh)       in ~/.zshrc, after compinit
    tmuxreap completion fish >~/.config/fish/completions/tmuxreap.fish
    """

    def work(context: Context) -> Result:
        from tmuxreap.commands.completion import run

        return run(context, shell)

    answer("completion", None, json, quiet, work)
