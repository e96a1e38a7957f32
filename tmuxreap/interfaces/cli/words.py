"""How the command line is spoken to: its verbs in groups, the words of other programs, and what
they mean here.

Decides nothing about what a verb does."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.core.errors import Code, Failure

GROUPS = {
    "Everyday": "start adopt list show stop resume attach wait interrupt",
    "Upkeep": "kill reap forget protect unprotect reconcile watch events doctor hosts",
    "For agents": "heartbeat mcp skills schema",
    "Set-up": "config hooks agents popup completion",
}
UNTOLD = ("hook", "ls")  # called by programs, and another name of a verb
SYNONYMS = {
    "status": "list",
    "ps": "list",
    "rm": "forget",
    "delete": "forget",
    "remove": "forget",
    "end": "stop",
    "quit": "stop",
    "exit": "stop",
    "restore": "resume",
    "open": "attach",
    "new": "start",
    "run": "start",
    "logs": "events",
    "log": "events",
    "history": "events",
}
OF_ALL = ("list", "show", "stop", "kill", "resume", "forget")


def as_called(argv: Sequence[str]) -> list[str]:
    """`help VERB` is `VERB --help`."""
    words = list(argv)
    if words[:1] == ["help"]:
        return [*(word for word in words[1:2] if not word.startswith("-")), "--help"]
    return words


def check_words(words: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a verb that there is not, and a registry that is given twice: the last would win
    without a word."""
    verb = next((word for word in words if not word.startswith("-")), "")
    if verb and verb not in known:
        from difflib import get_close_matches  # who knows the verbs needs none

        near = SYNONYMS.get(verb) or next(iter(get_close_matches(verb, known, 1)), None)
        hint = f"did you mean: tmuxreap {near}" if near else "see all verbs: tmuxreap --help"
        raise Failure(Code.USAGE, f"could not read the command: there is no verb {verb!r}", hint)
    ours = words[: words.index("--")] if "--" in words else words
    if sum(word == "--registry" or word.startswith("--registry=") for word in ours) > 1:
        reason = "could not read the command: --registry is given twice"
        raise Failure(Code.USAGE, reason, "give one; each registry needs a command of its own")


def usage(words: Sequence[str], error: Exception) -> Failure:
    """What could not be read, and where that verb is described."""
    verb = next((word for word in words if not word.startswith("-")), "")
    told = getattr(error, "format_message", None)  # of the parser's own errors
    reason = str(told()) if told else str(error)
    hint = f"see: tmuxreap {verb} --help" if verb else "see: tmuxreap --help"
    if getattr(error, "option_name", None) == "--all" and verb in OF_ALL:
        hint = f"to {verb} every session: tmuxreap {verb} all"
    return Failure(Code.USAGE, f"could not read the command: {reason}", hint)
