"""The events of agents' hooks, and the answers that stop an agent: tables shared by all agents.

Imports nothing, since hooks must answer quickly. Never does I/O."""

from __future__ import annotations

SESSION_START = "session_start"
SESSION_END = "session_end"
PROMPT = "prompt"
TURN_END = "turn_end"
TOOL_BEFORE = "tool_before"
TOOL_AFTER = "tool_after"
PERMISSION = "permission"
HEARTBEAT = "heartbeat"
UNKNOWN = "unknown"
FRESH_S = 120.0  # a report counts this long, even if its agent has drawn something since

WORKING = "working"
WAITING = "waiting"
IDLE = "idle"
ENDED = "ended"
NO_STATE = ""
STATES = (WORKING, WAITING, IDLE)  # the states that a heartbeat may report

# By an agent's own event name, in lower case and without separators: its kind, and the state of the
# agent.
EVENTS: dict[str, tuple[str, str]] = {
    "sessionstart": (SESSION_START, IDLE),
    "sessionend": (SESSION_END, ENDED),
    "userpromptsubmit": (PROMPT, WORKING),
    "userpromptsubmitted": (PROMPT, WORKING),
    "beforesubmitprompt": (PROMPT, WORKING),
    "beforeagent": (PROMPT, WORKING),
    "pretooluse": (TOOL_BEFORE, WORKING),
    "beforetool": (TOOL_BEFORE, WORKING),
    "posttooluse": (TOOL_AFTER, WORKING),
    "posttoolusefailure": (TOOL_AFTER, WORKING),
    "aftertool": (TOOL_AFTER, WORKING),
    "permissionrequest": (PERMISSION, WAITING),
    "elicitation": (PERMISSION, WAITING),
    "approvalrequested": (PERMISSION, WAITING),
    "stop": (TURN_END, IDLE),
    "stopfailure": (TURN_END, IDLE),
    "afteragent": (TURN_END, IDLE),
    "agentstop": (TURN_END, IDLE),
    "agentturncomplete": (TURN_END, IDLE),
}

# The same for events with a generic name, by what they are about.
ABOUT: dict[str, tuple[str, str]] = {
    "permissionprompt": (PERMISSION, WAITING),
    "toolpermission": (PERMISSION, WAITING),
    "elicitationdialog": (PERMISSION, WAITING),
    "idleprompt": (TURN_END, IDLE),
}

# Where the facts of an event are, for all agents.
EVENT_FIELDS = ("hook_event_name", "hookEventName", "event_name", "eventName", "event", "type")
ABOUT_FIELDS = ("notification_type", "notificationType")
CONVERSATION_FIELDS = (
    *("session_id", "sessionId", "conversation_id", "conversationId"),
    *("thread_id", "thread-id", "threadId"),
)
TOOL_FIELDS = ("tool_name", "toolName")


def meaning(word: str, about: str) -> tuple[str, str]:
    """Return the kind of an event and the state of the agent; an unknown event keeps its name."""
    return ABOUT.get(plain(about)) or EVENTS.get(plain(word)) or (word or UNKNOWN, NO_STATE)


def plain(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def halt(kind: str, word: str, reason: str) -> dict[str, object] | None:
    """Return the answer that makes the agent end its turn without another tool; None for events
    whose answer is ignored.

    Each agent reads the keys that it knows: not to continue, to block the pending step, and why."""
    if kind not in (PROMPT, TOOL_BEFORE, TOOL_AFTER, TURN_END, PERMISSION):
        return None
    answer: dict[str, object] = {"continue": False, "stopReason": reason}
    if kind == PROMPT:
        answer |= {"decision": "block", "reason": reason}
    if kind == TOOL_BEFORE:
        denied = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        answer |= {"decision": "block", "reason": reason, **denied}
        answer["hookSpecificOutput"] = {"hookEventName": word, **denied}
    if kind == PERMISSION:
        decision = {"behavior": "deny", "message": reason, "interrupt": True}
        answer["hookSpecificOutput"] = {"hookEventName": word, "decision": decision}
    return answer


# Programs that many agents run in: a hook called from one may be of another agent.
RUNTIMES = frozenset({"node", "bun", "deno"})


def may_be_agent(program: str, agent: str) -> bool:
    """Tell whether a program may be this agent: a runtime may be this one, or another with the same
    environment."""
    return program == agent or program in RUNTIMES
