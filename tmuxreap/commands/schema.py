"""`schema`: prints the JSON Schema of an answer."""

from __future__ import annotations

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.schema import ANSWERING, Schema, document


def run(verb: str | None) -> Schema:
    """Describe the answer of a verb; without a verb, what all answers share."""
    if verb is not None and verb not in ANSWERING:
        known = ", ".join(ANSWERING)
        reason = f"could not describe the answer of {verb!r}: no verb of that name answers in JSON"
        raise Failure(Code.USAGE, reason, f"use one of: {known}")
    return document(verb)
