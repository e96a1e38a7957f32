"""Builds the commands that start an agent: with a new ID of ours, or in an old conversation. Never
does I/O."""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Mapping, Sequence

from tmuxreap.agents.profiles import Flags, Profile
from tmuxreap.agents.programs import SHELLS, program_names
from tmuxreap.core.masking import mask_secrets
from tmuxreap.core.values import frozen

_SHELL_SYNTAX = re.compile(r"[|&;<>()$`\\\n*?~#!{}\[\]\"']")
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")


def launch_words(profile: Profile | None, command: Sequence[str], conversation: str) -> list[str]:
    """Return the user's command, with a conversation ID if the agent accepts one and the user gave
    none."""
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
    """Return the command that resumes this conversation, with the flags of the session's start;
    never with its prompt, which would run again."""
    return _start_words(profile, start_command) + _filled(profile.resume, conversation)


@frozen
class Repeated:
    """What of a running agent's command line a resume may repeat."""

    words: tuple[str, ...]
    secret: tuple[str, ...] = ()  # the flags left out, as their words hold a secret
    unknown: bool = False  # nothing is known of its flags, and it has some


def repeatable(profile: Profile, argv: Sequence[str]) -> Repeated | None:
    """Return the program and the flags of a running agent, without its conversation, its prompt and
    what holds a secret; None if the command line is not the agent's."""
    if not _is_the_agent(profile, argv):
        return None
    program = argv[: _program_words(profile, argv)]
    if profile.flags == Flags():
        return Repeated(tuple(program), unknown=len(argv) > len(program))
    words = _without_prompt(profile, _without_ids(profile, list(argv)))
    kept = list(program)
    secret: list[str] = []
    for flag, *values in _with_values(words[len(program) :]):
        if _holds_secret(flag, values):
            secret.append(flag.partition("=")[0])
        else:
            kept += [flag, *values]
    return Repeated(tuple(kept), tuple(secret))


def _with_values(words: Sequence[str]) -> list[list[str]]:
    """Return each flag with the words that belong to it."""
    groups: list[list[str]] = []
    for word in words:
        if groups and not word.startswith("-"):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def _holds_secret(flag: str, values: Sequence[str]) -> bool:
    said = [flag, *values, *(f"{flag}={value}" for value in values)]
    return any(mask_secrets(words) != words for words in said)


def resume_line(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the command line for a shell."""
    prefix = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
    return prefix + shlex.join(words)


def launched_with(profile: Profile, words: Sequence[str], conversation: str) -> bool:
    """Tell whether `launch_words` put this ID on the command line."""
    filled = _filled(profile.launch, conversation)
    return bool(filled) and list(words[-len(filled) :]) == filled


def _start_words(profile: Profile, start_command: str | None) -> list[str]:
    if not start_command or _SHELL_SYNTAX.search(_QUOTED.sub("", start_command)):
        return list(profile.command)
    try:
        words = shlex.split(start_command)
    except ValueError:
        return list(profile.command)
    if not _is_the_agent(profile, words):
        return list(profile.command)
    return _without_prompt(profile, _without_ids(profile, words))


def _without_prompt(profile: Profile, words: list[str]) -> list[str]:
    """Return the command with only flags and their values: any other word is part of a prompt."""
    begin = _program_words(profile, words)
    kept = words[:begin]
    values = 0.0
    for word in words[begin:]:
        if word == "--":
            break
        is_flag = word.startswith("-") and word != "-"
        flag, is_whole, _ = word.partition("=")
        is_prompt = is_flag and flag in profile.flags.prompt
        if (is_flag and not is_prompt) or (not is_flag and values > 0):
            kept.append(word)
        if is_flag:
            values = _kept_values(profile, flag, bool(is_whole))
        else:
            values = values - 1
    return kept


def _program_words(profile: Profile, words: Sequence[str]) -> int:
    """Return how many words at the start name the program, as in `node /usr/bin/agent`."""
    return next(n for n in range(1, len(words) + 1) if _is_the_agent(profile, words[:n]))


def _kept_values(profile: Profile, flag: str, is_whole: bool) -> float:
    """Return how many words after a flag are its values to keep; of a prompt, none."""
    flags = profile.flags
    if is_whole or flag in flags.alone or flag in flags.prompt:
        return 0
    return math.inf if flag in flags.many else 1


def _is_the_agent(profile: Profile, words: Sequence[str]) -> bool:
    """Tell whether the command is the agent, and not a script around it, which may not pass flags
    on: what follows the line of `sh -c` are words for the shell."""
    if _is_shell_line(words):
        return False
    return any(name in profile.process for name in program_names(words, "", None))


def _is_shell_line(words: Sequence[str]) -> bool:
    """Tell whether these words are a shell with a command line, as in `sh -c agent`."""
    program, *rest = words or [""]
    if program.rpartition("/")[2] not in SHELLS:
        return False
    flags = itertools.takewhile(lambda word: word.startswith("-"), rest)
    return any("c" in flag and not flag.startswith("--") for flag in flags)


def _names_conversation(profile: Profile, words: Sequence[str]) -> bool:
    return len(_without_ids(profile, list(words))) < len(words)


def _without_ids(profile: Profile, words: list[str]) -> list[str]:
    """Return the command without the flags that selected a conversation."""
    kept: list[str] = []
    rest = words
    while rest:
        size = max(_matched_words(profile.resume, rest), _matched_words(profile.launch, rest))
        if not size:
            kept.append(rest[0])
        rest = rest[max(size, 1) :]
    return kept


def _matched_words(template: Sequence[str], words: Sequence[str]) -> int:
    """Return how many words at the start match the template; `--flag=ID` is the same as
    `--flag ID`."""
    if not template:
        return 0
    flag = template[0].split("=")[0].split("{")[0]
    if words[0] == flag:
        return 2
    if flag.startswith("--") and words[0].startswith(flag + "="):
        return 1
    return 0


def _filled(template: Sequence[str], conversation: str) -> list[str]:
    return [word.replace("{id}", conversation) for word in template]
