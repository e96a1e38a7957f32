"""Builds tmux commands as lists of arguments, and runs a tmux client with input, a timeout and a
limit of its output. Never targets a name: tmux matches names by prefix and pattern, so that targets
are IDs from a look.

`subprocess` would do, but with a timeout it polls in sleeps, and its import takes longer than the
call."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence
from functools import reduce

from tmuxreap.core import model
from tmuxreap.core.model import Pane, Server, ServerSession
from tmuxreap.core.ports import PaneQuestion
from tmuxreap.core.values import frozen

READ_SIZE = 1 << 16
MAX_OUTPUT = 1 << 26  # bytes: listing a thousand sessions takes a few hundred thousand
STEP_S = 0.001
# Python or our caller ignores these signals, and a child process would inherit that.
BACK_TO_DEFAULT = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD]


class TooSlow(Exception):  # noqa: N818 - a result rather than an error
    """The program timed out and was killed."""


@frozen
class ClientAnswer:
    status: int | None  # None where the kernel told somebody else, see `_Child`
    out: bytes
    err: bytes

    @property
    def ok(self) -> bool:
        """Tell whether a tmux client went well: one that fails says why."""
        if self.status is not None:
            return self.status == 0
        return not self.err

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")


def ask(
    program: str,
    arguments: Sequence[str],
    data: bytes,
    env: Mapping[str, str],
    timeout_s: float,
    *,
    alone: bool = False,
) -> ClientAnswer:
    """Run the program; raise OSError if it cannot be started, or TooSlow. It is never left running.

    `alone`: what it starts lives on, so it gets none of the descriptors that our caller left open
    for us, such as a lock."""
    with contextlib.ExitStack() as stack:
        pipes = [_Pipe(stack) for _ in range(3)]
        stdin, stdout, stderr = pipes
        actions: list[tuple[int, ...]] = []
        for number, pipe in enumerate(pipes):
            actions.append((os.POSIX_SPAWN_DUP2, pipe.ends[number != 0], number))
        if alone:
            actions += [(os.POSIX_SPAWN_CLOSE, number) for number in _handed_on()]
        path = find_program(program, env)
        words = [program, *arguments]
        child = _Child(
            os.posix_spawn(path, words, env, file_actions=actions, setsigdef=BACK_TO_DEFAULT)
        )
        try:
            stdin.close(0)
            stdout.close(1)
            stderr.close(1)
            deadline = time.monotonic() + timeout_s
            output = _communicate(stdin, data, (stdout, stderr), deadline)
            child.wait(deadline)
        except BaseException:
            child.kill()
            child.reap()
            raise
        return ClientAnswer(child.reap(), *output)


class _Child:
    """A program that we began, until it is reaped. Where the program that we run in ignores
    SIGCHLD, or another thread of it waits for all children, an exit leaves no zombie: the pid is
    another's soon, and is signalled only as long as it is surely ours."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._has_exited = False
        self._status: int | None = None
        self._pidfd: int | None = None
        with contextlib.suppress(AttributeError, OSError):  # not Linux, or a sandbox without it
            self._pidfd = os.pidfd_open(pid)

    def wait(self, deadline: float) -> None:
        """Wait for its exit, as it may live on after closing its streams."""
        if self._pidfd is None:
            while not self._is_reaped(os.WNOHANG):
                time.sleep(min(STEP_S, _left_s(deadline)))
            return
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        if not poller.poll(_left_s(deadline) * 1000):
            raise TooSlow

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            elif not self._is_reaped(os.WNOHANG):
                os.kill(self._pid, signal.SIGKILL)

    def reap(self) -> int | None:
        """Return its exit status; None where the kernel told somebody else."""
        self._is_reaped(0)
        if self._pidfd is not None:
            os.close(self._pidfd)
        return self._status

    def _is_reaped(self, options: int) -> bool:
        if not self._has_exited:
            try:
                pid, status = os.waitpid(self._pid, options)
            except ChildProcessError:
                self._has_exited = True
            else:
                self._has_exited = pid != 0
                self._status = status if pid else None
        return self._has_exited


def _handed_on() -> list[int]:
    """Return the descriptors that a program of ours would inherit, besides its streams."""
    found = []
    with contextlib.suppress(OSError):
        for number in map(int, os.listdir("/dev/fd")):  # noqa: PTH208
            with contextlib.suppress(OSError):  # the folder's own, closed by now
                if number > 2 and os.get_inheritable(number):
                    found.append(number)
    return found


