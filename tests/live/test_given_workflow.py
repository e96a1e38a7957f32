"""An existing workflow of users, run against us: its blocks are verbatim from their document,
except that the placeholders in angle brackets are filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import Project

pytestmark = pytest.mark.live

PRE_FLIGHT = """
SESSION_NAME=<workspace>-creator-<agent>     # convention
AGENT_SESSIONS_YAML=.hermes/agent-sessions.yaml

# 1) Session is registered?
python3 -c "
import yaml
d = yaml.safe_load(open('$AGENT_SESSIONS_YAML'))
names = [s['name'] for s in d.get('tmux_sessions', [])]
if '$SESSION_NAME' not in names:
    print('NOT in YAML — refusing to stop (no audit trail). Use tmux-agent-orchestrate-create first, or pass --force-no-yaml.')
    raise SystemExit(1)
"

# 2) Already stopped?
ALREADY=$(python3 -c "
import yaml
d = yaml.safe_load(open('$AGENT_SESSIONS_YAML'))
s = [x for x in d['tmux_sessions'] if x['name']=='$SESSION_NAME'][0]
print(s.get('status', 'unknown'))
")
if [ "$ALREADY" = "stopped" ]; then
  echo "Already stopped."
fi
"""

STOP = """
bash .agents/skills/tmux-agent-orchestrate-stop/scripts/stop_session.sh \\
  --session "$SESSION_NAME"
"""
STOP_WITH_REASON = """
bash .agents/skills/tmux-agent-orchestrate-stop/scripts/stop_session.sh \\
  --session "$SESSION_NAME" --reason api_error
"""
PURGE = """
bash .agents/skills/tmux-agent-orchestrate-stop/scripts/stop_session.sh \\
  --session "$SESSION_NAME" --purge-conversation
"""
WORKFLOW = STOP + STOP_WITH_REASON + PURGE

VERIFICATION = """
# 1. tmux gone
tmux has-session -t "$SESSION_NAME" 2>/dev/null && echo "STILL ALIVE" || echo "OK: tmux gone"

# 2. YAML has stopped entry
python3 -c "
import yaml
d = yaml.safe_load(open('$AGENT_SESSIONS_YAML'))
s = [x for x in d['tmux_sessions'] if x['name']=='$SESSION_NAME'][0]
assert s['status'] == 'stopped', f'expected stopped, got {s[\\"status\\"]}'
assert s.get('stopped_at'), 'missing stopped_at'
print(f'OK: stopped at {s[\\"stopped_at\\"]}')
print(f'    preserved: pane.pid={s[\\"pane\\"][\\"pid\\"]}, cmd={s[\\"pane\\"][\\"cmd\\"]}, cwd={s[\\"pane\\"][\\"cwd\\"]}')
"
"""
PURGED = """
# 3. (if --purge-conversation) disk artifacts gone
[ -f "${CLAUDE_PROJECT_DIR:-$HOME/.claude/projects}/<projkey>/<uuid>.jsonl" ] && echo "WARN: jsonl still exists" || echo "OK: jsonl purged"
"""

NAME = "acme-creator-demo"
UUID = "5b0f6d0e-6d0c-4f3a-9a59-0d7f1f9f6a11"


def filled(block: str, agent: str = "demo") -> str:
    values = {
        "<workspace>": "acme",
        "<agent>": agent,
        "<projkey>": "-home-dev-acme",
        "<uuid>": UUID,
    }
    for placeholder, value in values.items():
        block = block.replace(placeholder, value)
    return block


@pytest.fixture
def project(tmux_socket: str, tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_given_workflow_passes_its_checks_and_is_idempotent(project: Project) -> None:
    project.start(NAME, say="hello")
    before = project.row(NAME)
    assert project.run(filled(PRE_FLIGHT)) == ""
    said = project.run(filled(PRE_FLIGHT + WORKFLOW), exit_code=2)
    first, again, refused = (
        said.partition("\nalready ")[0],
        *said.partition("\nalready ")[2].split("\n", 1),
    )
    assert f"{NAME}: stopped, exited on its own exit keys" in first
    assert again.startswith("stopped (manual_stop at ")
    assert "deletes permanently" in refused
    assert "--yes" in refused
    verified = project.run(filled(PRE_FLIGHT + VERIFICATION)).splitlines()
    row = project.row(NAME)
    assert verified == [
        "Already stopped.",
        "OK: tmux gone",
        f"OK: stopped at {row['stopped_at']}",
        (
            f"    preserved: pane.pid={before['pane']['pid']}, cmd={before['pane']['cmd']},"
            f" cwd={before['pane']['cwd']}"
        ),
    ]
    assert (row["stop_reason"], row["termination_mode"], row["resumable"]) == (
        "manual_stop",
        "graceful",
        True,
    )
    assert row["start_command"] == before["start_command"]
    assert row["demo_conversation_id_own"] == before["demo_conversation_id_own"]


def test_a_second_stop_writes_nothing(project: Project) -> None:
    project.start(NAME)
    project.run(filled(PRE_FLIGHT + STOP_WITH_REASON))
    assert project.row(NAME)["stop_reason"] == "api_error"
    text = project.registry.read_bytes()
    assert project.run(filled(PRE_FLIGHT + STOP)).startswith(
        "Already stopped.\nalready stopped (api_error at "
    )
    assert project.registry.read_bytes() == text


def test_an_unregistered_session_is_refused_by_the_pre_flight_and_by_tmuxreap(
    project: Project,
) -> None:
    project.start("other")
    assert project.run(filled(PRE_FLIGHT.partition("# 2)")[0]), exit_code=1).startswith(
        "NOT in YAML"
    )
    said = project.run(f"SESSION_NAME={NAME}{STOP}", exit_code=3)
    assert NAME in said
    assert "\nhint: " in said


def test_a_purge_on_a_terminal_asks_and_deletes(project: Project) -> None:
    project.start(NAME, say="hello")
    store = Path(project.environ["HOME"]) / ".tmuxreap-demo" / "conversations"
    (conversation,) = store.iterdir()
    assert project.answered(filled(PRE_FLIGHT + PURGE), "n") == 1
    assert (project.row(NAME)["status"], conversation.exists()) == ("running", True)
    assert project.answered(filled(PRE_FLIGHT + PURGE), "y") == 0
    row = project.row(NAME)
    assert (row["status"], row["termination_mode"], row["resumable"]) == (
        "terminated",
        "purge",
        False,
    )
    assert (isinstance(row["terminated_at_epoch"], int), conversation.exists()) == (True, False)


def test_the_purge_of_a_claude_conversation_is_verified_unchanged(project: Project) -> None:
    name = "acme-creator-claude"
    transcript = (
        Path(project.environ["HOME"]) / ".claude" / "projects" / "-home-dev-acme" / f"{UUID}.jsonl"
    )
    transcript.parent.mkdir(parents=True)
    transcript.write_text('{"type":"user","cwd":"/home/dev/acme"}\n')
    project.registry.parent.mkdir()
    project.registry.write_text(
        f"tmux_sessions:\n  - name: {name}\n    status: stopped\n    agent: claude\n   "
        f" claude_session_id_own: {UUID}\n    conversation_source: pidfile\n    resumable: true\n"
    )
    assert project.run(filled(PURGED)) == "WARN: jsonl still exists\n"
    project.run(filled(PRE_FLIGHT + PURGE.rstrip() + " --yes", "claude"))
    assert project.run(filled(PURGED)) == "OK: jsonl purged\n"
    assert project.row(name)["status"] == "terminated"


def test_a_placeholder_stays_where_no_message_was_sent(project: Project) -> None:
    name = "acme-creator-claude"
    project.run(f"tmux new-session -d -s {name} 'exec sleep 600'")
    project.registry.parent.mkdir()
    project.registry.write_text(
        f"tmux_sessions:\n  - name: {name}\n    status: running\n    claude_session_id_own: null\n"
    )
    project.run(filled(PRE_FLIGHT + STOP, "claude"))
    row = project.row(name)
    assert (row["status"], "claude_session_id_own" in row, row["claude_session_id_own"]) == (
        "stopped",
        True,
        None,
    )
