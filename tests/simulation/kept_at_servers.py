"""Histories that broke a promise once, of sessions that an agent's own server runs."""

from __future__ import annotations

from tests.simulation.history import Step
from tests.simulation.kept_daemons import AGENT, CALM, SLOW, STUBBORN

AT_SERVERS: dict[str, list[Step]] = {
    "the only conversation in the folder of an agent is that of one that went to its daemon": [
        (
            "daemon",
            "server",
            {"respawn_s": 2.0, "slow_s": 0.0, "deaf": False, "revives_s": 0.5, "late_s": 0.0},
        ),
        ("live", "a", "demo", 1, "headless", {**STUBBORN, "leaves": False}),
        ("row", "a", "full"),
        ("live", "b", "demo", 0, "shell", {**SLOW, "ignores": ("SIGHUP",)}),
        ("deed", "goes_to_its_daemon", "b", 3),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "the only conversation in the folder of an agent is that of one in its daemon": [
        (
            "daemon",
            "server",
            {"respawn_s": 0.0, "slow_s": 4.0, "deaf": True, "revives_s": 0.5, "late_s": 3.0},
        ),
        ("live", "a", "plain", 1, "daemon", {**CALM, "exit_delay_s": 4.0}),
        ("live", "b", "demo", 0, "headless", SLOW),
        ("row", "b", "foreign with its id"),
        ("act", "kill", "b", AGENT, (), ""),
    ],
    "a list waits for a server while the name of what that ran is started anew": [
        (
            "daemon",
            "server",
            {"respawn_s": 0.0, "slow_s": 15.0, "deaf": False, "revives_s": 0.5, "late_s": 1.0},
        ),
        ("live", "a", "mystery", 0, "daemon", {**SLOW, "ignores": ("SIGTERM",)}),
        ("live", "b", "demo", 0, "daemon", {**SLOW, "ignores": ("SIGHUP",)}),
        ("row", "b", "full"),
        ("deed", "dies", "b", 0),
        ("deed", "its_daemon_begins", "a", 3),
        ("act", "start", "b", ("demo", "always", False), (), ""),
        ("time", 0.5),
        ("act", "list", "b", None, (), ""),
    ],
}