class _Pipe:
    """A pipe whose ends are each closed once."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.ends = list(os.pipe())
        stack.callback(self.close, 0)
        stack.callback(self.close, 1)

    def close(self, which: int) -> None:
        if self.ends[which] >= 0:
            os.close(self.ends[which])
            self.ends[which] = -1


def _communicate(
    to: _Pipe, data: bytes, answers: Sequence[_Pipe], deadline: float
) -> tuple[bytes, ...]:
    """Write and read at the same time, so that full pipes cannot deadlock the two sides."""
    poller = select.poll()
    received = {pipe.ends[0]: bytearray() for pipe in answers}
    pending = {*received}
    for descriptor in received:
        poller.register(descriptor, select.POLLIN)
    if data:
        os.set_blocking(to.ends[1], False)
        poller.register(to.ends[1], select.POLLOUT)
    else:
        to.close(1)
    while pending:
        ready = poller.poll(_left_s(deadline) * 1000)
        if not ready:
            raise TooSlow
        for descriptor, _ in ready:
            if descriptor == to.ends[1]:
                data = _write(descriptor, data)
                if not data:
                    poller.unregister(descriptor)
                    to.close(1)
            elif part := os.read(descriptor, READ_SIZE):
                received[descriptor] += part
                if len(received[descriptor]) > MAX_OUTPUT:
                    raise OSError("it said more than can be read")
            else:
                poller.unregister(descriptor)
                pending.discard(descriptor)
    return tuple(map(bytes, received.values()))


def _left_s(deadline: float) -> float:
    """Return the time left; checked before every wait, as endless output must time out, too."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TooSlow
    return left_s


def _write(descriptor: int, data: bytes) -> bytes:
    """Write and return the rest; nothing when the reader is gone."""
    try:
        return data[os.write(descriptor, data) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return b""


def find_program(program: str, env: Mapping[str, str]) -> str:
    """Find a program on the PATH of the environment it will get."""
    if "/" in program:
        return program
    paths = (f"{folder}/{program}" for folder in os.get_exec_path(env))
    for path in paths:
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)


SIZE = ("-x", "200", "-y", "50")
CREATED_FORMAT = "#{session_id}:#{pane_id}:#{pane_pid}"
# The pane may have died by then: tmux 3.8 and later print no pid.
CREATED = re.compile(r"^(\$\d+):(%\d+):(\d*)$", re.MULTILINE)
# A session's panes in the order of its windows; `L`: the window belongs to another session, too.
_HERE = "#{pane_id}.#{pane_pid}#{?#{==:#{window_linked_sessions},1},,L}"
HOLDS = f"W:#{{P:<{_HERE}>}}"
GROUPED = "&&:#{!=:#{session_group_size},},#{!=:#{session_group_size},1}"
PASTED = "tmuxreap-prompt"  # the buffer of a paste, for the moment of the paste
# From tmux 3.7 on it is told whether the program takes a paste whole, and is empty before that.
TAKES_PASTES = "#{!=:#{bracket_paste_flag},0}"
REFUSES_KEYS = ("pane_in_mode", "pane_dead", "pane_input_off", "pane_synchronized")

STATUS = "@tmuxreap-status"
STATUS_ASKED = "@tmuxreap-segment"
STATUS_OF = "@tmuxreap-registry"

