#!/bin/sh
# Keep the files of a delegated job, .hermes/jobs/ID.json and ID.events.log, which a stop of its session also updates.
#
#   delegate_job.sh assign --session NAME --job ID [--detail TEXT]     start the job; the row gets its ID
#   delegate_job.sh tell --job ID --event progress|completed|cancelled|error [--detail TEXT]
#   delegate_job.sh status --job ID                                    the job as JSON
#
# AGENT_SESSIONS_YAML names the registry. Exit status: 0 done, 2 not understood, 3 no such session or job.
set -eu
command -v python3 >/dev/null || {
    echo "delegate_job.sh: could not find python3" >&2
    exit 2
}
exec python3 -I -c '
import argparse, contextlib, fcntl, json, os, pathlib, re, sys, time

parser = argparse.ArgumentParser(prog="delegate_job.sh")
parser.add_argument("verb", choices=["assign", "tell", "status"])
parser.add_argument("--session")
parser.add_argument("--job", required=True)
parser.add_argument("--event", choices=["progress", "completed", "cancelled", "error"])
parser.add_argument("--detail")
given = parser.parse_args()
if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", given.job):
    parser.error(f"{given.job!r} is no ID of a job: letters, digits, dots, dashes and underscores")

registry = pathlib.Path(os.environ.get("AGENT_SESSIONS_YAML") or ".hermes/agent-sessions.yaml").resolve()
folder = registry.parent / "jobs"
job, log = folder / f"{given.job}.json", folder / f"{given.job}.events.log"
now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def missing(what):
    print(f"delegate_job.sh: could not find {what}", file=sys.stderr)
    sys.exit(3)


@contextlib.contextmanager
def locked(path):
    with open(f"{path}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def written(path, text):
    new = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    new.write_text(text, encoding="utf-8")
    if path.exists():
        new.chmod(path.stat().st_mode & 0o777)
    os.replace(new, path)


def told(facts, event, detail):
    """The line first: the job names the number of its last one."""
    facts["last_seq"] += 1
    line = {"schema_version": 1, "seq": facts["last_seq"], "timestamp": now, "event": event, "job_id": given.job}
    line |= {key: value for key, value in (("session", facts.get("session")), ("detail", detail)) if value}
    with log.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line, ensure_ascii=False) + "\n")
    if event not in ("assigned", "progress"):
        facts["status"] = event
    facts |= {"detail": detail, "updated_at": now}
    written(job, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def assigned():
    """One line more in the row, under the lock that tmuxreap takes."""
    name = re.escape(given.session)
    head = re.compile(rf"^( *)- name: ([\"\x27]?){name}\2 *$", re.MULTILINE)
    with locked(registry):
        text = registry.read_text(encoding="utf-8")
        row = head.search(text)
        if row is None:
            missing(f"the session {given.session} in {registry}")
        line = f"\n{row[1]}  delegate_job_id: \"{given.job}\""
        rest = re.compile(rf"((?:\n{row[1]}  .*|\n *)*?)\n{row[1]}  delegate_job_id:.*").match(text, row.end())
        after = text[rest.end():] if rest else text[row.end():]
        written(registry, text[: row.end()] + line + (rest[1] if rest else "") + after)


if given.verb == "assign":
    if not given.session:
        parser.error("assign needs --session NAME")
    if not registry.is_file():
        missing(f"the registry {registry}")
    assigned()
    folder.mkdir(exist_ok=True)
    facts = {"schema_version": 1, "job_id": given.job, "session": given.session, "status": "running", "last_seq": 0}
    log.touch()
    told(facts | {"created_at": now}, "assigned", given.detail)
elif not job.is_file():
    missing(f"the job {given.job} in {folder}")
elif given.verb == "tell":
    if not given.event:
        parser.error("tell needs --event")
    told(json.loads(job.read_text(encoding="utf-8")), given.event, given.detail)
else:
    print(job.read_text(encoding="utf-8"), end="")
' "$@"
