"""Builds the tmux commands that the program uses, as plain lists of arguments. Pure: quoting is
done where they leave for tmux. Targets are ids from a look, never names: names match by prefix and
pattern."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import chain

from tmuxreap.core import deeds
from tmuxreap.core.model import Pane, Server, Session
from tmuxreap.core.ports import Question

CREATED_FORMAT = "#{session_id}:#{pane_id}:#{pane_pid}"
# A pane may be dead by then: no pid from tmux 3.8 on.
CREATED = re.compile(r"^(\$\d+):(%\d+):(\d*)$", re.MULTILINE)
# What a session holds, in the order of its windows and panes; `L`: the window stands in another
# session too.
_HERE = "#{pane_id}.#{pane_pid}#{?#{==:#{window_linked_sessions},1},,L}"
HOLDS = f"W:#{{P:<{_HERE}>}}"
GROUPED = "&&:#{!=:#{session_group_size},},#{!=:#{session_group_size},1}"
TAKES_KEYS = (
    ("pane_in_mode", "0"),
    ("pane_dead", "0"),
    ("pane_input_off", "0"),
    ("pane_synchronized", "0"),
)

STATUS, STATUS_ASKED = "@tmuxreap-status", "@tmuxreap-segment"
STATUS_OF = "@tmuxreap-registry"

_BARE = re.compile(
    r"%[0-9]+|[A-Za-z0-9_./:,@=+-][A-Za-z0-9_./:,@%=+-]*"
)  # `%if` is a word of its own
_PLAIN = frozenset(b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%=+")
_OCTAL = {octet: f"\\{octet:03o}" for octet in range(256) if octet not in _PLAIN}


def command_of(deed: deeds.Deed) -> list[str]:
    match deed:
        case deeds.CloseSession(server, session, judged):
            return kill_session_command(server, session, judged)
        case deeds.ClosePane(server, session, pane):
            return kill_pane_command(server, session, pane)
        case deeds.Press(server, pane, keys, text):
            return press(server, pane, keys, text)
        case deeds.SetOption(where, option, value):
            given = ["-u"] if value is None else []
            set_to = [] if value is None else [value]
            return ["set-option", "-p", *given, "-t", where, "--", option, *set_to]
        case deeds.LeaveMode(where):
            return ["copy-mode", "-q", "-t", where]
        case deeds.SwitchClient(server, session, pane, client):
            return switch_client(server, session, pane, client)
        case deeds.SetStatus(registry, told):
            words = ["-gqu", STATUS] if told is None else ["-g", STATUS, told]
            wanted = {STATUS_ASKED: ("on",), STATUS_OF: ("", registry)}
            return if_option(wanted, _line(["set-option", *words]))


def creation_of(new: deeds.NewSession) -> list[list[str]]:
    made = [new_session(new.name, new.cwd, new.words, new.marks)]
    if new.remains:
        remains = deeds.SetOption(f"={new.name}:", "remain-on-exit", "on")
        made.append(command_of(remains))
    return made


def send_keys(pane: str, keys: Sequence[str]) -> list[str]:
    """Key names, as in `C-c` or `Enter`."""
    return ["send-keys", "-t", pane, "--", *keys]


def send_text(pane: str, text: str) -> list[str]:
    """Text as it is, no word of it taken for the name of a key."""
    return ["send-keys", "-t", pane, "-l", "--", text]


def press(server: Server, pane: Pane, keys: Sequence[str], text: str = "") -> list[str]:
    """Keys, or a text, for that pane, if it is still the one that was seen and takes keys for
    itself alone."""
    seen = [*_server_facts(server), *_pane_facts(pane), *TAKES_KEYS]
    command = send_text(pane.id, text) if text else send_keys(pane.id, keys)
    return _if_same(pane.id, seen, _line(command))


def question(asked: Question, end: str) -> list[str]:
    """Prints the answer and below it the line `end`; of a pane that is not there, nothing."""
    pane = asked.pane
    if asked.environment:  # the session's own alone: what the server gives to all is not in it
        both = (["show-environment", "-t", pane], ["display-message", "-p", end])
        return ["if-shell", "-F", "1", " ; ".join(map(_line, both))]
    if asked.option is not None:
        whole = moved_up = ["show-options", "-p", "-v", "-t", pane, "--", asked.option]
    else:
        how = [*(["-J"] if asked.joined else []), *(["-e"] if asked.styled else [])]
        whole = ["capture-pane", "-p", *how, "-t", pane]
        # A pane that dies and remains gets a line of tmux's own at the bottom: its top line moves
        # to the history.
        moved_up = [*whole, "-S", "-1"]
    last = ["display-message", "-p", end]
    when_dead, when_alive = (f"{_line(words)} ; {_line(last)}" for words in (moved_up, whole))
    return ["if-shell", "-F", "-t", pane, "#{pane_dead}", when_dead, when_alive]


def _line(words: Sequence[str]) -> str:
    return " ".join(map(quoted, words))


def quoted(argument: str) -> str:
    """For tmux's parser, which knows `$`, `~`, `#`, `;`, `{` and joins lines even inside quotes:
    octal is plain. What needs no quotes has none: in a command inside of another they would grow
    with each level."""
    if _BARE.fullmatch(argument):
        return argument
    octets = argument.encode("utf-8", "surrogateescape").decode("latin-1")
    return f'"{octets.translate(_OCTAL)}"'


def kill_session_command(
    server: Server, session: Session, judged: Sequence[Pane] = ()
) -> list[str]:
    """Kill that session, if it still is and holds what was seen: compared inside the server, in the
    same step.

    Ids begin again at 0 with a new server, so the server's own identity is compared too. Where
    something else is in it by now, those of the panes that were judged are killed instead."""
    held = "".join(
        f"<{pane.id}.{pane.pid or ''}{'L' if pane.linked else ''}>" for pane in session.panes
    )
    seen = [*_this_session(server, session), (GROUPED, str(int(session.grouped))), (HOLDS, held)]
    panes = " ; ".join(_line(kill_pane_command(server, session, pane)) for pane in judged)
    return [
        *_if_same(f"{session.id}:", seen, f"kill-session -t '{session.id}'"),
        *([panes] if panes else []),
    ]


def kill_pane_command(server: Server, session: Session, pane: Pane) -> list[str]:
    """Kill that pane, if it still stands in that session, with the same process in it."""
    there = f"#{{m:*<{pane.id}.{pane.pid or ''}[L>]*,#{{{HOLDS}}}}}"
    return _if_same(
        f"{session.id}:", _this_session(server, session), f"kill-pane -t '{pane.id}'", there
    )


def switch_client(server: Server, session: Session, pane: Pane, client: str | None) -> list[str]:
    """Bring a client (none: the current one) to that pane, if it is still the one that was seen."""
    seen = [*_server_facts(server), ("pane_id", pane.id), ("session_created", str(session.created))]
    of_client = f"-c {quoted(client)} " if client else ""
    return _if_same(pane.id, seen, f"switch-client {of_client}-t '{pane.id}'")


def notice(server: Server, session: Session, client: str, text: str) -> list[str]:
    """Show a plain text to that client, where that session still is. tmux expands formats in it
    (`#(command)` runs one), and the signs of a date."""
    shown = text.replace("#", "##").replace("%", "%%")
    # tmux 3.2 takes neither `-c` nor `--` here: there the client that was used last is told.
    shown = f" {shown}" if shown.startswith("-") else shown
    told = [
        _line(["display-message", *to, shown]) for to in (["-t", f"{session.id}:"], ["-c", client])
    ]
    command = _line(["if-shell", "-F", "#{m:3.2*,#{version}}", *told])
    return _if_same(f"{session.id}:", _this_session(server, session), command)


def new_session(
    name: str,
    cwd: str,
    command: Sequence[str],
    marks: Mapping[str, str],
    *,
    width: int = 200,
    height: int = 50,
) -> list[str]:
    """A detached session with `command` in it and no shell around (none: the user's shell); prints
    CREATED_FORMAT."""
    size = ["-x", str(width), "-y", str(height)]
    given = (("-e", f"{key}={value}") for key, value in marks.items())
    environment = chain.from_iterable(given)
    place = ["-s", _no_format(name), "-c", _no_format(cwd)]
    return [
        "new-session",
        "-d",
        "-P",
        "-F",
        CREATED_FORMAT,
        *place,
        *size,
        *environment,
        "--",
        *_shell_free(command),
    ]


def if_option(wanted: Mapping[str, Sequence[str]], command: str) -> list[str]:
    """The command, where each of these global options has one of these values ("": it is not
    set)."""
    any_of = [
        [f"#{{==:#{{{name}}},{_in_format(value)}}}" for value in values]
        for name, values in wanted.items()
    ]
    either = [reduce(lambda left, right: f"#{{||:{left},{right}}}", equal) for equal in any_of]
    return [
        "if-shell",
        "-F",
        reduce(lambda left, right: f"#{{&&:{left},{right}}}", either),
        command,
    ]


def _in_format(text: str) -> str:
    """As one argument of a format, taken as it is."""
    return re.sub(r"[,}]", lambda found: f"#{found.group()}", _no_format(text))


def _shell_free(command: Sequence[str]) -> list[str]:
    # tmux gives a single word to the shell, several to exec. env becomes the program, under the
    # same pid.
    return ["env", *command] if len(command) == 1 else [*command]


def _no_format(text: str) -> str:
    """tmux expands formats in names and folders: `##` stands for `#`, but before `[` a run stays as
    it is."""
    return re.sub(r"#+(?![\[#])", lambda run: run.group() * 2, text)


def _server_facts(server: Server) -> list[tuple[str, str]]:
    return [("pid", str(server.pid)), ("start_time", str(server.started))]


def _this_session(server: Server, session: Session) -> list[tuple[str, str]]:
    return [
        *_server_facts(server),
        ("session_id", session.id),
        ("session_created", str(session.created)),
    ]


def _pane_facts(pane: Pane) -> list[tuple[str, str]]:
    return [("pane_id", pane.id), ("pane_pid", "" if pane.pid is None else str(pane.pid))]


def _if_same(target: str, seen: list[tuple[str, str]], command: str, *more: str) -> list[str]:
    equal = [*(f"#{{==:#{{{name}}},{value}}}" for name, value in seen), *more]
    condition = reduce(
        lambda left, right: f"#{{&&:{left},{right}}}", equal
    )  # && takes two before tmux 3.5
    # tmux 3.2 crashes, with all that runs in it, when it is asked for the creation of a session
    # that is not there.
    return ["if-shell", "-F", "-t", target, f"#{{?#{{session_id}},{condition},}}", command]
