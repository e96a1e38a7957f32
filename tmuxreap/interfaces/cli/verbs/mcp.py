"""Declares the command line of `mcp`; `interfaces.mcp` does the work."""

from __future__ import annotations

import sys
from typing import Annotated

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import answer, on_terminal
from tmuxreap.interfaces.cli.parameters import Done, Option
from tmuxreap.interfaces.cli.verbs.options import Json, Quiet, Registry
from tmuxreap.sessions.context import Context


def command(
    hosts: Annotated[
        bool, Option("--hosts", help="Give the tools an argument `host`: other machines.")
    ] = False,
    registry: Registry = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the MCP server: these commands as tools for agents."""

    def work(context: Context) -> Result:
        try:
            from tmuxreap.interfaces.mcp.server import serve
        except ImportError as error:
            raise _no_sdk(error) from None
        if on_terminal() and not quiet:
            print("tmuxreap: waiting for an MCP client on stdin; C-d ends it", file=sys.stderr)
        serve(registry, hosts=hosts)
        raise Done

    answer("mcp", registry, json, quiet, work)


def _no_sdk(error: ImportError) -> Failure:
    return Failure(
        Code.USAGE,
        f"could not serve: the Python SDK of MCP, version 2, is not installed ({error})",
        "install it with all extras, in the checkout: pipx install --force '.[all]'",
    )
