"""Declares the command line of `completion`; `commands.completion` does the work."""

from __future__ import annotations

from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.parameters import argument


def command(call: Call, shell: str = argument("bash|zsh|fish", "Shell to print it for.")) -> Result:
    """Print the shell completion script.

    \b
    source <(tmuxreap completion bash)      in ~/.bashrc
    source <(tmuxreap completion zsh)       in ~/.zshrc, after compinit
    tmuxreap completion fish >~/.config/fish/completions/tmuxreap.fish
    """
    from tmuxreap.commands.completion import run

    return run(call.context, shell)
