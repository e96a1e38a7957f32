"""Broken registries and command lines: the contract's code, a hint, and nothing written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command_line import Answer, Child
from tests.command_line import tmuxreap as run
from tmuxreap.__main__ import main
from tmuxreap.core import faults
from tmuxreap.system import files

ROW = "tmux_sessions:\n  - name: a\n    status: running\n  - name: b\n    status: stopped\n"
pytestmark = pytest.mark.usefixtures("apart")


def everything(folder: Path) -> dict[str, bytes | str]:
    """Return the content of every file except locks."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file() and path.suffix != ".lock":
            found[name] = path.read_bytes()
    return found


def refused(answer: Answer, exit_code: int, code: str, *words: str) -> None:
    error = answer.error
    assert (answer.exit, error["code"]) == (exit_code, code)
    assert error["message"].startswith("could not ")
    assert error["hint"]
    for word in words:
        assert word in error["message"], error
    assert answer.err == ""  # with --json everything is on stdout


VERBS = {
    "list": ("list", "--json"),
    "show": ("show", "a", "--json"),
    "stop": ("stop", "a", "--json"),
    "kill": ("kill", "a", "--json", "--grace", "0"),
    "resume": ("resume", "b", "--json"),
    "forget": ("forget", "b", "--json"),
}

WHOLE = {
    "empty": ("", "registry_invalid", "empty"),
    "blank": ("\n \n", "registry_invalid", "empty"),
    "comments": ("# nothing yet\n", "registry_invalid", "comments"),
    "not YAML": ("tmux_sessions: [a\nb: }\n", "registry_invalid", "line 2, column 2"),
    "tab": ("tmux_sessions:\n\t- name: a\n", "registry_invalid", "line 2, column 1"),
    "map": ("tmux_sessions:\n  a: {status: running}\n", "registry_invalid", "line 2, column 3"),
    "text": ("tmux_sessions: hello\n", "registry_invalid", "not a list"),
    "other key": ("sessions: []\n", "registry_invalid", "tmux_sessions"),
    "list on top": ("- name: a\n", "registry_invalid", "not a mapping"),
    "twice": ("tmux_sessions: []\ntmux_sessions: []\n", "registry_invalid", "twice"),
    "two documents": (ROW + "---\n" + ROW, "registry_invalid", "more than one document"),
    "not UTF-8": (ROW.encode() + b"x: '\xff'\n", "registry_invalid", "UTF-8", "line 6"),
    "NUL": (ROW + "x: \0\n", "registry_invalid", "#x0000"),
    "UTF-16": (ROW.encode("utf-16"), "registry_invalid", "UTF-8"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_that_is_no_registry_is_refused_and_unchanged(
    kind: str, verb: str, registry: Path, tmp_path: Path
) -> None:
    content, code, *words = WHOLE[kind]
    registry.write_bytes(content.encode() if isinstance(content, str) else content)
    before = everything(tmp_path)
    refused(run(*VERBS[verb]), 6, code, *words)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("verb", ["start", "adopt"])
def test_start_and_adopt_refuse_a_broken_registry(
    verb: str, registry: Path, tmp_path: Path
) -> None:
    registry.write_text("tmux_sessions: {}\n")
    before = everything(tmp_path)
    words = ("start", "a", "--agent", "demo", "--json", "--", "true")
    refused(run(*words) if verb == "start" else run("adopt", "a", "--json"), 6, "registry_invalid")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_without_a_registry_is_refused_and_left_empty(verb: str, tmp_path: Path) -> None:
    refused(run(*VERBS[verb]), 6, "registry_not_found", "agent-sessions.yaml")
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_a_named_registry_that_is_missing_is_refused(
    how: str, registry: Path, tmp_path: Path
) -> None:
    registry.write_text(ROW)
    flag = ("--registry", "other.yaml") if how == "flag" else ()
    env = {} if how == "flag" else {"TMUXREAP_REGISTRY": "other.yaml"}
    answer = run("stop", "a", "--json", *flag, env=env)
    refused(
        answer,
        6,
        "registry_not_found",
        "other.yaml",
        "--registry" if flag else "$TMUXREAP_REGISTRY",
    )


def test_a_deleted_working_directory_is_reported() -> None:
    def work() -> int:
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)
        return main(["list", "--json"])

    refused(Child(work).answer(), 6, "registry_not_found", "deleted")


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_in_place_of_the_registry_is_refused(verb: str, registry: Path) -> None:
    registry.mkdir()
    refused(run(*VERBS[verb]), 6, "registry_invalid", "folder")
    assert list(registry.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    answer = run("list", "--json", "--registry", "plain/agent-sessions.yaml")
    assert answer.exit == 6
    refused(answer, 6, answer.error["code"])
    assert answer.error["code"] in ("registry_invalid", "registry_not_found")


@pytest.mark.parametrize("verb", VERBS)
def test_a_dangling_link_is_refused_and_named(verb: str, registry: Path, tmp_path: Path) -> None:
    registry.symlink_to("elsewhere.yaml")
    refused(run(*VERBS[verb]), 6, "registry_not_found", "it is a link to", "elsewhere.yaml")
    assert everything(tmp_path) == {".hermes/agent-sessions.yaml": "-> elsewhere.yaml"}


def test_a_link_to_itself_is_refused(registry: Path) -> None:
    registry.symlink_to(registry)
    answer = run("list", "--json")
    refused(answer, 6, answer.error["code"])
    assert answer.error["code"] in ("registry_invalid", "registry_not_found")


# One bad row fails what refers to it, and nothing else

BAD_ROWS = {
    "twice": (
        "  - name: c\n    status: stopped\n  - name: c\n    status: running\n",
        "c",
        "2 times",
    ),
    "unknown status": (
        "  - name: c\n    status: paused\n",
        "c",
        "'paused' is not one of running, stopped",
    ),
    "no status": ("  - name: c\n", "c", "status"),
    "status is a list": ("  - name: c\n    status: [running]\n", "c", "status"),
    "tag": ("  - name: c\n    status: stopped\n    x: !odd 1\n", "c", "a tag"),
    "alias of itself": ("  - name: c\n    status: stopped\n    x: &x [*x]\n", "c", "itself"),
    "merge of a word": ("  - name: c\n    status: stopped\n    <<: y\n", "c", "merge key"),
    "key twice": ("  - name: c\n    status: stopped\n    status: running\n", "c", "twice"),
    "unknown terminal": (
        "  - name: c\n    status: stopped\n    terminal: screen\n",
        "c",
        "terminal 'screen'",
    ),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_row_fails_the_targets_that_mean_it(
    kind: str, registry: Path, tmp_path: Path
) -> None:
    text, name, reason = BAD_ROWS[kind]
    registry.write_text(ROW + text)
    before = everything(tmp_path)
    for verb in ("show", "stop", "kill", "resume", "forget"):
        answer = run(verb, name, "--json")
        refused(answer, 6, "row_invalid", reason, ", line ")
        assert {one["name"] for one in answer.json["results"]} == {name}
    assert everything(tmp_path) == before


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_the_other_rows_continue(kind: str, registry: Path) -> None:
    text, name, _ = BAD_ROWS[kind]
    registry.write_text(ROW + text)
    answer = run("stop", "a", name, "--json")
    assert (answer.exit, set(answer.codes)) == (6, {"row_invalid"})
    assert answer.json["results"][0]["outcome"] == "stopped"
    assert registry.read_text().endswith("  - name: b\n    status: stopped\n" + text)
    assert run("forget", "b", "--json").exit == 0
    assert registry.read_text().endswith(text)
    assert run("list", "--json").exit == 0


NAMELESS = {
    "no name": ("  - status: running\n", "no name"),
    "empty name": ("  - name: ''\n    status: running\n", "no name"),
    "null name": ("  - name: null\n    status: running\n", "no name"),
    "number": ("  - name: 12\n    status: running\n", "put it in quotes"),
    "no mapping": ("  - just text\n", "mapping"),
    "null": ("  -\n", "mapping"),
    "list": ("  - [a, b]\n", "mapping"),
}


@pytest.mark.parametrize("kind", NAMELESS)
def test_a_row_without_a_name_is_reported_by_its_place(kind: str, registry: Path) -> None:
    text, reason = NAMELESS[kind]
    registry.write_text(ROW + text)
    listed = run("list", "--json")
    assert listed.exit == 0
    assert [one["name"] for one in listed.json["results"]] == ["a", "b"]
    (warning,) = listed.json["warnings"]
    assert warning.startswith("could not use the row number 3: ")
    assert reason in warning
    assert "line 6" in warning
    answer = run("stop", "all", "--json")
    assert (answer.exit, answer.codes) == (6, ["row_invalid"])
    assert registry.read_text().endswith(text)


NAMES = [
    "two words",
    "it's",
    'say "hi"',
    "v1.2",
    "a:b",
    "$9",
    "-dash",
    "--json",
    "{x}",
    "[x]",
    "*",
    "# no comment",
    "é😀",
    "12",
    "pid:7",
    "tag:x",
    "no",
    "a,b",
    "=a",
    "%1",
    "#{pid}",
    "a\\b",
]


def quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def test_odd_names_are_names(registry: Path) -> None:
    others = "".join(f"  - name: {quoted(name)}\n    status: stopped\n" for name in NAMES)
    registry.write_text("tmux_sessions:\n" + others)
    listed = run("list", "--json").json
    assert [one["name"] for one in listed["results"]] == NAMES
    assert listed["warnings"] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_name_is_stopped_and_forgotten_alone(name: str, registry: Path) -> None:
    row = f"  - name: {quoted(name)}\n    status: running\n"
    registry.write_text("tmux_sessions:\n" + row + "  - name: other\n    status: running\n")
    answer = run("stop", "--json", "--", name)
    assert answer.exit == 0
    (result,) = answer.json["results"]
    assert (result["name"], result["outcome"], result["stopped_by"]) == (
        name,
        "stopped",
        "already_gone",
    )
    assert f"  - name: {quoted(name)}\n    status: stopped\n" in registry.read_text()
    assert run("forget", "--json", "-", stdin=f"{name}\n").exit == 0
    assert registry.read_text() == "tmux_sessions:\n  - name: other\n    status: running\n"


@pytest.mark.parametrize(
    "name",
    [
        "all",
        "-",
        "tag:x",
        "pid:7",
        "task:T-1",
        "tree:x",
        "v1.2",
        "a:b",
        "$9",
        "-dash",
        "*",
        "a[b]",
        "#{pid}",
        "",
    ],
)
def test_start_refuses_names_that_tmux_or_targets_read_otherwise(name: str, tmp_path: Path) -> None:
    refused(run("start", "--agent", "demo", "--json", "--", name, "true"), 2, "usage")
    assert everything(tmp_path) == {}


def test_a_registry_of_a_thousand_rows_is_listed_and_edited(registry: Path) -> None:
    rows = [
        f"  # {n}\n  - name: s{n}\n    status: running\n    pane: {{pid: {n + 1}, cwd: /x}}\n"
        for n in range(1000)
    ]
    registry.write_text("tmux_sessions:\n" + "".join(rows))
    assert len(run("list", "--json").json["results"]) == 1000
    answer = run("stop", "s500", "--json")
    assert answer.exit == 0
    after = registry.read_text()
    assert after.startswith("tmux_sessions:\n" + "".join(rows[:500]))
    assert after.endswith("".join(rows[501:]))


# The command line

USAGE = {
    "no verb that is known": ("pause", "a"),
    "no such flag": ("stop", "a", "--hard"),
    "no target": ("stop",),
    "flag without value": ("stop", "a", "--reason"),
    "no number": ("stop", "a", "--grace", "soon"),
    "not finite": ("stop", "a", "--grace", "inf"),
    "negative": ("kill", "a", "--grace", "-1"),
    "no span": ("events", "--since", "yesterday"),
    "no pause": ("watch", "--interval", "0"),
    "a pause for ever": ("watch", "--interval", "1e308"),
    "a command that is not there": ("watch", "--exec", "/nope/x"),
    "no key": ("list", "--sort", "colour"),
    "no status": ("list", "--status", "paused"),
    "no name": ("start",),
    "no agent": ("start", "x"),
    "ttl": ("start", "x", "--agent", "demo", "--ttl", "long"),
}


@pytest.mark.parametrize("kind", USAGE)
def test_a_wrong_command_line_is_answered_in_json(kind: str, registry: Path) -> None:
    registry.write_text(ROW)
    words = USAGE[kind]
    refused(run(words[0], "--json", *words[1:]), 2, "usage")
    refused(
        (
            run(*words, "--json")
            if kind != "flag without value"
            else run("stop", "--json", "--reason")
        ),
        2,
        "usage",
    )
    told = run(*words)
    assert (told.exit, told.out) == (2, "")
    assert told.err.startswith("error: could not ")
    assert registry.read_text() == ROW


def test_events_of_unusable_and_forgotten_rows_are_reported(registry: Path) -> None:
    registry.write_text(ROW)
    assert run("forget", "b").exit == 0
    registry.write_text(ROW.replace("running", "asleep"))
    told = run("events", "a", "b", "--json")
    assert (told.exit, [event["name"] for event in told.json["results"]]) == (0, ["b"])


@pytest.mark.parametrize("target", ["nosuch", "nosuch*", "tag:none", "agent:none"])
def test_a_target_without_a_row_is_not_registered(target: str, registry: Path) -> None:
    registry.write_text(ROW)
    for verb in ("stop", "kill", "show", "resume", "forget", "list", "events"):
        refused(run(verb, target, "--json"), 3, "session_not_registered", target)
    assert registry.read_text() == ROW


def test_all_of_an_empty_registry_succeeds(registry: Path) -> None:
    registry.write_text("tmux_sessions: []\n")
    for verb in ("stop", "kill", "show", "resume", "forget", "list", "events"):
        answer = run(verb, "all", "--json")
        assert (answer.exit, answer.json["results"]) == (0, [])


def test_several_kinds_of_failure_exit_with_status_one(registry: Path) -> None:
    registry.write_text(ROW + "  - name: c\n    status: odd\n")
    answer = run("stop", "c", "nosuch", "--json")
    assert (answer.exit, sorted(answer.codes)) == (1, ["row_invalid", "session_not_registered"])


def test_a_real_process_answers_the_same(registry: Path) -> None:
    registry.write_text("tmux_sessions: {}\n")
    env: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "tmuxreap", "stop", "a", "--json"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    refused(Answer(done.returncode, done.stdout, done.stderr), 6, "registry_invalid", "line 1")
    done = subprocess.run(
        [sys.executable, "-m", "tmuxreap", "stop", "a"], env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("error: could not read the registry ")
    assert "\nhint: " in done.stderr


def test_a_call_leaves_nothing_in_the_process(
    registry: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a server with many calls: no descriptor, armed fault, changed environment or limit is
    left."""
    registry.write_text(ROW)
    assert main(["list", "--json"]) == 0  # late imports happen in the first call
    before = (
        sorted(os.listdir("/proc/self/fd")),
        dict(os.environ),
        Path.cwd(),
        resource.getrlimit(resource.RLIMIT_FSIZE),
    )
    with monkeypatch.context() as armed:
        armed.setenv("TMUXREAP_FAULT", "temp_created=EIO")
        assert main(["forget", "b", "--json"]) == 6
    assert main(["forget", "b", "--json"]) == 0
    assert main(["stop", "a", "--json"]) == 0
    assert main(["stop", "nosuch", "--json"]) == 3
    faults.at(faults.Step.TEMP_CREATED)
    after = (
        sorted(os.listdir("/proc/self/fd")),
        dict(os.environ),
        Path.cwd(),
        resource.getrlimit(resource.RLIMIT_FSIZE),
    )
    assert after == before
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_an_empty_file_and_a_folder_have_hints_of_their_own(tmp_path: Path) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    assert "delete it" in run("list", "--registry", str(empty)).err
    assert "edit" not in run("list", "--registry", str(tmp_path)).err
    assert "DIR/.hermes/agent-sessions.yaml" in run("list", "--registry", str(tmp_path)).err
