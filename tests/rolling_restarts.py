"""Rolling restarts of demo agents under load: no draft may be lost, no pane may change.

`python -m tests.rolling_restarts [COUNT]` restarts ten agents until COUNT (300) restarts are done,
beside a process for each core that computes, and prints the numbers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENTS = 10
AT_ONCE = "3"
PLACE = "#{session_name} #{pane_id} #{window_id} #{window_layout}"
LOAD = "while True: pass"


class Bench:
    """A private tmux server with demo agents, each with a message and a draft."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "s")
        self.registry = str(folder / "sessions.yaml")
        self.environ = {
            **{name: value for name, value in os.environ.items() if "TMUX" not in name},
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
        }
        self.folder = folder

    def tmux(self, *words: str) -> str:
        where = ["tmux", "-f", "/dev/null", "-S", self.socket]
        done = subprocess.run(
            [*where, *words], env=self.environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    def run(self, verb: str, *words: str) -> list[dict[str, object]]:
        ours = [sys.executable, "-m", "tmuxreap", verb, "--registry", self.registry, "--json"]
        ours += words
        done = subprocess.run(
            ours, env=self.environ, cwd=self.folder, capture_output=True, text=True, check=False
        )
        results: list[dict[str, object]] = json.loads(done.stdout)["results"]
        return results

    def begin(self, name: str) -> None:
        words = ("--agent", "demo", "--server", self.socket, "--confirm", "0.1", "--")
        self.run("start", name, *words, sys.executable, "-m", "tmuxreap.demo_agent")
        self.run("send", name, f"hello {name}", "--when-idle", "30")
        self.tmux("send-keys", "-l", "-t", f"={name}:", self.draft(name))

    def draft(self, name: str) -> str:
        return f"half a thought of {name}"

    def places(self) -> str:
        return self.tmux("list-panes", "-a", "-F", PLACE)

    def shows(self, name: str) -> bool:
        """Tell whether the draft is in the input, and the conversation above it."""
        screen = self.tmux("capture-pane", "-p", "-t", f"={name}:")
        return f"> {self.draft(name)}\n" in screen and f"You said: hello {name}" in screen


def main(count: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix="trr", dir="/tmp"))
    bench = Bench(folder)
    names = [f"agent-{number}" for number in range(AGENTS)]
    load = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(os.cpu_count() or 1)]
    done, failed, lost, moved = 0, 0, 0, 0
    took: list[int] = []
    began = time.monotonic()
    try:
        for name in names:
            bench.begin(name)
        before = bench.places()
        while done < count:
            for one in bench.run("restart", "all", "--at-once", AT_ONCE, "--confirm", "0.2"):
                done += 1
                took.append(int(str(one["duration_ms"])))
                if one["outcome"] != "restarted":
                    failed += 1
                    print(one, file=sys.stderr)
                elif not one["draft_back"] or not bench.shows(str(one["name"])):
                    lost += 1
                    print(one, file=sys.stderr)
            moved += bench.places() != before
    finally:
        for process in load:
            process.kill()
            process.wait()
        subprocess.run(["tmux", "-S", bench.socket, "kill-server"], check=False)
        shutil.rmtree(folder, ignore_errors=True)
    took.sort()
    print(f"{done} restarts of {AGENTS} agents in {time.monotonic() - began:.0f} s")
    print(f"failed {failed}, drafts lost {lost}, rounds with another pane {moved}")
    print(f"each: median {took[len(took) // 2]} ms, longest {took[-1]} ms")
    return 1 if failed or lost or moved else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
