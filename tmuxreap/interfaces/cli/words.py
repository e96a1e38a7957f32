"""Owns the list of verbs, in the groups of the help, and the hints for words of other programs.

Never decides what a verb does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tmuxreap.core.errors import Code, Failure

GROUPS = {
    "Everyday": "start adopt list show stop resume attach wait interrupt",
    "Upkeep": "kill reap forget protect unprotect reconcile watch events doctor hosts",
    "For agents": "heartbeat mcp skills schema",
    "Set-up": "config hooks agents popup completion",
}
SYNONYMS = {
    "list": "status ps",
    "forget": "rm delete remove",
    "stop": "end quit exit",
    "resume": "restore",
    "attach": "open",
    "start": "new run",
    "events": "logs log history",
}
TAKING_ALL = ("list", "show", "stop", "kill", "resume", "forget")


def with_help_flag(argv: Sequence[str]) -> list[str]:
    """Turn `help VERB` into `VERB --help`."""
    words = list(argv)
    if words[:1] == ["help"]:
        return [*(word for word in words[1:2] if not word.startswith("-")), "--help"]
    return words


def verb_of(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")


def own_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words before `--`; the others are a command of the user's."""
    return words[: words.index("--")] if "--" in words else words


def check_words(words: Sequence[str], known: Sequence[str]) -> None:
    """Refuse an unknown verb, and a second `--registry`: the last would silently win."""
    verb = verb_of(words)
    if verb and verb not in known:
        from difflib import get_close_matches  # only unknown verbs need it

        meant = [ours for ours, others in SYNONYMS.items() if verb in others.split()]
        suggestion = next(iter(meant or get_close_matches(verb, known, 1)), None)
        hint = (
            f"did you mean: tmuxreap {suggestion}"
            if suggestion
            else "see all verbs: tmuxreap --help"
        )
        raise Failure(Code.USAGE, f"could not read the command: there is no verb {verb!r}", hint)
    given = [word for word in own_words(words) if word.partition("=")[0] == "--registry"]
    if len(given) > 1:
        reason = "could not read the command: --registry is given twice"
        raise Failure(Code.USAGE, reason, "give one; each registry needs a command of its own")


def usage(words: Sequence[str], error: Any) -> Failure:
    """Turn a parser error into a Failure that refers to the verb's help."""
    verb = verb_of(words)
    reason = error.format_message()
    hint = f"see: tmuxreap {verb} --help" if verb else "see: tmuxreap --help"
    if getattr(error, "option_name", None) == "--all" and verb in TAKING_ALL:
        hint = f"to {verb} every session: tmuxreap {verb} all"
    return Failure(Code.USAGE, f"could not read the command: {reason}", hint)
