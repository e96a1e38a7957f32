"""The words that start an agent: anew with an ID of ours, or in the conversation that it was in.
Pure."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence

from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.programs import program_names

_SHELL_SYNTAX = re.compile(r"[|&;<>()$`\\\n*?~#!{}\[\]]")


def launch_words(profile: Profile | None, command: Sequence[str], conversation: str) -> list[str]:
    """The user's command, with a conversation ID where the agent takes one and the user has not
    given one."""
    words = list(command)
    if (
        profile is None
        or not profile.launch
        or not _is_the_agent(profile, words)
        or _names_conversation(profile, words)
    ):
        return words
    return words + _filled(profile.launch, conversation)


def resume_words(profile: Profile, start_command: str | None, conversation: str) -> list[str]:
    """The resume command of this conversation, with the flags that the session was started with;
    never with its prompt, which would be done again."""
    return _base(profile, start_command) + _filled(profile.resume, conversation)


def resume_line(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """As one types it into a shell."""
    prefix = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
    return prefix + shlex.join(words)


def launched_with(profile: Profile, words: Sequence[str], conversation: str) -> bool:
    """The ID is ours: it was put on the command line by `launch_words`."""
    filled = _filled(profile.launch, conversation)
    return bool(filled) and list(words[-len(filled) :]) == filled


def _base(profile: Profile, start_command: str | None) -> list[str]:
    if not start_command or _SHELL_SYNTAX.search(start_command):
        return list(profile.command)
    try:
        words = shlex.split(start_command)
    except ValueError:
        return list(profile.command)
    if not _is_the_agent(profile, words):
        return list(profile.command)
    return _without_prompt(profile, _without_ids(profile, words))


def _without_prompt(profile: Profile, words: list[str]) -> list[str]:
    """Only flags, and what belongs to them: all else was said to the agent."""
    begin = next(n for n in range(1, len(words) + 1) if _is_the_agent(profile, words[:n]))
    kept, values = words[:begin], 0.0
    for word in words[begin:]:
        if word == "--":
            break
        is_flag = word.startswith("-") and word != "-"
        flag, is_whole, _ = word.partition("=")
        said = is_flag and flag in profile.flags.prompt
        if (is_flag and not said) or (not is_flag and values > 0):
            kept.append(word)
        values = _values_of(profile, flag, bool(is_whole)) if is_flag else values - 1
    return kept


def _values_of(profile: Profile, flag: str, is_whole: bool) -> float:
    """How many words after it are its own; of a prompt none is kept."""
    flags = profile.flags
    if is_whole or flag in flags.alone or flag in flags.prompt:
        return 0
    return math.inf if flag in flags.many else 1


def _is_the_agent(profile: Profile, words: Sequence[str]) -> bool:
    """Not a script of the user's around it: that may not hand flags on."""
    return any(name in profile.process for name in program_names(words, "", None))


def _names_conversation(profile: Profile, words: Sequence[str]) -> bool:
    return len(_without_ids(profile, list(words))) < len(words)


def _without_ids(profile: Profile, words: list[str]) -> list[str]:
    """Without the flags that chose a conversation before."""
    kept: list[str] = []
    rest = words
    while rest:
        size = max(_size(profile.resume, rest), _size(profile.launch, rest))
        if not size:
            kept.append(rest[0])
        rest = rest[max(size, 1) :]
    return kept


def _size(template: Sequence[str], words: Sequence[str]) -> int:
    """How many words at the start are this template filled in; 0 for none. `--flag=ID` is the same
    as `--flag ID`."""
    if not template:
        return 0
    flag = template[0].split("=")[0].split("{")[0]
    if words[0] == flag:
        return 2
    return 1 if flag.startswith("--") and words[0].startswith(flag + "=") else 0


def _filled(template: Sequence[str], conversation: str) -> list[str]:
    return [word.replace("{id}", conversation) for word in template]
