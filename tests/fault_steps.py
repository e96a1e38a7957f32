"""What the fault matrix breaks: the faults, and the steps that each verb passes."""

from __future__ import annotations

from tmuxreap.core.faults import Step

ERRORS = ("ENOSPC", "EIO", "EROFS")
FAULTS = ("kill", *ERRORS, "clock_back", "ledger_locked", "ledger_broken")
WRITE = (
    Step.WRITE_LOCK,
    Step.TEMP_CREATED,
    Step.TEMP_WRITTEN,
    Step.TEMP_SYNCED,
    Step.REPLACED,
    Step.FOLDER_SYNCED,
)
LEDGER = (Step.LEDGER, Step.INTENT_CLOSED)
MADE = (Step.INTENT, Step.CREATED, Step.CONFIRMED, *WRITE, *LEDGER)
PASSED = {
    "start": (Step.READ, *MADE),
    "headless": (Step.READ, *MADE),
    "adopt": (Step.READ, *WRITE, *LEDGER),
    "resume": (Step.READ, *MADE),
    "stop": (
        Step.READ,
        Step.LOCK,
        Step.INTENT,
        Step.KEYS,
        Step.HANGUP,
        Step.PROVEN,
        *WRITE,
        *LEDGER,
    ),
    "kill": (
        Step.READ,
        Step.LOCK,
        Step.INTENT,
        Step.HANGUP,
        Step.KILL,
        Step.PROVEN,
        *WRITE,
        *LEDGER,
    ),
    "purge": (
        Step.READ,
        Step.LOCK,
        Step.INTENT,
        Step.KEYS,
        Step.HANGUP,
        Step.PROVEN,
        Step.PURGED,
        *WRITE,
        *LEDGER,
    ),
    "send": (Step.READ, Step.INTENT, Step.KEYS),
    "restart": (
        Step.READ,
        Step.LOCK,
        Step.INTENT,
        Step.KEYS,
        Step.HANGUP,
        Step.PROVEN,
        *WRITE,
        *LEDGER,
        Step.HELD,
        Step.CREATED,
        Step.CONFIRMED,
    ),
    # The same from where the agent is back: its row is written a second time.
    "restart again": (*WRITE, *LEDGER),
    "forget": (Step.READ, *WRITE, *LEDGER),
    "reconcile": (Step.READ, *WRITE, *LEDGER),
}
CALLS = (
    Step.CREATED,
    Step.CONFIRMED,
    Step.KEYS,
    Step.HANGUP,
    Step.KILL,
    Step.PROVEN,
    Step.PURGED,
    Step.HELD,
)  # no file access, so no disk fault
CASES = [
    (verb, step, fault)
    for verb, steps in PASSED.items()
    for step in steps
    for fault in FAULTS
    if not (fault in ERRORS and step in CALLS)
]
