"""An afternoon's work with the same libraries: stop one session, or list them. Part of the
benchmark, not an example: it kills by name, trusts tmux, and rewrites the whole registry."""

from __future__ import annotations

import json
import time
from pathlib import Path

import libtmux
import psutil
import typer
import yaml

app = typer.Typer()
REGISTRY = Path(".hermes/agent-sessions.yaml")


@app.command()
def stop(name: str) -> None:
    data = yaml.safe_load(REGISTRY.read_text())
    for row in data["tmux_sessions"]:
        if row["status"] == "running" and name in (row["name"], "all"):
            _stop(row)
    REGISTRY.write_text(yaml.safe_dump(data, sort_keys=False))


def _stop(row: dict[str, object]) -> None:
    session = libtmux.Server().sessions.get(session_name=row["name"], default=None)
    if session is not None:
        process = psutil.Process(int(session.active_pane.pane_pid or 0))
        session.active_pane.send_keys("q", enter=False)
        until = time.monotonic() + 3
        while process.is_running() and time.monotonic() < until:
            time.sleep(0.02)
        if process.is_running():
            process.kill()
        if libtmux.Server().has_session(str(row["name"])):
            session.kill()
    row["status"] = "stopped"
    row["stopped_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@app.command("list")
def list_() -> None:
    rows = yaml.safe_load(REGISTRY.read_text())["tmux_sessions"]
    server = libtmux.Server()
    found = []
    for row in rows:
        alive = server.has_session(row["name"])
        memory = psutil.Process(row["pane"]["pid"]).memory_info().rss if alive else 0
        found.append(
            {"name": row["name"], "status": row["status"], "alive": alive, "memory": memory}
        )
    print(json.dumps(found))


if __name__ == "__main__":
    app()
