"""Promise 3, the registry's half: a command changes only the fields and rows it must, through the
real command line; every other byte stays. Comparing lines finds the changes, not the code under
test."""

from __future__ import annotations

import difflib
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.command_line import tmuxreap as run

ROOT = Path(__file__).parent.parent.parent
END = {
    "stopped_at",
    "stopped_at_epoch",
    "stop_reason",
    "termination_mode",
    "stopped_by",
    "resumable",
}

BLOCK = """\
# top
version: "3"   # of another tool

tmux_sessions:
  # first
  - name: a    # the name
    status: running     # the status
    unknown: {deep: [1, 2, {x: y}], when: 2026-11-18}
    claude_session_id_own: null   # placeholder
    pane:
      pid: 4194303
      cwd: '/x y'  # quoted

    note: |
      kept~~~
        as it is

  # second
  - status: "running"
    name: 'b'
other: yes
""".replace("~", " ")

PANDAS = """\
tmux_sessions:
- claude_session_id_own: null
  mcp_attachments: []
  name: a
  pane:
    cmd: claude
    cwd: /x
    pid: 4194303
  status: running
- name: b
  status: running
"""

SHARED = """\
tmux_sessions:
- name: before
  status: completed
  tags: &id001
  - night
- name: a
  status: running
  tags: *id001
- name: b
  status: running
  tags: *id001
"""

SPREAD = """\
tmux_sessions:

  -   status:    running
      name:      a


  -
    name: b
    status: running
...
"""

FLOW = """\
tmux_sessions: [
  {name: a, status: running, pane: {pid: 4194303}, odd: "it's"},   # one
  {status: 'running', name: b}  # two
]  # end
"""

HANDS = {
    "block": BLOCK,
    "CRLF": BLOCK.replace("\n", "\r\n"),
    "BOM": "\ufeff" + BLOCK,
    "BOM and CRLF": "\ufeff" + BLOCK.replace("\n", "\r\n"),
    "no final newline": BLOCK.rstrip("\n"),
    "ends in the row": (
        'tmux_sessions:\n  - {name: b, status: running}\n  - name: a\n    status: "running"'
    ),
    "safe_dump": PANDAS,
    "shared list": SHARED,
    "spread": SPREAD,
    "one-line rows": (
        "tmux_sessions:\n  - {name: a, status: running} # a\n  - {name: b, status: running} # b\n"
    ),
    "flow list": FLOW,
    "JSON": (
        '{"tmux_sessions": [{"name": "a", "status": "running"}, {"name": "b", "status":'
        ' "running"}], "n": 1}\n'
    ),
    "unicode": BLOCK.replace("# first", "# 最初 😀").replace("/x y", "/é"),
}
STOPPED_BACK = re.compile(r"stopped(?=\W)")


def pieces(text: str) -> list[str]:
    """Split into words, punctuation and white space, to tell additions from removals."""
    return re.findall(r"\w+|\s|.", text)


def cut(before: str, after: str) -> tuple[str, str]:
    """Return what was removed from the one and added to the other."""
    old, new = pieces(before), pieces(after)
    out, into = [], []
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            out.append("".join(old[i1:i2]))
            into.append("".join(new[j1:j2]))
    return "".join(out), "".join(into)


def data(content: bytes) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in yaml.safe_load(content)["tmux_sessions"]}


@pytest.mark.parametrize("verb", ["stop", "kill"])
@pytest.mark.parametrize("hand", HANDS)
def test_an_ending_changes_its_fields_alone(hand: str, verb: str, registry: Path) -> None:
    before = HANDS[hand].encode()
    registry.write_bytes(before)
    assert run(verb, "a", "--json").exit == 0
    after = registry.read_bytes()
    out, into = cut(before.decode(), after.decode())
    assert out == "running"
    assert into.startswith("stopped")
    old, new = data(before), data(after)
    assert new["b"] == old["b"]
    changed = {key for key in {*old["a"], *new["a"]} if old["a"].get(key) != new["a"].get(key)}
    assert changed == END | {"status"}
    assert list(new["a"])[: len(old["a"])] == list(old["a"])  # in the old order, new keys last
    rest = [yaml.safe_load(text) for text in (before, after)]
    for document in rest:
        del document["tmux_sessions"]
    assert rest[0] == rest[1]
    assert (b"\r\n" in before) is (b"\r\n" in after)
    assert after.count(b"\n") == after.count(b"\r\n") or b"\r\n" not in after
    assert after.startswith(b"\xef\xbb\xbf") is before.startswith(b"\xef\xbb\xbf")
    assert after.endswith(before[-1:]) or hand == "ends in the row"