# A leading `%` only in a pane ID: `%if` is a directive of tmux's parser.
_BARE = re.compile(r"%[0-9]+|[A-Za-z0-9_./:,@=+-][A-Za-z0-9_./:,@%=+-]*")
_PLAIN = frozenset(b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%=+")
_OCTAL = {octet: f"\\{octet:03o}" for octet in range(256) if octet not in _PLAIN}


def command_of(deed: model.Deed) -> list[str]:
    match deed:
        case model.CloseSession(server, session, judged):
            return kill_session_command(server, session, judged)
        case model.ClosePane(server, session, pane):
            return kill_pane_command(server, session, pane)
        case model.SendKeys(server, pane, keys, text):
            return press(server, pane, keys, text)
        case model.PasteText(server, pane, text):
            return paste(server, pane, text)
        case model.Respawn():
            return respawn(deed)
        case model.SetOption(where, option, value):
            unset = ["-u"] if value is None else []
            set_to = [] if value is None else [value]
            return ["set-option", "-p", *unset, "-t", where, "--", option, *set_to]
        case model.LeaveMode(where):
            return ["copy-mode", "-q", "-t", where]
        case model.SwitchClient(server, session, pane, client):
            return switch_client(server, session, pane, client)
        case model.SetStatus(registry, segment):
            if segment is None:
                words = ["-gqu", STATUS]
            else:
                words = ["-g", STATUS, segment]
            condition = {STATUS_ASKED: ("on",), STATUS_OF: ("", registry)}
            return if_option(condition, _line(["set-option", *words]))


def creation_of(new: model.NewSession) -> list[list[str]]:
    """Create a detached session; prints CREATED_FORMAT."""
    place = ["-s", _escape_format(new.name), "-c", _escape_format(new.cwd)]
    marks: list[str] = []
    for key, value in new.marks.items():
        marks += ("-e", f"{key}={value}")
    words = ["new-session", "-d", "-P", "-F", CREATED_FORMAT, *place, *SIZE, *marks, "--"]
    created = [*words, *_without_shell(new.words)]
    remains = model.SetOption(f"={new.name}:", "remain-on-exit", "on")
    if new.remains:
        return [created, command_of(remains)]
    return [created]


def _without_shell(words: Sequence[str]) -> list[str]:
    """Return the command as tmux passes it to exec: a single word would go to a shell. env execs
    the program, so the pid stays the same."""
    return ["env", *words] if len(words) == 1 else [*words]


def respawn(deed: model.Respawn) -> list[str]:
    """Run a command in a pane, if it is still the one that was seen, and dead."""
    pane = deed.pane
    words = ["respawn-pane", "-t", pane.id, "-c", _escape_format(deed.cwd)]
    for key, value in deed.marks.items():
        words += ["-e", f"{key}={value}"]
    words += ["--", *_without_shell(deed.words)]
    seen = [*_server_facts(deed.server), *_pane_facts(pane), ("pane_dead", "1")]
    return _if_same(pane.id, seen, _line(words))


def typed(pane: str, keys: Sequence[str], text: str = "") -> list[str]:
    """Send key names, such as `C-c`, or a literal text: no word of it is taken for a key name."""
    return ["send-keys", "-t", pane, *(["-l", "--", text] if text else ["--", *keys])]


def press(server: Server, pane: Pane, keys: Sequence[str], text: str) -> list[str]:
    """Send keys or a text to a pane, if it is still the one that was seen and passes keys to its
    program alone."""
    return _if_same(pane.id, _takes_keys(server, pane), _line(typed(pane.id, keys, text)))


def paste(server: Server, pane: Pane, text: str) -> list[str]:
    """Paste a text under the same conditions. Its line ends stay what they are (`-r`): outside of a
    bracketed paste a carriage return would be an Enter."""
    fill = _line(["set-buffer", "-b", PASTED, "--", text])
    empty = _line(["paste-buffer", "-d", "-p", "-r", "-b", PASTED, "-t", pane.id])
    more = [TAKES_PASTES] if "\n" in text else []
    return _if_same(pane.id, _takes_keys(server, pane), f"{fill} ; {empty}", *more)


def _takes_keys(server: Server, pane: Pane) -> list[tuple[str, str]]:
    """Return the facts of a pane that is still the one that was seen, and passes keys to its
    program alone."""
    seen = [*_server_facts(server), *_pane_facts(pane)]
    return [*seen, *((state, "0") for state in REFUSES_KEYS)]


def question(query: PaneQuestion, end: str) -> list[str]:
    """Print the answer and then the line `end`; nothing for a missing pane."""
    pane = query.pane
    if query.environment:  # the session's own variables alone, without the server's global ones
        both = (["show-environment", "-t", pane], ["display-message", "-p", end])
        return ["if-shell", "-F", "1", " ; ".join(map(_line, both))]
    if query.option is not None:
        whole = moved_up = ["show-options", "-p", "-v", "-t", pane, "--", query.option]
    else:
        flags = [*(["-J"] if query.joined else []), *(["-e"] if query.styled else [])]
        whole = ["capture-pane", "-p", *flags, "-t", pane]
        # In a dead pane that remains, tmux prints a line at the bottom, which scrolls the top line
        # into the history.
        moved_up = [*whole, "-S", "-1"]
    last = _line(["display-message", "-p", end])
    when_alive = f"{_line(whole)} ; {last}"
    when_dead = f"{_line(moved_up)} ; {last}"
    return ["if-shell", "-F", "-t", pane, "#{pane_dead}", when_dead, when_alive]


def _line(words: Sequence[str]) -> str:
    return " ".join(map(quoted, words))


def quoted(argument: str) -> str:
    """Quote for tmux's parser, which interprets `$`, `~`, `#`, `;`, `{` and line ends even inside
    quotes, but not octal escapes. Plain words stay unquoted: in nested commands, quotes would grow
    with each level."""
    if _BARE.fullmatch(argument):
        return argument
    octets = argument.encode("utf-8", "surrogateescape").decode("latin-1")
    return f'"{octets.translate(_OCTAL)}"'


def kill_session_command(
    server: Server, session: ServerSession, judged: Sequence[Pane] = ()
) -> list[str]:
    """Kill a session if it is still the one that was seen, with the same panes: the server compares
    and kills in one step.

    A new server counts IDs from 0 again, so its identity is compared, too. If the session has
    changed, only the panes that were judged are killed."""
    holds = "".join(
        f"<{pane.id}.{pane.pid or ''}{'L' if pane.linked else ''}>" for pane in session.panes
    )
    seen = [*_session_facts(server, session), (GROUPED, str(int(session.grouped))), (HOLDS, holds)]
    panes = " ; ".join(_line(kill_pane_command(server, session, pane)) for pane in judged)
    kill = _if_same(f"{session.id}:", seen, f"kill-session -t '{session.id}'")
    return [*kill, panes] if panes else kill


def kill_pane_command(server: Server, session: ServerSession, pane: Pane) -> list[str]:
    """Kill a pane if it is still in that session, with the same process."""
    unchanged = f"#{{m:*<{pane.id}.{pane.pid or ''}[L>]*,#{{{HOLDS}}}}}"
    seen = _session_facts(server, session)
    return _if_same(f"{session.id}:", seen, f"kill-pane -t '{pane.id}'", unchanged)


def switch_client(
    server: Server, session: ServerSession, pane: Pane, client: str | None
) -> list[str]:
    """Switch a client (None: the current one) to a pane if it is still the one that was seen."""
    seen = [*_server_facts(server), ("pane_id", pane.id), ("session_created", str(session.created))]
    of_client = f"-c {quoted(client)} " if client else ""
    return _if_same(pane.id, seen, f"switch-client {of_client}-t '{pane.id}'")


# The 0.75 s that tmux shows a message by default are too short to read one. Who has set a longer
# time, or none (0: until a key is pressed), keeps it.
NOTICE_MS = 4000
TOO_BRIEF = f"#{{&&:#{{e|>|:#{{display-time}},0}},#{{e|<|:#{{display-time}},{NOTICE_MS}}}}}"


def notice(server: Server, session: ServerSession, client: str, text: str) -> list[str]:
    """Show a plain text to a client if its session still exists. Formats (`#(command)` would run
    one) and strftime codes are escaped."""
    shown = text.replace("#", "##").replace("%", "%%")
    # tmux 3.2 supports neither `-c` nor `--` here: it shows the text to the last active client.
    shown = f" {shown}" if shown.startswith("-") else shown
    commands = []
    for to in (["-t", f"{session.id}:"], ["-c", client]):
        as_set = _line(["display-message", *to, shown])
        longer = _line(["display-message", "-d", str(NOTICE_MS), *to, shown])
        commands.append(_line(["if-shell", "-F", TOO_BRIEF, longer, as_set]))
    command = _line(["if-shell", "-F", "#{m:3.2*,#{version}}", *commands])
    return _if_same(f"{session.id}:", _session_facts(server, session), command)


def if_option(wanted: Mapping[str, Sequence[str]], command: str) -> list[str]:
    """Run the command if each of these global options has one of its values ("": it is not set)."""
    any_of = []
    for name, values in wanted.items():
        any_of.append([f"#{{==:#{{{name}}},{_escape_value(value)}}}" for value in values])
    either = []
    for equal in any_of:
        either.append(reduce(lambda left, right: f"#{{||:{left},{right}}}", equal))
    return ["if-shell", "-F", _all_of(either), command]


def _escape_value(text: str) -> str:
    """Escape a text as a literal argument within a format."""
    return re.sub(r"[,}]", lambda found: f"#{found.group()}", _escape_format(text))


def _escape_format(text: str) -> str:
    """Escape `#` as `##`, as tmux expands formats in names and folders; a run before `[` is kept as
    it is."""
    return re.sub(r"#+(?![\[#])", lambda run: run.group() * 2, text)


def _server_facts(server: Server) -> list[tuple[str, str]]:
    return [("pid", str(server.pid)), ("start_time", str(server.started))]


def _pane_facts(pane: Pane) -> list[tuple[str, str]]:
    return [("pane_id", pane.id), ("pane_pid", "" if pane.pid is None else str(pane.pid))]


def _session_facts(server: Server, session: ServerSession) -> list[tuple[str, str]]:
    created = ("session_created", str(session.created))
    return [*_server_facts(server), ("session_id", session.id), created]


def _if_same(target: str, seen: list[tuple[str, str]], command: str, *more: str) -> list[str]:
    equal = [*(f"#{{==:#{{{name}}},{value}}}" for name, value in seen), *more]
    # tmux 3.2 crashes, with everything in it, on session_created without a session.
    return ["if-shell", "-F", "-t", target, f"#{{?#{{session_id}},{_all_of(equal)},}}", command]


def _all_of(conditions: Sequence[str]) -> str:
    """Nest the conditions, as && takes only two arguments before tmux 3.5."""
    return reduce(lambda left, right: f"#{{&&:{left},{right}}}", conditions)
