"""What agents call the moments of their work, and how each is answered that is to stop: tables, one
for all agents.

Imported by what must answer quickly: imports nothing itself. Pure."""

from __future__ import annotations

SESSION_START, SESSION_END, PROMPT, TURN_END = "session_start", "session_end", "prompt", "turn_end"
TOOL_BEFORE, TOOL_AFTER, PERMISSION, HEARTBEAT = (
    "tool_before",
    "tool_after",
    "permission",
    "heartbeat",
)
UNKNOWN = "unknown"

WORKING, WAITING, IDLE, ENDED, UNTOLD = "working", "waiting", "idle", "ended", ""
STATES = (WORKING, WAITING, IDLE)  # those that a heartbeat may tell

# An agent's own word, without capitals and signs between: what it means, and the state that the
# agent is in then.
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

# Of an event that only says what it is about: what that is.
ABOUT: dict[str, tuple[str, str]] = {
    "permissionprompt": (PERMISSION, WAITING),
    "toolpermission": (PERMISSION, WAITING),
    "elicitationdialog": (PERMISSION, WAITING),
    "idleprompt": (TURN_END, IDLE),
}

# Where the facts of an event stand, whoever tells it.
EVENT_FIELDS = ("hook_event_name", "hookEventName", "event_name", "eventName", "event", "type")
ABOUT_FIELDS = ("notification_type", "notificationType")
CONVERSATION_FIELDS = (
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "thread-id",
    "threadId",
)
TOOL_FIELDS = ("tool_name", "toolName")


def meaning(word: str, about: str) -> tuple[str, str]:
    """The kind of event and the state of the agent; an event that we do not know keeps its own
    word."""
    return ABOUT.get(plain(about)) or EVENTS.get(plain(word)) or (word or UNKNOWN, UNTOLD)


def plain(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def halt(kind: str, word: str, reason: str) -> dict[str, object] | None:
    """The answer after which the agent starts no other tool and ends its turn; None for events
    without a say.

    Agents read what they know of it: to go on no further, to block what is about to begin, and why.
    """
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


# Programs that many agents are: who speaks from one of them may be another agent.
RUNTIMES = frozenset({"node", "bun", "deno"})


def may_be_agent(program: str, agent: str) -> bool:
    """Of such a program nothing tells whether it is this agent or another of its kind with the same
    environment."""
    return program == agent or program in RUNTIMES