@pytest.mark.parametrize("hand", HANDS)
def test_taking_an_ending_back_gives_the_old_bytes(hand: str, registry: Path) -> None:
    """Additions are whole lines or whole `, key: value` pairs: without them, nothing differs."""
    before = HANDS[hand].encode()
    registry.write_bytes(before)
    assert run("stop", "a", "--json").exit == 0
    text = registry.read_bytes().decode()
    for key in END:
        text, lines = re.subn(rf"\r?\n +{key}: [^\r\n]*", "", text)
        text, pairs = re.subn(rf', "?{key}"?: ("[^"]*"|[^,}}]*)', "", text)
        assert lines + pairs == 1, key
    assert STOPPED_BACK.sub("running", text, count=1).encode() == before


ROW_B = "  - status: \"running\"\n    name: 'b'\n"
CUTS = {
    "CRLF": ROW_B.replace("\n", "\r\n"),
    "BOM and CRLF": ROW_B.replace("\n", "\r\n"),
    "ends in the row": "  - {name: b, status: running}\n",
    "safe_dump": "- name: b\n  status: running\n",
    "shared list": "- name: b\n  status: running\n  tags: *id001\n",
    "spread": "  -\n    name: b\n    status: running\n",
    "one-line rows": "  - {name: b, status: running} # b\n",
    "flow list": "{status: 'running', name: b}",  # a trailing comma is allowed
    "JSON": ', {"name": "b", "status": "running"}',
}


@pytest.mark.parametrize("hand", HANDS)
def test_forgetting_takes_its_row_alone(hand: str, registry: Path) -> None:
    before = HANDS[hand]
    registry.write_bytes(before.encode())
    assert run("forget", "b", "--force", "--json").exit == 0
    after = registry.read_bytes().decode()
    gone = CUTS.get(hand, ROW_B)
    assert before.count(gone) == 1
    assert after == before.replace(gone, "")


def test_two_rows_change_at_once_and_a_third_stays(registry: Path) -> None:
    text = BLOCK.replace("other:", "  # third\n  - {name: c, status: running}  # c\nother:")
    registry.write_text(text)
    assert run("stop", "a", "c", "--json").exit == 0
    out, into = cut(text, registry.read_text())
    assert out == "running" * 2
    assert into.count("already_gone") == 2
    assert data(registry.read_bytes())["b"] == {"status": "running", "name": "b"}


