from __future__ import annotations

import pytest

from tmuxreap.core.model import (
    LeaveMode,
    NewSession,
    Pane,
    Server,
    ServerSession,
    SetOption,
    SetStatus,
)
from tmuxreap.system.tmux.client import (
    command_of,
    creation_of,
    kill_pane_command,
    kill_session_command,
    quoted,
    typed,
)

PANE = Pane("%5", 70, "/dev/pts/3", False, False, False, False, "@2", False, "off")
SESSION = ServerSession("$3", "acme", 1795000100, 1795000200, 0, False, (PANE,))
HELD = "#{W:#{P:<#{pane_id}.#{pane_pid}#{?#{==:#{window_linked_sessions},1},,L}>}}"
SERVER = Server("/tmp/tmux-1000/default", 42, 1795000000, (SESSION,))


def test_a_session_is_killed_by_its_whole_identity() -> None:
    assert kill_session_command(SERVER, SESSION) == [
        "if-shell",
        "-F",
        "-t",
        "$3:",
        (
            "#{?#{session_id},"
            "#{&&:#{&&:#{&&:#{&&:#{&&:#{==:#{pid},42},#{==:#{start_time},1795000000}},#{==:#{session_id},$3}},"
            "#{==:#{session_created},1795000100}},"
            "#{==:#{&&:#{!=:#{session_group_size},},#{!=:#{session_group_size},1}},0}},"
            f"#{{==:{HELD},<%5.70>}}}},}}"
        ),
        "kill-session -t '$3'",
    ]


def test_where_more_is_in_it_by_now_the_judged_panes_are_killed_instead() -> None:
    command = kill_session_command(SERVER, SESSION, [PANE])
    assert command[:6] == kill_session_command(SERVER, SESSION)
    (instead,) = command[6:]
    assert instead == " ".join(map(quoted, kill_pane_command(SERVER, SESSION, PANE)))


def test_a_pane_is_killed_by_its_whole_identity() -> None:
    assert kill_pane_command(SERVER, SESSION, PANE) == [
        "if-shell",
        "-F",
        "-t",
        "$3:",
        (
            "#{?#{session_id},"
            "#{&&:#{&&:#{&&:#{&&:#{==:#{pid},42},#{==:#{start_time},1795000000}},#{==:#{session_id},$3}},"
            f"#{{==:#{{session_created}},1795000100}}}},#{{m:*<%5.70[L>]*,{HELD}}}}},}}"
        ),
        "kill-pane -t '%5'",
    ]


def test_keys_text_and_options_go_to_a_pane_by_its_id() -> None:
    assert command_of(LeaveMode("%5")) == ["copy-mode", "-q", "-t", "%5"]
    assert typed("%5", ["C-c", "Enter"]) == ["send-keys", "-t", "%5", "--", "C-c", "Enter"]
    assert typed("%5", (), "-l;") == ["send-keys", "-t", "%5", "-l", "--", "-l;"]
    given, unset = SetOption("%5", "@x", "-1"), SetOption("%5", "@x", None)
    assert command_of(given) == ["set-option", "-p", "-t", "%5", "--", "@x", "-1"]
    assert command_of(unset) == ["set-option", "-p", "-u", "-t", "%5", "--", "@x"]


def test_the_status_is_set_where_it_is_wanted_and_as_it_is_written() -> None:
    told = command_of(SetStatus("/r/sessions.yaml", "1 idle; #(x)"))
    assert told[:3] == [
        "if-shell",
        "-F",
        "#{&&:#{==:#{@tmuxreap-segment},on},"
        "#{||:#{==:#{@tmuxreap-registry},},#{==:#{@tmuxreap-registry},/r/sessions.yaml}}}",
    ]
    assert told[3] == f"set-option -g @tmuxreap-status {quoted('1 idle; #(x)')}"
    assert command_of(SetStatus("/r", None))[3] == "set-option -gqu @tmuxreap-status"


def test_a_new_session_is_detached_wide_and_marked() -> None:
    new = NewSession("acme", "/w", ["claude", "--resume", "x"], {"A": "1", "B": "2"})
    assert creation_of(new)[0] == [
        *(
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{session_id}:#{pane_id}:#{pane_pid}",
            "-s",
            "acme",
            "-c",
            "/w",
        ),
        *("-x", "200", "-y", "50", "-e", "A=1", "-e", "B=2", "--", "claude", "--resume", "x"),
    ]


@pytest.mark.parametrize(
    ("command", "run"), [(["claude"], ["env", "claude"]), ([], []), (["a", "b"], ["a", "b"])]
)
def test_no_shell_stands_around_the_program(command: list[str], run: list[str]) -> None:
    [words] = creation_of(NewSession("acme", "/w", command))
    assert words[words.index("--") + 1 :] == run


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a#b", "a##b"), ("#{pid}", "##{pid}"), ("#[x]", "#[x]"), ("##[", "##["), ("##", "####")],
)
def test_names_and_folders_are_no_formats(text: str, escaped: str) -> None:
    [words] = creation_of(NewSession(text, text, []))
    assert (words[words.index("-s") + 1], words[words.index("-c") + 1]) == (escaped, escaped)
