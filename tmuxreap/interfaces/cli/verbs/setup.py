"""Declares the verbs about this machine, its agents, and the program itself."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

from tmuxreap.app import real_app
from tmuxreap.core.answers import Script
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli import complete
from tmuxreap.interfaces.cli.boundary import Call, Done, on_terminal
from tmuxreap.interfaces.cli.commands import DryRun, Yes

SHELLS = ("bash", "zsh", "fish")
INSTALL = "install it with all extras, in the checkout: pipx install --force '.[all]'"


def do_doctor(
    call: Call,
) -> Result:
    """Check the setup and print the command that fixes each problem.

    Changes nothing.
    """
    from tmuxreap.commands.doctor.doctor import run

    return run(call.context)


def do_hosts(
    call: Call,
    action: Annotated[
        str | None,
        typer.Argument(
            metavar="[check]",
            help="Check the hosts (the default, and the only action).",
            autocompletion=complete.words("check"),
        ),
    ] = None,
    wanted: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[H...]",
            help="Hosts to check: names, @tag, all or local.",
            autocompletion=complete.hosts,
        ),
    ] = None,
) -> Result:
    """List the hosts in hosts.yaml and whether each answers.

    \b
    tmuxreap hosts                  all of them
    tmuxreap hosts check gpu @big   these
    """
    from tmuxreap.interfaces.remote.near import run

    return run(call.context, action, wanted or [])


def do_mcp(
    call: Call,
    hosts: Annotated[
        bool,
        typer.Option("--hosts", help="Give the tools a `host` argument, to reach other machines."),
    ] = False,
) -> Result:
    """Run the MCP server: these commands as tools for agents."""
    try:
        from tmuxreap.interfaces.mcp.server import serve
    except ImportError as error:
        reason = f"could not serve: the Python SDK of MCP, version 2, is not installed ({error})"
        raise Failure(Code.USAGE, reason, INSTALL) from None
    if on_terminal() and not call.style.quiet:
        print("tmuxreap: waiting for an MCP client on stdin; C-d ends it", file=sys.stderr)
    serve(call.context.given_registry, hosts=hosts)
    raise Done


def do_skills(
    call: Call,
    action: Annotated[
        str,
        typer.Argument(
            metavar="install",
            help="Install the skills (the only action).",
            autocompletion=complete.words("install"),
        ),
    ],
    dest: Annotated[
        str | None,
        typer.Option(
            "--dest",
            metavar="DIR",
            help="Target directory. [.agents/skills, and .claude/skills if .claude exists]",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Copy the skills and scripts into a project.

    They go where its agents look for them.
    """
    from tmuxreap.commands.skills import SkillsRequest, run

    if action != "install":
        reason = f"could not read the command: skills has no action {action!r}"
        raise Failure(Code.USAGE, reason, "the only action: tmuxreap skills install")
    return run(call.context, SkillsRequest(dest, dry_run, yes))


def do_schema(
    verb: Annotated[
        str | None, typer.Argument(metavar="VERB", help="Verb. [the part that all answers share]")
    ] = None,
) -> None:
    """Print the JSON Schema of a verb's --json output.

    \b
    tmuxreap schema stop

    Without a verb: the envelope that all answers share.
    Schemas are open: fields may be added, and readers should ignore unknown ones.
    """
    from tmuxreap.commands.schema import run

    json.dump(run(verb), sys.stdout, indent=2)
    sys.stdout.write("\n")


def do_config(
    call: Call,
) -> Result:
    """Show the defaults and where each one is set.

    \b
    tmuxreap config

    Order: flag, environment variable, config.yaml, built-in default.
    """
    from tmuxreap.commands.config import run

    return run(call.context)


def do_hooks(
    call: Call,
    deed: Annotated[
        str,
        typer.Argument(
            metavar="install|remove",
            help="Install the hooks, or remove them.",
            autocompletion=complete.words("install", "remove"),
        ),
    ],
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="Agent whose settings to change (see `tmuxreap agents`).",
            autocompletion=complete.agents,
        ),
    ],
    dry_run: DryRun = False,
) -> Result:
    """Install or remove hooks that report an agent's state.

    They go into the agent's own settings; remove takes out exactly these.
    """
    from tmuxreap.commands.hooks import HooksAction, HooksRequest, run

    if deed not in (HooksAction.INSTALL.value, HooksAction.REMOVE.value):
        reason = f"could not choose what to do with hooks: {deed!r}"
        raise Failure(Code.USAGE, reason, "say install or remove")
    return run(call.context, HooksRequest(HooksAction(deed), agent, dry_run))


def do_agents(
    call: Call,
) -> Result:
    """List the known agents and what can be done with each."""
    from tmuxreap.commands.agents import run

    return run(call.context)


def do_popup(
    call: Call,
    client: Annotated[
        str | None, typer.Option("--client", metavar="C", help="tmux client to switch on Enter.")
    ] = None,
    socket: Annotated[
        str | None,
        typer.Option("--socket", metavar="PATH", help="Socket of the tmux server of that client."),
    ] = None,
) -> Result:
    """Show the sessions live, and stop or resume them by key.

    The tmux plugin (tmuxreap.tmux) opens it in a popup.
    """
    context = call.context
    if not on_terminal():
        reason = "could not open the popup: standard input is not a terminal"
        raise Failure(Code.USAGE, reason, "run it in one, or in scripts use: tmuxreap list --json")
    try:
        from tmuxreap.interfaces.popup.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("textual", "rich"):
            raise
        reason = "could not open the popup: its extra is not installed (textual)"
        raise Failure(Code.USAGE, reason, INSTALL) from None
    from tmuxreap.interfaces.popup.actions import Client, Desk

    socket = socket or context.settings.tmux_socket
    new_app = partial(real_app, context.settings, context.given_registry, "popup")
    run(Desk(new_app, Client(socket, client) if socket else None))
    return Result("popup", context.registry_name, context.clock.now())


def do_completion(
    call: Call,
    shell: Annotated[
        str,
        typer.Argument(
            metavar="bash|zsh|fish",
            help="Shell to print it for.",
            autocompletion=complete.words(*SHELLS),
        ),
    ],
) -> Result:
    """Print the shell completion script.

    \b
    source <(tmuxreap completion bash)      in ~/.bashrc
    source <(tmuxreap completion zsh)       in ~/.zshrc, after compinit
    tmuxreap completion fish >~/.config/fish/completions/tmuxreap.fish
    """
    if shell not in SHELLS:
        reason = f"could not print the completion for {shell!r}: this shell is not supported"
        raise Failure(Code.USAGE, reason, f"give {', '.join(SHELLS)}")
    script = get_completion_script(prog_name="tmuxreap", complete_var=complete.ASKING, shell=shell)
    lines = tuple(script.splitlines())
    return Result("completion", None, call.context.clock.now(), [Script(shell, lines)])
