"""Histories that broke a promise once, of the program or of a world that knew too little."""

from __future__ import annotations

from tests.simulation.history import Step

CALM = {"leaves": True, "exit_delay_s": 0.0, "said": True}
SLOW = {**CALM, "exit_delay_s": 0.5}
STUBBORN = {**CALM, "ignores": ("SIGHUP", "SIGTERM")}
AGENT, PANE, WHOLE = ("agent", True, None), ("pane", True, 1.0), ("session", True, None)

HISTORIES: dict[str, list[Step]] = {
    "the agent of a moved pane is another": [
        ("live", "a", "demo", 0, "", {**SLOW, "marked": True}),
        ("live", "b", "demo", 0, "", {**SLOW, "ignores": ("SIGTERM",)}),
        ("row", "b", "full"),
        ("deed", "swaps", "b", 3),
        ("deed", "dies", "b", 2),
        ("deed", "swaps", "a", 0),
    ],
    "a send is killed": [
        ("live", "a", "demo", 0, "shell", {**STUBBORN, "marked": True}),
        ("row", "a", "full"),
        ("act", "send", "a", "prompt 971582", ((50, "killed"),), ""),
    ],
    "a pane is opened while a session is replaced": [
        ("live", "a", "demo", 0, "script", {**SLOW, "said": False, "marked": True}),
        ("row", "a", "foreign"),
        ("act", "start", "a", ("mystery", "", True), (), ""),
        ("deed", "splits", "a", 3),
    ],
    "a pane is swapped into a session that is confirmed": [
        ("act", "start", "b", ("plain", "", False), (), ""),
        ("deed", "dies", "b", 1),
        ("deed", "swaps", "b", 2),
    ],
    "an agent outlives a respawn, and its pane moves": [
        ("live", "b", "demo", 0, "shell", {**CALM, "ignores": ("SIGHUP",), "marked": True}),
        ("row", "b", "foreign"),
        ("deed", "respawns", "b", 1),
        ("deed", "moves", "b", 3),
    ],
    "another session gets the name of one that moved": [
        ("live", "a", "demo", 0, "", {**STUBBORN, "said": False}),
        ("row", "a", "foreign"),
        ("deed", "moves", "a", 0),
        ("live", "a", "demo", 0, "", {**SLOW, "ignores": ("SIGHUP",)}),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "an agent's pid comes again at once": [
        ("live", "b", "mystery", 0, "script", {**STUBBORN, "marked": True}),
        ("row", "b", "full"),
        ("deed", "respawns", "b", 2),
        ("act", "stop", "b", PANE, (), ""),
        ("deed", "gets_its_pid", "b", 0),
    ],
    "an agent asks for its own session": [
        ("live", "a", "demo", 0, "", {**CALM, "leaves": False}),
        ("row", "a", "full"),
        ("deed", "types", "a", 3),
        ("act", "stop", "a", AGENT, (), ""),
        ("time", 2.0),
        ("act", "interrupt", "a", None, ((9, "pause"),), "a"),
    ],
    "an old copy comes back": [
        ("live", "a", "demo", 1, "", CALM),
        ("row", "a", "foreign"),
        ("tool", "copy"),
        ("deed", "dies", "a", 0),
        ("act", "start", "a", ("demo", "", False), (), ""),
        ("time", 12.0),
        ("tool", "put_back"),
        ("act", "kill", "a", ("pane", False, None), (), ""),
    ],
    "a row claims the pid of another": [
        ("live", "a", "mystery", 1, "shell", {**SLOW, "marked": True}),
        ("row", "a", "foreign with its id"),
        ("tool", "claim"),
        ("act", "stop", "a", WHOLE, (), ""),
    ],
    "an agent without tmux is resumed or started again": [
        ("live", "a", "demo", 0, "headless", CALM),
        ("row", "a", "full"),
        ("act", "stop", "a", AGENT, (), ""),
        ("act", "start", "a", ("demo", "", True), (), ""),
        ("time", 12.0),
    ],
    "what an agent left in a renamed session": [
        ("live", "a", "demo", 0, "shell", CALM),
        ("row", "a", "foreign"),
        ("deed", "bears", "a", 0),
        ("deed", "renames", "a", 0),
        ("deed", "dies", "a", 0),
        ("act", "kill", "a", AGENT, (), ""),
    ],
    "what an agent left in a pane that moved": [
        ("live", "a", "demo", 0, "script", CALM),
        ("row", "a", "foreign"),
        ("deed", "bears", "a", 1),
        ("act", "list", "a", None, (), ""),
        ("deed", "moves", "a", 0),
        ("deed", "dies", "a", 0),
        ("act", "watch", "a", None, (), ""),
    ],
    "a session gets the name of an agent that outlived its server": [
        ("live", "a", "demo", 0, "", {**CALM, "ignores": ("SIGHUP",)}),
        ("row", "a", "foreign"),
        ("deed", "server_dies", "a", 0),
        ("deed", "opens_it_again", "a", 0),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "a session gets the name of one whose helper lives on": [
        ("live", "a", "demo", 0, "", CALM),
        ("row", "a", "foreign"),
        ("deed", "bears", "a", 2),
        ("act", "list", "a", None, (), ""),
        ("deed", "server_dies", "a", 0),
        ("deed", "dies", "a", 0),
        ("deed", "opens_it_again", "a", 0),
        ("act", "stop", "a", AGENT, (), ""),
    ],
    "another agent's pane comes to where one has died": [
        ("live", "a", "demo", 0, "shell", CALM),
        ("live", "b", "demo", 0, "", CALM),
        ("row", "b", "foreign"),
        ("deed", "splits", "b", 1),
        ("deed", "dies", "b", 0),
        ("deed", "swaps", "a", 3),
        ("act", "stop", "b", AGENT, (), ""),
    ],
    "a pid comes again between tmux's answer and the list of processes": [
        ("live", "b", "mystery", 1, "", SLOW),
        ("row", "b", "foreign"),
        ("act", "stop", "b", ("agent", True, 0.0), ((39, "pause"),), ""),
        ("deed", "dies", "b", 0),
        ("time", 0.1),
        ("deed", "gets_its_pid", "b", 0),
    ],
    "the same, as a stop takes its first look": [
        ("live", "b", "mystery", 1, "", SLOW),
        ("row", "b", "foreign"),
        ("act", "stop", "b", ("agent", True, 0.0), ((4, "pause"),), ""),
        ("deed", "dies", "b", 0),
        ("time", 0.1),
        ("deed", "gets_its_pid", "b", 0),
    ],
    "a shell is left of an unknown agent in a renamed session": [
        ("live", "a", "mystery", 0, "shell", {**SLOW, "ignores": ("SIGTERM",)}),
        ("row", "a", "full"),
        ("deed", "dies", "a", 0),
        ("deed", "renames", "a", 0),
    ],
    "a start meets the row of a stop that was killed": [
        ("live", "a", "plain", 0, "", CALM),
        ("row", "a", "full"),
        ("act", "stop", "a", ("agent", False, None), ((114, "killed"),), ""),
        ("act", "start", "a", ("mystery", "", False), (), ""),
    ],
}
