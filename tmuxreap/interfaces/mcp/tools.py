"""Owns the MCP tools as data: the arguments, annotations and verb of each.

Never speaks the protocol, and never decides what a verb does."""

from __future__ import annotations

from tmuxreap.core.values import frozen, replace
from tmuxreap.interfaces.mcp import ending, looking, starting
from tmuxreap.interfaces.mcp.arguments import Arguments, with_host


@frozen
class Tool:
    name: str
    title: str
    arguments: type[Arguments]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    @property
    def verb(self) -> str:
        return self.arguments.verb


ENDS: dict[str, bool] = {"destructive": True, "idempotent": True}
ALL = (
    Tool("list_sessions", "List sessions", looking.ListSessions, read_only=True),
    Tool("show_session", "Show sessions", looking.ShowSession, read_only=True),
    Tool("events", "Show the history", looking.Events, read_only=True),
    Tool("wait_session", "Wait for sessions", looking.WaitSession, read_only=True),
    Tool("doctor", "Check the setup", looking.Doctor, read_only=True),
    Tool("start_session", "Start a session", starting.StartSession),
    Tool("adopt_session", "Register sessions", starting.AdoptSession, idempotent=True),
    Tool("resume_session", "Resume sessions", starting.ResumeSession),
    Tool("interrupt_session", "End turns", ending.InterruptSession, idempotent=True),
    Tool("stop_session", "Stop sessions", ending.StopSession, **ENDS),
    Tool("kill_session", "Kill sessions", ending.KillSession, **ENDS),
    Tool("reap", "End what evidence condemns", ending.Reap, **ENDS),
    Tool("remove_session", "Forget ended sessions", ending.RemoveSession, **ENDS),
    Tool("reconcile", "Settle what is true", starting.Reconcile, idempotent=True),
)
TOOLS = {tool.name: tool for tool in ALL}


def tools(*, hosts: bool) -> dict[str, Tool]:
    """Return the tools, with or without the argument `host`."""
    if not hosts:
        return TOOLS
    return {
        name: replace(tool, arguments=with_host(tool.arguments)) for name, tool in TOOLS.items()
    }
