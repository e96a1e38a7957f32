"""Declares the command line of `mcp`; `interfaces.mcp` does the work."""

from __future__ import annotations

import sys

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.interfaces.cli.boundary import Call, on_terminal
from tmuxreap.interfaces.cli.parameters import Done, flag
from tmuxreap.interfaces.cli.verbs.options import INSTALL


def command(
    call: Call,
    hosts: bool = flag("--hosts", "Give the tools an argument `host`: other machines."),
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
