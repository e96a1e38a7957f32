"""Kept histories of agents with a daemon of their own, and the words that all kept ones use."""

from __future__ import annotations

from tests.simulation.history import Step

CALM = {"leaves": True, "exit_delay_s": 0.0, "said": True}
SLOW = {**CALM, "exit_delay_s": 0.5}
DEAF = {**CALM, "ignores": ("SIGHUP",)}
STUBBORN = {**CALM, "ignores": ("SIGHUP", "SIGTERM")}
EVERY = {"targets": ("all",), "yes": True}
AGENT, PANE, WHOLE = ("agent", True, None), ("pane", True, 1.0), ("session", True, None)

OF_DAEMONS: dict[str, list[Step]] = {
    "an agent goes to its daemon, whose list cannot be read": [
        ("daemon", "list", {}),
        ("live", "a", "demo", 0, "", CALM),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 1),
        ("deed", "its_daemon_says_nothing", "a", 0),
        ("act", "reconcile", "a", None, (), ""),
    ],
    "an agent goes to its daemon, and leaves a shell": [
        ("daemon", "list", {}),
        ("live", "a", "demo", 0, "script", CALM),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 1),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "the same, and the list of its daemon cannot be read": [
        ("daemon", "list", {}),
        ("live", "a", "demo", 0, "script", CALM),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 1),
        ("deed", "its_daemon_says_nothing", "a", 0),
        ("act", "kill", "a", AGENT, (), ""),
    ],
    "a server works again on what was ended": [
        ("daemon", "server", {"revives_s": 4.0}),
        ("live", "a", "demo", 0, "daemon", CALM),
        ("row", "a", "full"),
        ("act", "kill", "a", AGENT, (), ""),
    ],
    "the list that a pane shows cannot be read": [
        ("daemon", "list", {}),
        ("live", "a", "demo", 0, "", CALM),
        ("row", "a", "full"),
        ("deed", "its_daemon_says_nothing", "a", 0),
        ("deed", "goes_to_its_daemon", "a", 0),
        ("act", "kill", "a", AGENT, (), ""),
    ],
    "an agent goes to its daemon while it is stopped": [
        ("daemon", "list", {}),
        ("live", "a", "demo", 0, "", {**CALM, "exit_delay_s": 4.0}),
        ("row", "a", "full"),
        ("act", "stop", "a", AGENT, (), ""),
        ("deed", "goes_to_its_daemon", "a", 3),
    ],
    "the server of a pane says nothing while that ends": [
        ("daemon", "server", {}),
        ("live", "a", "demo", 0, "", {**CALM, "exit_delay_s": 4.0}),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 0),
        ("act", "stop", "a", AGENT, (), ""),
        ("time", 0.5),
        ("deed", "its_daemon_says_nothing", "a", 0),
        ("time", 40.0),
    ],
    "a neighbor lives in the daemon that an agent began": [
        ("daemon", "list", {}),
        ("live", "a", "demo", 0, "", {**CALM, "marked": True}),
        ("row", "a", "full"),
        ("live", "b", "demo", 0, "daemon", CALM),
        ("act", "kill", "a", AGENT, (), ""),
    ],
    "a turn goes on at the server of an agent that outlived its pane": [
        ("daemon", "server", {}),
        ("live", "a", "demo", 0, "", {**CALM, "ignores": ("SIGHUP",)}),
        ("row", "a", "full"),
        ("deed", "server_dies", "a", 0),
        ("deed", "goes_to_its_daemon", "a", 0),
        ("act", "kill", "a", AGENT, (), ""),
    ],
    "a pane that shows what a deaf daemon runs goes while that is ended": [
        ("daemon", "list", {"deaf": True}),
        ("live", "a", "demo", 0, "", CALM),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 0),
        ("act", "kill", "a", AGENT, (), ""),
        ("deed", "dies", "a", 0),
    ],
    "a turn goes on at the server of a pane": [
        ("daemon", "server", {}),
        ("live", "a", "demo", 0, "", CALM),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 0),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "what a server works on again is stopped again": [
        ("daemon", "server", {"revives_s": 0.5}),
        ("live", "a", "demo", 0, "daemon", CALM),
        ("row", "a", "full"),
        ("act", "stop", "a", AGENT, (), ""),
        ("time", 12.0),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "an agent outlives its pane, and its daemon runs what it took there": [
        ("daemon", "list", {"slow_s": 4.0}),
        ("live", "a", "demo", 0, "", {**STUBBORN, "exit_delay_s": 4.0}),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 2),
        ("deed", "closes", "a", 3),
        ("act", "start", "a", ("mystery", "", True), (), ""),
    ],
    "its daemon brings that back while the agent is ended": [
        ("daemon", "list", {"revives_s": 2.0}),
        ("live", "a", "demo", 0, "", {**STUBBORN, "exit_delay_s": 4.0}),
        ("row", "a", "full"),
        ("deed", "goes_to_its_daemon", "a", 2),
        ("deed", "closes", "a", 3),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "an agent in a moved pane begins its daemon while it is stopped": [
        (
            "daemon",
            "list",
            {"respawn_s": 0.3, "slow_s": 0.0, "deaf": False, "revives_s": None, "late_s": 3.0},
        ),
        ("live", "a", "demo", 0, "", {**SLOW, "said": False, "marked": True}),
        ("row", "a", "foreign"),
        ("act", "stop", "a", AGENT, (), ""),
        ("deed", "moves", "a", 1),
        ("deed", "goes_to_its_daemon", "a", 1),
    ],
    "an agent without its pane only shows what its daemon runs": [
        ("daemon", "list", {}),
        ("live", "a", "demo", 0, "", STUBBORN),
        ("row", "a", "full"),
        ("deed", "closes", "a", 1),
        ("deed", "goes_to_its_daemon", "a", 0),
        ("act", "kill", "a", AGENT, (), ""),
    ],
    "an agent went to its daemon, and the shell of its closed pane lives": [
        ("daemon", "list", {"slow_s": 0.5}),
        ("live", "b", "demo", 0, "script", DEAF),
        ("row", "b", "full"),
        ("deed", "closes", "b", 1),
        ("deed", "goes_to_its_daemon", "b", 1),
        ("act", "stop", "b", AGENT, (), ""),
    ],
    "only another tool's row names what outlived its pane": [
        ("daemon", "list", {}),
        ("live", "b", "demo", 0, "script", DEAF),
        ("row", "b", "foreign with its id"),
        ("deed", "closes", "b", 1),
        ("deed", "goes_to_its_daemon", "b", 1),
        ("act", "reconcile", "b", None, (), ""),
        ("act", "stop", "b", AGENT, (), ""),
    ],
    "another tool's row that moved never knew what its agent left": [
        ("daemon", "list", {}),
        ("live", "b", "demo", 0, "", DEAF),
        ("row", "b", "foreign with its id"),
        ("deed", "bears", "b", 3),
        ("deed", "closes", "b", 1),
        ("deed", "goes_to_its_daemon", "b", 1),
        ("act", "reconcile", "b", None, (), ""),
        ("act", "stop", "b", AGENT, (), ""),
    ],
}
