"""`python -m tests.simulation.reverts [SECONDS] [NAME...]`: takes back what decides one mend at a
time, in a copy of the package, and plays histories until one fails that holds here.

Prints for each what found it: a kept history, or how many drawn ones in how many seconds of CPU.
docs/reports/simulation.md has the table. Never changes this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import SystemRandom

from tests.simulation.history import draw
from tests.simulation.kept import HISTORIES
from tests.simulation.shrink import failure_of

TOP = Path(__file__).resolve().parent.parent.parent
ENOUGH_S = 120.0
Edit = tuple[str, str, str]  # a file of the package, what stands there, and what did before

REVERTS: Mapping[str, Sequence[Edit]] = {
    "what outlives another tool's session is named": [
        (
            "proof/reach.py",
            "unknown = not (has_start or row.status.ended or is_reused(row, world, past))",
            "unknown = False",
        )
    ],
    "what a look saw of a row is remembered": [
        ("sessions/look.py", "        survived |= memory.processes.keys()\n", "")
    ],
    "an old copy of the registry is not believed": [
        (
            "sessions/look.py",
            "    if not old:\n        return {}\n    events = books.lives(",
            "    if True:\n        return {}\n    events = books.lives(",
        )
    ],
    "an equal pid is not the same pane": [
        (
            "ending/ending_state.py",
            "    first = ending.first\n    if first.session is None or first.pane is None:",
            "    if row.pane.pid == ending.row.pane.pid:\n        return True\n"
            "    first = ending.first\n    if first.session is None or first.pane is None:",
        )
    ],
    "a wrapper shell without its agent is not alive": [
        (
            "proof/panes.py",
            "left = leader is None or is_left_to_shells(leader, world)",
            "left = leader is None or is_interactive_shell(leader, world)",
        )
    ],
    "recorded ticks decide about a pid that came again": [
        (
            "proof/identity.py",
            "    if row.pane.start_ticks not in (None, process.id.start):\n        return None\n",
            "",
        ),
        (
            "proof/identity.py",
            "    if row.pane.start_ticks is not None and row.tmux.boot_id == world.boot_id:\n"
            "        return process\n",
            "",
        ),
    ],
    "the kernel session outweighs the pane in the environment": [
        (
            "proof/reach.py",
            "        if is_its_own(world.index, reach, process):\n            return None\n",
            "",
        )
    ],
    "what was seen outweighs the pane in the environment": [
        (
            "proof/ownership.py",
            "    return process.id in reach.remembered or (",
            "    return False and (",
        )
    ],
    "a busy neighbor is not a mate, whatever the agent": [
        (
            "proof/panes.py",
            "        return False\n    return any(\n        _led_by(",
            "        return True\n    return any(\n        _led_by(",
        )
    ],
    "a restart needs a start by this user": [
        (
            "sessions/under_way.py",
            "return with_beginning(row, self._beginning(row, self.books.history(row.name) or []))",
            "return row",
        ),
        (
            "sessions/under_way.py",
            "            raise ValueError(START_UNKNOWN)\n",
            "            return {}\n",
        ),
        (
            "sessions/under_way.py",
            "    if lives[-1].kind == DEAD:",
            "    if not lives or lives[-1].kind == DEAD:",
        ),
    ],
    "busy panes that came later are left alone": [
        (
            "proof/panes.py",
            "    return not is_busy(pane, world) or is_mate(",
            "    return True or is_mate(",
        )
    ],
    "an agent of a pane that was moved here is another": [
        (
            "proof/identity.py",
            "        if its_own and was_made_in(session, pane, world):",
            "        if its_own:",
        )
    ],
    "what was moved into a session is not left behind by its agent": [
        (
            "proof/see.py",
            "    alive = [one.process for one in belongings.own if one.process.sid not in theirs]",
            "    alive = [one.process for one in belongings.own]",
        )
    ],
    "what outlived a respawn is named": [
        (
            "proof/reach.py",
            "if pid == leader or not _was_put_out(process, server, world):",
            "if True:",
        )
    ],
    "a send that was cut off is closed": [
        (
            "commands/reconcile/reconcile.py",
            "for one in abandoned.values() if one.verb == SEND]",
            "for one in abandoned.values() if False]",
        )
    ],
    "a start settles what a killed stop had ended": [
        (
            "commands/start.py",
            "    if intent is None:\n        return False\n",
            "    if intent is None or not row.status.ended:\n        return False\n",
        )
    ],
    "a start settles a restart that was cut off": [
        (
            "commands/start.py",
            "    if row.status.ended:\n        return settle_restarts(context, [row.name])\n",
            "    if row.status.ended:\n        return False\n",
        )
    ],
    "a replacement leaves the panes of a person": [
        ("commands/starting/launch.py", "if again or not replace:", "if not replace:")
    ],
    "a failed start leaves the panes of a person": [
        (
            "commands/starting/launch.py",
            'options = EndingOptions("start_failed", grace=1.0)',
            'options = EndingOptions("start_failed", grace=1.0, whole_session=True)',
        )
    ],
    "what is left in a pane under another name is not gone": [
        (
            "proof/identity.py",
            "    if leader is None or row.status.ended or not _may_be",
            "    if True or not _may_be",
        )
    ],
    "a survivor's name does not make a later session its own": [
        ("proof/see.py", "    if session is None or row.status.ended:\n", "    if True:\n")
    ],
    "an agent in a pane that was moved here is another, for other tools' rows": [
        (
            "proof/identity.py",
            "if agent_in(pane, profile, world) and was_made_in(session, pane, world):",
            "if agent_in(pane, profile, world):",
        )
    ],
    "a start writes over no row whose process may run": [
        (
            "commands/starting/launch.py",
            "        if sight.unproven:\n            raise _may_still_run(spec.name, sight)\n",
            "",
        )
    ],
    "a start leaves the row of an agent whose pane a person moved": [
        (
            "commands/starting/launch.py",
            "        if isinstance(sight.trouble, Moved) and sight.trouble.lives_in is not None:\n"
            "            raise _lives_in(spec.name, sight.trouble.lives_in)\n",
            "",
        )
    ],
    "what an unknown agent left may be that agent": [
        (
            "commands/starting/launch.py",
            "    if sight.agent or context.agents.profile(row, sight) is not None:\n",
            "    if True:\n",
        )
    ],
    "one clean look is no proof of death": [
        ("ending/ladder/climb.py", "CLEAN_LOOKS = 2", "CLEAN_LOOKS = 1")
    ],
    "a number that came again is another process, by what looks saw": [
        (
            "proof/identity.py",
            "    return bool(seen) and process.id not in seen\n",
            "    return False\n",
        )
    ],
    "a pane that was moved during its ending is followed no further": [
        (
            "proof/see.py",
            "    if holder is not None and _same_server(first, server):",
            "    if False and _same_server(first, server):",
        )
    ],
    "rows that share a value by an alias can be read and edited": [
        (
            "registry/yaml/parse.py",
            "        if anchored.trouble:\n            self.refuse(anchored.trouble, event)\n",
            '        self.refuse("it has an alias", event)\n',
        )
    ],
    "what cannot be written is tried before the first key": [
        (
            "ending/prepare.py",
            "    registry.check_writable()\n    registry.check_space(look)\n    _check_reason",
            "    _check_reason",
        )
    ],
    "a half-typed draft is kept before its agent is signalled": [
        (
            "ending/ladder/climb.py",
            "                yield from keep_shown_drafts(ending)\n            gone",
            "                pass\n            gone",
        )
    ],
    "a list that cannot be read may have what left its pane": [
        (
            "proof/see.py",
            "        if jobs is not None and not jobs.is_known:\n",
            "        if False:\n",
        )
    ],
    "a list that cannot be read may have what a pane shows": [
        (
            "proof/see.py",
            "    if jobs is not None and not jobs.is_known:\n        return replace(",
            "    if live != Live.ALIVE and jobs and not jobs.is_known:\n        return replace(",
        )
    ],
    "an agent may go to its daemon while it is ended": [
        ("ending/ladder/daemons.py", "    if ending.seats is None:\n", "    if True:\n")
    ],
    "an agent that left a shell behind may go on in its daemon": [
        (
            "proof/see.py",
            "        jobs, job = _continued(row, profile, world)\n    if job is not None and live",
            "        pass\n    if job is not None and live",
        )
    ],
    "one that its daemon has not brought back yet lives": [
        (
            "proof/see.py",
            "if job is not None and (job.lives or comes_back):",
            "if job and job.lives:",
        )
    ],
    "what its daemon has still is not signalled": [
        (
            "ending/ladder/climb.py",
            '    return None if alone else "its agent\'s own daemon has it still"\n',
            "    return None\n",
        )
    ],
    "a session that its daemon brings back is not ended": [
        (
            "ending/ladder/daemons.py",
            "    until = ending.now + (background.respawn_s if background is not None else 0.0)\n",
            "    until = ending.now\n",
        )
    ],
    "a server that does not answer proves no end": [
        (
            "ending/ladder/daemons.py",
            "clean + 1 if found is None and jobs.is_known else 0",
            "clean + 1 if found is None else 0",
        )
    ],
    "what a server may go on with is ended with its pane": [
        (
            "sessions/conversation.py",
            "        if jobs.is_known and found is None:\n            return None\n",
            "        return None\n",
        )
    ],
    "what is only a guess is left to its server": [
        (
            "ending/ladder/daemons.py",
            "        if found is not None and not served.is_certain:\n"
            "            return True, ONLY_GUESSED\n",
            "",
        )
    ],
    "what is below a shared daemon is spared with it": [
        (
            "proof/ownership.py",
            "                _spare_tree(index, pid, reason, spared)\n",
            "                spared[pid] = reason\n",
        )
    ],
    "what a server works on again is not stopped already": [
        (
            "ending/prepare.py",
            "    is_over = row.status.ended and not sight.owned.own and sight.job is None\n",
            "    is_over = row.status.ended and not sight.owned.own\n",
        )
    ],
    "a host's word that it began nothing is final": [
        (
            "hosts/talk.py",
            "            raise _never_arrived(host)\n",
            '            raise unreachable(host, "nothing was done")\n',
        )
    ],
    "a verb is not sent twice": [
        (
            "hosts/talk.py",
            "    if not changing:\n        raise unreachable(host, reason)\n",
            "    if changing:\n        return _ask(host, request, settings, False)\n"
            "    if not changing:\n        raise unreachable(host, reason)\n",
        )
    ],
    "what came of a plan is unknown for each of its sessions": [
        (
            "interfaces/remote/on_hosts.py",
            "        return choose.filled(reply, names)\n",
            "        return choose.filled(reply, [it for it in wanted.targets if _is_name(it)])\n",
        )
    ],
    "an answer that is lost is asked for": [
        (
            "hosts/talk.py",
            "    return _ask_for_outcome(host, request, settings, reason)\n",
            "    raise unreachable(host, reason)\n",
        )
    ],
    "a request that may still arrive is forbidden before it is told as nothing": [
        (
            "interfaces/remote/there.py",
            "if requests.forbid(context.books, request_id, _ourselves(context), boot_id):",
            "if requests.find(context.books, request_id) is None:",
        )
    ],
    "what changed since a plan was confirmed is not ended there": [
        (
            "interfaces/remote/there.py",
            "if row is None or plain_json(_identity(row)) != identity:",
            "if row is None:",
        )
    ],
    "an outcome there is unknown once its process is dead": [
        (
            "interfaces/remote/there.py",
            "            if not is_owned(record, context.processes, boot_id):\n"
            "                return output.say(Say.UNKNOWN)\n",
            "            if not is_owned(record, context.processes, boot_id):\n"
            "                return output.say(Say.NEVER)\n",
        )
    ],
    "what a server works on again is told": [
        (
            "commands/reconcile/drift.py",
            '    if sight.job is not None:\n        evidence = f"the row is',
            '    if False and sight.job is not None:\n        evidence = f"the row is',
        )
    ],
    "what a server ran is known by its seat": [
        (
            "registry/transitions.py",
            "if row.terminal is Terminal.BACKGROUND else None",
            "if False else None",
        )
    ],
}


def taken_back(name: str, package: Path) -> None:
    """Take this mend back in a copy of the package."""
    for path, now, before in REVERTS[name]:
        file = package / path
        text = file.read_text(encoding="utf-8")
        assert now in text, f"{name}: {path} has changed; write down anew what decides it"
        file.write_text(text.replace(now, before), encoding="utf-8")


def copied(folder: Path) -> Path:
    """Return a copy of the package and its tests."""
    for name in ("tmuxreap", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(TOP / name, folder / name, ignore=ignored)
    return folder / "tmuxreap"


def kept_that_fails() -> str | None:
    for name, steps in HISTORIES.items():
        if failure := failure_of(steps):
            return f"kept ({name}): {failure}"
    return None


def play_until_one_fails(seconds: float, seed: int) -> tuple[int, float, str | None]:
    """Return the last seed, the time in seconds of CPU, and the failure if there was one."""
    began = time.process_time()
    while True:
        failure = failure_of(draw(seed))
        spent_s = time.process_time() - began
        if failure or spent_s > seconds:
            return seed, spent_s, failure
        seed += 1


def found_by(folder: str, seconds: float) -> str:
    """Return what finds it in this folder; a drawn history only if it holds in this checkout."""
    first = seed = SystemRandom().randrange(1_000, 1_000_000_000)
    spent_s = 0.0
    environ = {**os.environ, "PYTHONPATH": folder}
    while spent_s < seconds:
        words = [sys.executable, "-m", "tests.simulation.reverts", "here"]
        words += [f"{seconds - spent_s:.1f}", str(seed)]
        run = subprocess.run(
            words, cwd=folder, env=environ, capture_output=True, text=True, check=False
        )
        told = run.stdout.strip()
        if not told.startswith("seed "):
            return told or run.stderr[-500:]
        _, last, more_s, failure = told.split(maxsplit=3)
        seed, spent_s = int(last) + 1, spent_s + float(more_s)
        if failure != "None" and failure_of(draw(int(last))) is None:
            return f"after {seed - first} histories, {spent_s:.0f} s: seed {last}, {failure}"
    return f"no, within {seed - first} histories"


def main(words: Sequence[str]) -> int:
    if words[:1] == ["here"]:
        seconds, seed = float(words[1]), int(words[2])
        print(kept_that_fails() or "seed {} {:.1f} {}".format(*play_until_one_fails(seconds, seed)))
        return 0
    words = list(words)
    seconds = float(words.pop(0)) if words and words[0].isdigit() else ENOUGH_S
    for name in words or REVERTS:
        with tempfile.TemporaryDirectory(prefix="reverts") as folder:
            taken_back(name, copied(Path(folder)))
            print(f"{name}: {found_by(folder, seconds)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
