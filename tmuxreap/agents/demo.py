"""A small coding agent for demonstrations and tests: it uses no model, but reacts to keys as real
agents do. `demo_agent` is its program.

Owns its store and the helpers that it starts. Independent: it imports nothing of the package, and
knows of tmux only the name of its pane. Tests start it by the hundred, and `pathlib` would take a
fifth of each start."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from enum import Enum

BURST_S = 0.05  # an Enter this soon after text is part of a paste: a new line in the draft
AGAIN_S = 1.0  # for the second C-c
FOREVER_S = 3600.0
DIALOG = "Allow the tool `rm -rf build`? [Enter] yes  [Esc] no"
WORKING = "· working (esc to interrupt)"
ENTER = "\r"
ESCAPE = "\x1b"
C_C = "\x03"
C_D = "\x04"
C_U = "\x15"
NEW_LINE = ("\n", "\x1b\r")  # C-j, Alt+Enter
PASTE_BEGINS = "\x1b[200~"
PASTE_ENDS = "\x1b[201~"
LONG_LINES = 10  # a paste from here on is shown as a placeholder
LONG_CHARS = 1000


class DemoState(Enum):
    IDLE = "idle"
    BUSY = "busy"
    WAITING = "waiting"  # for the user: the dialog is open


def new_id() -> str:
    """Return a random UUID, without the slow import of `uuid`."""
    digits = bytearray(os.urandom(16))
    digits[6] = digits[6] & 0x0F | 0x40
    digits[8] = digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def spawn(seconds: float) -> int:
    """Start a child that only sleeps, in its own process group: it outlives this process and the
    terminal, and does not inherit ignored signals."""
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    heard = [signal.SIGHUP, signal.SIGTERM]
    words = ["sleep", str(seconds)]
    return os.posix_spawnp(
        words[0], words, os.environ, file_actions=null, setsigdef=heard, setpgroup=0
    )


def end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)


class Store:
    """The files on disk: one for each conversation, created with its first line, and a pid file."""

    def __init__(self, home: str | os.PathLike[str]) -> None:
        self.home = os.fspath(home)

    def conversation(self, conversation_id: str) -> str:
        return f"{self.home}/conversations/{conversation_id}.jsonl"

    def has(self, conversation_id: str) -> bool:
        return os.path.exists(self.conversation(conversation_id))

    @property
    def session(self) -> str:
        return f"{self.home}/sessions/{os.getpid()}.json"

    def history(self, conversation_id: str) -> list[str]:
        with open(self.conversation(conversation_id), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return [f"{line['role']}: {line['text']}" for line in lines if "text" in line]

    def append(self, conversation_id: str, role: str, text: str) -> None:
        path = self.conversation(conversation_id)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        line = {"role": role, "text": text, "cwd": os.getcwd(), "timestamp": time.time()}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def report(self, conversation_id: str, state: DemoState) -> None:
        facts = {
            "sessionId": conversation_id,
            "procStart": own_start(),
            "cwd": os.getcwd(),
            "status": state.value,
            "tmux": os.environ.get("TMUX_PANE"),
        }
        os.makedirs(os.path.dirname(self.session), exist_ok=True)
        fresh = f"{self.session}.new"
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.replace(fresh, self.session)


def own_start() -> str | None:
    """Return when this process started, in the kernel's ticks; None without /proc."""
    try:
        with open("/proc/self/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except FileNotFoundError:
        return None


class DemoAgent:
    """The agent's reactions to keys and to time. `now` is given by the caller."""

    def __init__(self, store: Store, conversation_id: str, exit_delay_s: float = 0.0) -> None:
        self.store = store
        self.conversation_id = conversation_id
        self.exit_delay_s = exit_delay_s
        self.state = DemoState.IDLE
        self.draft = ""
        self.pasting: list[str] | None = None  # the keys of a paste that has not ended
        self.pastes: dict[str, str] = {}  # by their placeholders
        self.queue: list[str] = []
        self.transcript: list[str] = []
        self.tool: int | None = None
        self.text_at = -FOREVER_S
        self.busy_until: float | None = None
        self.armed_until: float | None = None  # a C-c was pressed
        self.leaves_at: float | None = None

    def press(self, key: str, now: float) -> None:
        if self.leaves_at is not None:
            return
        if key == PASTE_BEGINS:
            self.pasting = []
        elif key == PASTE_ENDS:
            self._paste("".join(self.pasting or ()), now)
        elif self.pasting is not None:
            self.pasting.append(key)
        else:
            self._type(key, now)

    def _type(self, key: str, now: float) -> None:
        if self.state is DemoState.WAITING:
            if key == ENTER:
                self.say("tool", "approved")
            if key in (ENTER, ESCAPE):
                self.state = DemoState.IDLE
            else:
                self.state = DemoState.WAITING
        elif key == ENTER:
            self._enter(now)
        elif self.state is DemoState.BUSY and key in (ESCAPE, C_C):
            self._interrupt()
        elif key == C_U or (key == C_C and self.draft):
            self.draft = ""
        elif key in (C_C, C_D) and not self.draft:
            self._ask_to_leave(now)
        elif key in NEW_LINE or key.isprintable():
            self.draft = self.draft + ("\n" if key in NEW_LINE else key)
            self.text_at = now

    def _paste(self, text: str, now: float) -> None:
        """Take a paste whole into the input; a dialog takes none."""
        self.pasting = None
        if self.state is DemoState.WAITING:
            return
        text = text.replace("\r", "\n")
        more = text.count("\n")
        if more >= LONG_LINES - 1 or len(text) >= LONG_CHARS:
            placeholder = f"[Pasted text +{more} lines]"
            self.pastes[placeholder] = text
            text = placeholder
        self.draft = self.draft + text
        self.text_at = now

    def tick(self, now: float) -> None:
        if self.armed_until is not None and now >= self.armed_until:
            self.armed_until = None
        if self.busy_until is not None and now >= self.busy_until:
            self._end_turn()
            self.say("tool", "work done")
        while self.queue and self.state is DemoState.IDLE and self.leaves_at is None:
            self._submit(self.queue.pop(0), now)

    def next_event(self, now: float) -> float:
        moments = (self.busy_until, self.armed_until, self.leaves_at)
        return min(filter(None, moments), default=now + FOREVER_S)

    def say(self, role: str, text: str) -> None:
        self.store.append(self.conversation_id, role, text)
        self.transcript.append(f"{role}: {text}")

    def work(self, seconds: float, now: float) -> None:
        self.state = DemoState.BUSY
        self.busy_until = now + seconds
        self.tool = spawn(seconds)

    def leave(self, now: float) -> None:
        self.leaves_at = self.leaves_at or now + self.exit_delay_s

    def _end_turn(self) -> None:
        if self.tool is not None:
            end(self.tool)
        self.state = DemoState.IDLE
        self.busy_until = None
        self.tool = None

    def _interrupt(self) -> None:
        self._end_turn()
        self.draft = "\n".join(filter(None, [*self.queue, self.draft]))
        self.queue = []

    def _ask_to_leave(self, now: float) -> None:
        if self.armed_until is not None and now < self.armed_until:
            self.leave(now)
        self.armed_until = now + AGAIN_S

    def _enter(self, now: float) -> None:
        if now - self.text_at < BURST_S:
            self.draft += "\n"
        elif self.draft.strip():
            prompt = self.draft.strip()
            for placeholder, text in self.pastes.items():
                prompt = prompt.replace(placeholder, text)
            self.queue = [*self.queue, prompt]
            self.draft = ""
            self.pastes = {}

    def _submit(self, prompt: str, now: float) -> None:
        command, _, argument = prompt.partition(" ")
        if prompt in ("/exit", "/quit"):
            self.leave(now)
        elif prompt == "/clear":
            self.conversation_id = new_id()
            self.transcript = []
        elif prompt == "/ask":
            self.state = DemoState.WAITING
        elif command == "/work" and re.fullmatch(r"\d+(\.\d+)?", argument):
            self.work(float(argument), now)
        else:
            self.say("user", prompt)
            self.say("assistant", f"You said: {prompt}")


def wrapped(text: str, columns: int) -> list[str]:
    pieces: list[str] = []
    for line in text.expandtabs(4).split("\n"):
        starts = range(0, len(line) or 1, columns)
        pieces += [line[at : at + columns] for at in starts]
    return pieces


def screen(agent: DemoAgent, rows: int, columns: int) -> list[str]:
    """Return the screen: header, transcript, and at the bottom the dialog, or the state and the
    draft."""
    if agent.state is DemoState.WAITING:
        rule = "─" * (len(DIALOG) + 2)
        foot = [f"╭{rule}╮", f"│ {DIALOG} │", f"╰{rule}╯"]
    else:
        foot = [WORKING] if agent.state is DemoState.BUSY else []
        if agent.armed_until is not None:
            foot += ["press C-c again to exit"]
        # As agents draw it: what follows the first line is indented, also where a line is wrapped.
        first, *more = wrapped(agent.draft, max(columns - len("> "), 1))
        foot += [f"> {first}", *(f"  {piece}" for piece in more)]
    body: list[str] = []
    for entry in agent.transcript:
        body += wrapped(entry, columns)
    room = max(rows - 1 - len(foot), 0)
    body = ([""] * room + body)[len(body) :]
    return [f"demo agent · conversation {agent.conversation_id}", *body, *foot][-rows:]
