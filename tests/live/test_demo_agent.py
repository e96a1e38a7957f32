"""The demo agent behaves like real ones: every other live test relies on this."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PATIENCE_S = 60.0
BURST_S = 0.05
AGENT = [sys.executable, "-m", "tmuxreap.demo_agent"]
SOME_ID = "0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11"


def until(what: str, found: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.005)


class Demo:
    """A demo agent as the direct command of a pane that stays when it exits."""

    def __init__(self, socket: str, home: Path) -> None:
        self.socket, self.home = socket, home

    def tmux(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.rstrip("\n")

    def start(self, *options: str) -> Demo:
        stay = ["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"]
        place = [
            "-d",
            "-s",
            "demo",
            "-x",
            "90",
            "-y",
            "12",
            "-e",
            f"TMUXREAP_DEMO_HOME={self.home}",
        ]
        self.tmux(*stay, "new-session", *place, *AGENT, *options)
        return self.shows("demo agent · conversation")

    def start_again(self, *options: str) -> Demo:
        self.tmux("respawn-pane", "-t", "demo:", *AGENT, *options)
        return self.shows("demo agent · conversation")

    def ask(self, format_: str) -> str:
        return self.tmux("display-message", "-p", "-t", "demo:", format_)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "demo:")

    def history(self) -> str:
        """Return the pane's history, with lines hidden by "Pane is dead"; 3.2a pads with spaces."""
        told = self.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "demo:")
        return "\n".join(line.rstrip() for line in told.split("\n"))

    def shows(self, text: str) -> Demo:
        until(f"{text!r} on the screen", lambda: text in self.screen())
        return self

    def prompt_is(self, text: str) -> Demo:
        until(
            f"the prompt {text!r}",
            lambda: f"\n> {text}".rstrip() == "\n" + self.screen().rstrip().split("\n")[-1],
        )
        return self

    def keys(self, *names: str) -> Demo:
        self.tmux("send-keys", "-t", "demo:", *names)
        return self

    def type(self, text: str) -> Demo:
        self.tmux("send-keys", "-l", "-t", "demo:", text)
        return self.prompt_is(text)

    def type_more(self, text: str) -> Demo:
        self.tmux("send-keys", "-l", "-t", "demo:", text)
        return self

    def submit(self, text: str) -> Demo:
        self.type(text)
        time.sleep(BURST_S)  # the rule under test: an earlier Enter counts as a paste
        return self.keys("Enter")

    def left(self) -> Demo:
        """Wait for its exit, ignoring the status: tmux 3.3a sometimes misses the death of a new
        server's child."""
        until("the end of the agent", lambda: self.ask("#{pane_dead}") == "1")
        return self

    @property
    def pid(self) -> int:
        return int(self.ask("#{pane_pid}"))

    @property
    def session_file(self) -> Path:
        return self.home / "sessions" / f"{self.pid}.json"

    def session(self) -> dict[str, str]:
        facts: dict[str, str] = json.loads(self.session_file.read_text())
        return facts

    def status_is(self, status: str) -> Demo:
        until(f"status {status}", lambda: self.session()["status"] == status)
        return self

    def said(self) -> list[tuple[str, str]]:
        files = list((self.home / "conversations").glob("*.jsonl"))
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [(line["role"], line["text"]) for line in lines]

    def children(self) -> list[int]:
        return [
            int(pid)
            for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        ]


@pytest.fixture
def demo(tmux_socket: str, tmp_path: Path) -> Demo:
    return Demo(tmux_socket, tmp_path / "store")


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


live = pytest.mark.live


@live
def test_the_demo_agent_says_who_it_is_before_any_message(demo: Demo) -> None:
    demo.start("--session-id", SOME_ID)
    stat = Path(f"/proc/{demo.pid}/stat").read_text()
    assert demo.session() == {
        "sessionId": SOME_ID,
        "procStart": stat[stat.rindex(")") + 2 :].split(" ")[19],
        "cwd": os.getcwd(),
        "status": "idle",
        "tmux": demo.ask("#{pane_id}"),
    }
    assert not (demo.home / "conversations").exists()


