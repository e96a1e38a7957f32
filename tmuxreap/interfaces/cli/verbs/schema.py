"""Declares the command line of `schema`; `commands.schema` does the work."""

from __future__ import annotations

import json
import sys

from tmuxreap.interfaces.cli.parameters import Text, argument


def command(
    verb: Text = argument(None, "Verb (default: the part that all answers share).", Text, None),
) -> None:
    """Print the JSON Schema of a verb's --json output.

    \b
    tmuxreap schema stop

    Without a verb: the envelope that all answers share.
    Schemas are open: fields may be added, and readers should ignore unknown ones.
    """
    from tmuxreap.commands.schema import run

    json.dump(run(verb), sys.stdout, indent=2)
    sys.stdout.write("\n")
