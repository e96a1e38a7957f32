"""The user's defaults: the keys of config.yaml, what holds without one, and the variable that sets
it too. What a value is read as is told by the built-in one. Never reads any."""

from __future__ import annotations

MANUAL_STOP = "manual_stop"
KILLED = "killed"
HANGUP_GRACE_S = 5.0
TERM_GRACE_S = 2.0
STALLED_AFTER_S = 120.0
IDLE_AFTER_S = 7200.0
RETENTION_S = 90 * 86400.0
SECRETS = "secrets"

Value = str | float | bool | tuple[str, ...]

BUILT_IN: dict[str, Value] = {
    "server": "default",
    "reason": MANUAL_STOP,
    "grace": HANGUP_GRACE_S,
    "reap.stalled_after": STALLED_AFTER_S,
    "reap.idle_after": IDLE_AFTER_S,
    "reap.grace": HANGUP_GRACE_S,
    "cleanup": False,
    "retention": RETENTION_S,
    SECRETS: (),
}
NOTES = {
    "reason": f"of kill: {KILLED}",
    "grace": f"of kill: {TERM_GRACE_S:g}",
    SECRETS: "beside the kinds that are always masked",
}
# A pattern is no word of a command line: it can be set in the file only.
VARIABLES = {key: f"TMUXREAP_{key.upper().replace('.', '_')}" for key in BUILT_IN if key != SECRETS}
