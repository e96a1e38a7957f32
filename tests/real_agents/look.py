"""Shows what an agent's screen looks like in each state, to write the patterns of its profile by:
python -m tests.real_agents.look AGENT PROGRAM [STATE...]"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from tests.real_agents.bench import MESSAGE, Bench
from tests.real_agents.setups import SETUPS
from tests.real_agents.states import SITUATIONS
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State


def main(agent: str, program: str, states: list[str]) -> None:
    profile = load_profiles(None).agents[agent]
    for state in states:
        with Bench(agent, SETUPS[agent], profile, Path(program)) as bench:
            try:
                bench.start()
                bench.until("a screen", lambda: _begun(bench))  # some take long to draw their first
                bench.settle(4.0)
                if state != "fresh":
                    bench.say(MESSAGE)
                    bench.settle(3.0)
                    SITUATIONS[state].bring(bench)
                    time.sleep(3)
            except AssertionError as error:
                print(error)  # and shown all the same
            show(bench, state)
            if state == states[0]:
                print(*bench.left().items(), sep="\n")
                print(
                    *[path for path in sorted(bench.place.home.rglob("*")) if path.is_file()][:40],
                    sep="\n",
                )
            print(
                bench.reap("show", "acme").get("pane_state"),
                len(bench.model.asked),
                bench.proof.exists(),
            )


def _begun(bench: Bench) -> bool:
    if State.IDLE in bench.profile.screens:
        return bench.seen().state is State.IDLE
    return bool(bench.screen())


def show(bench: Bench, state: str) -> None:
    screen = re.sub(r"\n{3,}", "\n\n", bench.screen())
    print(
        f"--- {state}: {bench.seen()}\n{screen}\n--- cursor"
        f" {bench.tmux('display', '-p', '#{cursor_x},#{cursor_y}')}"
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