@pytest.mark.parametrize("verb", ["list", "show", "stop", "kill", "events", "resume"])
def test_read_only_verbs_leave_the_same_file(verb: str, registry: Path) -> None:
    """Nor do a repeated ending and a plan: no byte changes, and no new file replaces it."""
    registry.write_text(BLOCK.replace("running", "stopped"))
    before, content = registry.stat(), registry.read_bytes()
    run(verb, "a", "--json")
    run("stop", "a", "--json", "--dry-run")
    run("forget", "a", "--json", "--dry-run")
    assert registry.read_bytes() == content
    assert (registry.stat().st_ino, registry.stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


def test_a_plan_of_a_running_row_writes_nothing(registry: Path) -> None:
    registry.write_text(BLOCK)
    answer = run("stop", "a", "b", "--dry-run", "--json")
    assert [one["outcome"] for one in answer.json["results"]] == ["planned", "planned"]
    assert registry.read_text() == BLOCK
    assert sorted(path.name for path in registry.parent.iterdir()) == ["agent-sessions.yaml"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_is_kept(mode: int, registry: Path) -> None:
    registry.write_text(BLOCK)
    registry.chmod(mode)
    assert run("stop", "a", "--json").exit == 0
    assert stat.S_IMODE(registry.stat().st_mode) == mode
    assert "status: stopped" in registry.read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_the_owner_is_kept(registry: Path) -> None:
    registry.write_text(BLOCK)
    os.chown(registry, 4242, 4343)
    assert run("stop", "a", "--json", "--registry", str(registry)).exit == 0
    assert (registry.stat().st_uid, registry.stat().st_gid) == (4242, 4343)
    assert "status: stopped" in registry.read_text()


def test_a_link_is_followed_and_stays_a_link(registry: Path, tmp_path: Path) -> None:
    real = tmp_path / "shared" / "rows.yaml"
    real.parent.mkdir()
    real.write_text(BLOCK)
    middle = tmp_path / "middle.yaml"
    middle.symlink_to("shared/rows.yaml")
    registry.symlink_to("../middle.yaml")
    assert run("stop", "a", "--json").exit == 0
    assert str(registry.readlink()) == "../middle.yaml"
    assert str(middle.readlink()) == "shared/rows.yaml"
    assert not real.is_symlink()
    assert data(real.read_bytes())["a"]["status"] == "stopped"
    # Lock and ledger are next to the real file, shared by all its users.
    assert sorted(path.name for path in registry.parent.iterdir()) == ["agent-sessions.yaml"]
    assert {"rows.db", "rows.yaml", "rows.yaml.lock"} <= {
        path.name for path in real.parent.iterdir()
    }


def test_an_equal_value_is_not_written_again(registry: Path) -> None:
    """Another tool's quoting of a correct value stays."""
    registry.write_text(
        BLOCK.replace("    pane:", "    stop_reason:   'manual_stop'  # by hand\n    pane:")
    )
    assert run("stop", "a", "--json").exit == 0
    assert "    stop_reason:   'manual_stop'  # by hand\n" in registry.read_text()


LIFE = """\
# top

tmux_sessions:
  # of the other
  - {name: other, status: running,   tags: [x]}   # spaced by hand
  - name: a    # the name
    unknown: {deep: [1, 2]}   # kept

    status: 'stopped'   # the status
    stopped_at: "2026-11-17T18:22:05Z"   # when
    stopped_at_epoch: 1794939725
    claude_session_id_own: old-one   # of a life before
  # last
  - status: "archived"
    name: 'b'
end: yes   # below"""


@pytest.mark.live
def test_a_whole_life_changes_its_row_alone(
    tmux_socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """start, stop, start, adopt, kill, forget: none changes anything around the row."""
    path = tmp_path / "rows.yaml"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMUXREAP_REGISTRY", str(path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path.write_text(LIFE.replace("\n", "\r\n"), newline="")
    above, below = (
        part.replace("\n", "\r\n")
        for part in re.split(r"(?s)  - name: a.*of a life before\n", LIFE)
    )

    def own() -> str:
        text = path.read_bytes().decode()
        assert text.startswith(above)
        assert text.endswith(below)
        assert text.count("\n") == text.count("\r\n")
        row = text[len(above) : len(text) - len(below)]
        for kept in (
            "- name: a    # the name\r\n",
            "unknown: {deep: [1, 2]}   # kept\r\n\r\n",
            "   # the status\r\n",
        ):
            assert kept in row
        assert "claude_session_id_own: old-one   # of a life before\r\n" in row
        return row

    def done(*words: str) -> None:
        answer = run(*words, "--json")
        assert answer.exit == 0, answer.out + answer.err

    done("start", "a", "--agent", "demo")
    assert "status: 'running'   # the status" in own()
    assert "stopped_at" not in own()
    done("stop", "a")
    assert "status: 'stopped'   # the status" in own()
    done("start", "a")
    socket = f"{Path(tmux_socket).parent}/tmux-{os.getuid()}/default"
    path.write_bytes(
        path.read_bytes().replace(b"status: 'running'", b"status: 'stopped'")
    )  # another tool's key
    done("adopt", "a", "--tag", "found")
    assert "status: 'running'   # the status" in own()
    assert "tags: [found]" in own() or "- found" in own()
    subprocess.run(["tmux", "-N", "-S", socket, "has-session", "-t", "=a"], check=True, timeout=60)
    done("kill", "a", "--grace", "1")
    assert "termination_mode: kill" in own()
    done("forget", "a")
    assert path.read_bytes().decode() == above + below