@live
def test_a_message_begins_the_conversation_and_exit_names_it(demo: Demo) -> None:
    demo.start("--session-id", SOME_ID).submit("good day").shows("You said: good day")
    assert demo.said() == [("user", "good day"), ("assistant", "You said: good day")]
    file = demo.session_file
    demo.submit("/exit").left()
    assert (
        f"Resume this conversation with: tmuxreap-demo --resume {SOME_ID}"
        in demo.history().splitlines()
    )
    assert not file.exists()


@live
@pytest.mark.parametrize(("options", "named"), [((), False), (("--always-banner",), True)])
def test_a_conversation_that_was_never_begun_is_named_on_demand_only(
    demo: Demo, options: tuple[str, ...], named: bool
) -> None:
    demo.start(*options).submit("/quit").left()
    assert ("Resume this conversation" in demo.history()) is named


@live
def test_an_enter_in_one_burst_with_its_text_is_part_of_the_draft(demo: Demo) -> None:
    demo.start().tmux("send-keys", "-t", "demo:", "/exit", "Enter")
    demo.shows("> /exit").type_more("x").shows("  x")
    assert demo.said() == []


@live
def test_exit_behind_a_draft_is_a_prompt(demo: Demo) -> None:
    demo.start("--state", "draft").prompt_is("half a thought")
    demo.tmux("send-keys", "-l", "-t", "demo:", "/exit")
    demo.prompt_is("half a thought/exit")
    time.sleep(BURST_S)
    demo.keys("Enter").shows("You said: half a thought/exit")


@live
def test_two_interrupts_leave_an_empty_prompt(demo: Demo) -> None:
    demo.start().keys("C-c").shows("press C-c again to exit").keys("C-c").left()


@live
def test_the_drawn_screen_gives_the_state(demo: Demo) -> None:
    demo.start("--state", "dialog").shows(
        "Allow the tool `rm -rf build`? [Enter] yes  [Esc] no"
    ).status_is("waiting")
    demo.keys("Escape").prompt_is("").status_is("idle")
    demo.submit("/work 600").shows("· working (esc to interrupt)").status_is("busy")
    demo.keys("Escape").status_is("idle")
    until(
        "an end of the work on the screen", lambda: "working" not in demo.screen()
    )  # it is reported before it is drawn


@live
def test_a_dialog_takes_an_enter_for_yes_and_nothing_else(demo: Demo) -> None:
    demo.start().submit("/ask").status_is("waiting")
    demo.tmux("send-keys", "-t", "demo:", "no", "C-c", "C-c", "C-d", "C-u")
    demo.keys("Escape").prompt_is("")
    assert demo.said() == []
    demo.submit("/ask").status_is("waiting").tmux("send-keys", "-t", "demo:", "/exit", "Enter")
    demo.shows("tool: approved").status_is("idle")
    assert demo.said() == [("tool", "approved")]


@live
def test_work_has_a_child_and_leaves_a_trace_when_it_is_done(demo: Demo) -> None:
    demo.start().submit("/work 3").status_is("busy")
    (tool,) = demo.children()
    demo.submit("and then").shows("You said: and then")
    assert demo.said() == [
        ("tool", "work done"),
        ("user", "and then"),
        ("assistant", "You said: and then"),
    ]
    assert gone(tool)


@live
def test_clear_starts_another_conversation(demo: Demo) -> None:
    demo.start("--session-id", SOME_ID).submit("one").shows("You said: one").submit("/clear")
    until("another id", lambda: demo.session()["sessionId"] != SOME_ID)
    assert "You said: one" not in demo.shows(demo.session()["sessionId"]).screen()


