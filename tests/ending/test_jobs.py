"""Delegated jobs: told before the first key and after the end, never delaying either."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import FakeAgent, Story
from tmuxreap.ending import delegation
from tmuxreap.ending.delegation import JobReport, write_reports

WORD = JobReport("job-7", "acme", "completed", "manual_stop", 1_795_000_000.0)
AT = "2026-11-18T11:06:40Z"
PLENTY_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    jobs_folder = tmp_path / ".hermes" / "jobs"
    jobs_folder.mkdir(parents=True)
    return jobs_folder


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    (tmp_path / "jobs").mkdir()
    one = Story(tmp_path)
    yield one
    one.close()


def tell(folder: Path, word: JobReport = WORD, limit_s: float = PLENTY_S) -> str | None:
    return write_reports(folder.parent / "agent-sessions.yaml", [word], limit_s).get("acme")


def delegated(story: Story, job: str = "job-7", **agent: object) -> FakeAgent:
    one = story.agent(**agent)  # type: ignore[arg-type]
    text = story.path.read_text()
    story.path.write_text(
        text.replace('"agent": "demo"', f'"agent": "demo", "delegate_job_id": {json.dumps(job)}')
    )
    return one


def noted(story: Story) -> list[tuple[object, object]]:
    with story.ledger() as ledger:
        return [
            (event.data["event"], event.data["detail"])
            for event in ledger.events()
            if event.kind == "job"
        ]


def test_readers_of_a_job_find_its_words_and_its_numbers(story: Story) -> None:
    agent = delegated(story)
    job, log = (story.folder / "jobs" / f"job-7.{end}" for end in ("json", "events.log"))
    job.write_text('{"schema_version": 1, "id": "job-7", "status": "running", "last_seq": 2}')
    log.write_text(
        '{"schema_version": 1, "seq": 1, "event": "started"}\n{"schema_version": 1, "seq": 2}\n'
    )
    heard: list[tuple[str, str, int]] = []
    press = agent.pane.on_key
    assert press is not None

    def pressed(key: str) -> None:
        facts = json.loads(job.read_text())
        heard.append((facts["status"], facts["detail"], facts["last_seq"]))
        press(key)

    agent.pane.on_key = pressed
    assert story.stop("acme").exit == 0
    assert set(heard) == {("running", "terminating", 3)}
    facts = json.loads(job.read_text())
    assert (facts["schema_version"], facts["status"], facts["last_seq"]) == (1, "completed", 4)
    lines = [json.loads(line) for line in log.read_text().splitlines()[2:]]
    events = [(line["schema_version"], line["seq"], line["event"]) for line in lines]
    assert events == [(1, 3, "progress"), (1, 4, "completed")]


def test_a_line_is_numbered_by_the_one_before_it_or_by_the_job(folder: Path) -> None:
    log = folder / "job-7.events.log"
    log.write_text('{"schema_version": "2", "seq": 41}\n')
    assert tell(folder) is None
    last = json.loads(log.read_text().splitlines()[-1])
    assert (last["schema_version"], last["seq"]) == ("2", 42)
    log.write_text("")
    (folder / "job-7.json").write_text('{"schema_version": 3, "last_seq": 7}')
    assert tell(folder) is None
    last = json.loads(log.read_text())
    assert (last["schema_version"], last["seq"]) == (3, 8)
    assert json.loads((folder / "job-7.json").read_text())["last_seq"] == 8


def test_without_a_line_the_number_of_the_last_one_stays(folder: Path) -> None:
    (folder / "job-7.json").write_text('{"last_seq": 7}')
    assert tell(folder) is None
    assert json.loads((folder / "job-7.json").read_text())["last_seq"] == 7


@pytest.mark.parametrize(
    "job", ["../../x", "/etc/passwd", "a/b", ".", "", "a\0b", "x" * 500, "-rf", "job 7"]
)
def test_an_id_that_is_no_file_name_reaches_no_file(tmp_path: Path, folder: Path, job: str) -> None:
    outside = tmp_path / "x.json"
    outside.write_text("{}")
    warning = tell(folder, JobReport(job, "acme", "completed", None, 1.0))
    assert warning is not None
    assert "its ID is no name of a file" in warning
    assert outside.read_text() == "{}"


def test_a_hostile_job_id_does_not_prevent_a_stop(story: Story) -> None:
    delegated(story, "../../x")
    result = story.stop("acme")
    assert result.exit == 0
    assert story.row()["status"] == "stopped"
    warnings = result.results[0].as_json()["warnings"]
    assert "its ID is no name of a file" in str(warnings)
    assert noted(story) == [("progress", "terminating"), ("completed", "manual_stop")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Expecting property name"),
        ("[]", "it is no JSON object"),
        ("", "Expecting value"),
        ("[" * 100_000, "recursion"),
        ('{"a": "' + "x" * delegation.MAX_BYTES + '"}', "it is larger than"),
        ("\udcff\udcfe", "decode"),
    ],
)
def test_a_broken_job_is_left_as_it_is(folder: Path, text: str, said: str) -> None:
    job, data = folder / "job-7.json", text.encode("utf-8", "surrogateescape")
    job.write_bytes(data)
    warning = tell(folder)
    assert warning is not None
    assert said in warning
    assert job.read_bytes() == data
    assert os.listdir(folder) == ["job-7.json"]


@pytest.mark.parametrize("end", [".json", ".events.log"])
def test_neither_links_nor_pipes_nor_folders_are_written_to(
    tmp_path: Path, folder: Path, end: str
) -> None:
    outside = tmp_path / "elsewhere"
    outside.write_text("{}")
    for make in (lambda p: p.symlink_to(outside), os.mkfifo, lambda p: p.mkdir()):
        path = folder / f"job-7{end}"
        make(path)
        warning = tell(folder)
        assert warning is not None
        assert "no answer" not in warning
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    assert outside.read_text() == "{}"


def test_another_users_file_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "job-7.json").write_text("{}")
    monkeypatch.setattr(delegation.os, "geteuid", lambda: 4_000_000)
    warning = tell(folder)
    assert warning is not None
    assert "it belongs to another user" in warning
    assert (folder / "job-7.json").read_text() == "{}"


def test_a_hanging_job_folder_is_awaited_for_the_limit_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(delegation, "_problem_writing", lambda *_: hangs.wait())
    problems = write_reports(folder.parent / "agent-sessions.yaml", [WORD], limit_s=0.05)
    assert "no answer in 0.05 s" in problems["acme"]
    hangs.set()


def test_the_layout_and_the_mode_of_a_job_stay(folder: Path) -> None:
    job = folder / "job-7.json"
    job.write_text('{\n    "status": "running",\n    "by": ["me"]\n}\n')
    job.chmod(0o640)
    assert tell(folder) is None
    assert (
        job.read_text()
        == '{\n    "status": "completed",\n    "by": [\n        "me"\n    ],\n    "detail":'
        f' "manual_stop",\n    "updated_at": "{AT}"\n}}\n'
    )
    assert job.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("before", "line"),
    [
        (
            '{"event": "started"}',
            '{"timestamp": "%s", "event": "completed", "job_id": "job-7", "session": "acme", '
            '"detail": "manual_stop"}',
        ),
        ("10:00 started", "%s completed acme manual_stop"),
    ],
)
def test_a_new_line_takes_the_form_of_the_others(folder: Path, before: str, line: str) -> None:
    log = folder / "job-7.events.log"
    log.write_text(before)  # without a final newline
    assert tell(folder) is None
    assert log.read_text() == f"{before}\n{line % AT}\n"


def test_a_job_changed_meanwhile_by_another_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = folder / "job-7.json"
    job.write_text("{}")
    monkeypatch.setattr(
        delegation, "_in_layout_of", lambda *_: job.write_text('{"his": 1}') and "{}"
    )
    warning = tell(folder)
    assert warning is not None
    assert "changed meanwhile" in warning
    assert job.read_text() == '{"his": 1}'


def test_a_readonly_folder_is_a_warning(folder: Path) -> None:
    from tests.command_line import Child, without_powers

    job = folder / "job-7.json"
    job.write_text("{}")
    folder.chmod(0o500)

    def work() -> int:
        without_powers()
        return 0 if "Permission denied" in (tell(folder) or "") else 1

    assert Child(work).answer().exit == 0
    folder.chmod(0o700)


HANGS = """
import threading
from pathlib import Path
from tmuxreap.ending import delegation
delegation._problem_writing = lambda *_: threading.Event().wait()
report = delegation.JobReport("7", "acme", "completed", "", 1.0)
print(delegation.write_reports(Path("rows.yaml"), [report], 0.05))
"""


def test_a_folder_that_hangs_does_not_keep_the_program_from_exiting() -> None:
    words = [sys.executable, "-c", HANGS]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert "no answer in 0.05 s" in told.stdout
