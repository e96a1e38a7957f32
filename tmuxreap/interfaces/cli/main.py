"""Owns the command line as a whole: which verbs there are. `verbs/` declares the flags of each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from tmuxreap.interfaces.cli.commands import declared
from tmuxreap.interfaces.cli.parameters import Done, read
from tmuxreap.interfaces.cli.words import GROUPS, check_words, verb_of, with_help_flag

# Each has its group in the help, but for `hook`, which only agents call.
VERBS = (*" ".join(GROUPS.values()).split(), "hook")
ALIASES = {"ls": "list"}
# Called by `handover` and `watch`, and by the tmuxreap of another host.
HIDDEN = {"_finish": "finish", "_restart": "restart", "at": "at"}


def main(argv: Sequence[str]) -> int:
    """Run the command line; import only the called verb, and typer only for a line not plain."""
    words = with_help_flag(argv)
    called = verb_of(words)
    known = {**{verb: verb for verb in VERBS}, **ALIASES}
    check_words(words, [*known, *HIDDEN])
    verb = {**known, **HIDDEN}.get(called)
    try:
        if verb is not None and words[0] == called:
            command = declared(verb)
            arguments = read(command.parameters, words[1:])
            if arguments is not None:
                command.call(**arguments)
                return 0
        program = import_module("tmuxreap.interfaces.cli.program")
        return int(program.run(words, {called: verb} if verb else known, (*HIDDEN, "hook")))
    except Done as done:
        return done.status