@live
def test_resume_shows_the_earlier_messages(demo: Demo) -> None:
    demo.start("--session-id", SOME_ID).submit("remember me").shows("You said").submit(
        "/exit"
    ).left()
    demo.start_again("--resume", SOME_ID).shows("user: remember me")
    assert demo.session()["sessionId"] == SOME_ID


@pytest.mark.parametrize("option", ["--resume", "--session-id"])
def test_the_demo_agent_never_silently_opens_a_blank_conversation(
    tmp_path: Path, option: str
) -> None:
    there = tmp_path / "conversations" / f"{SOME_ID}.jsonl"
    if option == "--session-id":
        there.parent.mkdir(parents=True)
        there.write_text("")
    environ = {**os.environ, "TMUXREAP_DEMO_HOME": str(tmp_path)}
    answer = subprocess.run(
        [*AGENT, option, SOME_ID], capture_output=True, text=True, env=environ, check=False
    )
    reason = "none such" if option == "--resume" else "it exists"
    assert (answer.returncode, answer.stderr) == (1, f"could not open {SOME_ID}: {reason}\n")
    assert there.exists() is (option == "--session-id")


@live
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_makes_the_demo_agent_exit_cleanly(demo: Demo, number: signal.Signals) -> None:
    demo.start("--spawn", "2", "--state", "busy").status_is("busy")
    file, children = demo.session_file, demo.children()
    assert len(children) == 3
    os.kill(demo.pid, number)
    demo.left()
    assert not file.exists()
    assert all(gone(child) for child in children)


@live
def test_sigkill_leaves_its_file_and_its_helpers(demo: Demo) -> None:
    demo.start("--spawn", "1")
    file, (helper,) = demo.session_file, demo.children()
    os.kill(demo.pid, signal.SIGKILL)
    demo.left()
    assert file.exists()
    assert not gone(helper)
    os.kill(helper, signal.SIGKILL)


@live
def test_the_demo_agent_can_ignore_signals_and_the_loss_of_its_terminal(demo: Demo) -> None:
    demo.start("--ignore", "hup,term", "--spawn", "1")
    pid, (helper,) = demo.pid, demo.children()
    demo.tmux("new-session", "-d", "-s", "other", "sleep", "600")
    demo.tmux("kill-session", "-t", "demo:")
    os.kill(pid, signal.SIGTERM)
    os.kill(
        helper, signal.SIGTERM
    )  # helpers ignore no signal, and stay zombies of a parent that does not wait
    until("the end of the helper", lambda: gone(helper))
    time.sleep(0.2)  # there is no event for something not happening
    assert not gone(pid)
    os.kill(pid, signal.SIGKILL)


@live
def test_the_loss_of_its_terminal_makes_the_demo_agent_exit(demo: Demo) -> None:
    demo.start("--spawn", "1")
    pid, file, (helper,) = demo.pid, demo.session_file, demo.children()
    demo.tmux("kill-session", "-t", "demo:")
    until("the end of the agent", lambda: gone(pid))
    assert gone(helper)
    assert not file.exists()


@live
def test_the_demo_agent_can_delay_its_exit(demo: Demo) -> None:
    demo.start("--exit-delay", "0.4").submit("/exit")
    asked = time.monotonic()
    demo.left()
    assert time.monotonic() - asked > 0.35


@live
@pytest.mark.parametrize(("options", "alternate"), [((), "1"), (("--plain",), "0")])
def test_a_plain_demo_agent_stays_on_the_normal_screen(
    demo: Demo, options: tuple[str, ...], alternate: str
) -> None:
    assert demo.start(*options).ask("#{alternate_on}") == alternate


@live
def test_a_resized_screen_is_redrawn(demo: Demo) -> None:
    demo.start("--state", "draft").tmux("resize-window", "-t", "demo:", "-x", "60", "-y", "20")
    until("the prompt on the last line", lambda: len(demo.screen().split("\n")) == 20)
    assert demo.screen().split("\n")[0].startswith("demo agent")


# Timing rules, with given times.
