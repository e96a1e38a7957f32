"""What a new version of an agent does that its profile does not know: its sentinels, each key once
from each known screen, its --help and its files beside those of the last run.

python -m tests.real_agents.drift FOLDER KEPT [--profiles=FILE] [AGENT]...

FOLDER/AGENT is where each is installed. KEPT keeps what was seen, for the next run, and the report.
Exit 0 when nothing is new, 1 when something is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real_agents.bench import Bench
from tests.real_agents.mock_model import TOOL
from tests.real_agents.sentinels import begin, faults
from tests.real_agents.setups import SETUPS, program_of, version_of
from tests.real_agents.states import SITUATIONS
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import State

LETTERS = "abefghiklnopqrstuvwxy"  # without those that end, stop or suspend a program, and Enter
NAMED = ("Left", "Right", "Up", "Down", "Tab", "BTab", "Escape", "Home", "End", "PPage", "NPage")
KEYS = (*NAMED, *(f"C-{letter}" for letter in LETTERS), "?", "@", "#", "F1", "M-p", "M-t", "M-b")
FROM = ("idle", "draft", "dialog")
SOON_S, TRIES = 2.0, 2
CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|ses_\w+|\d{4}[-_/]\d\d[-_/]\d\d[\dT:_.Z-]*|\d+"
)
FLAG = re.compile(r"(?:^|[\s,])(--[a-z][A-Za-z0-9-]+)(?P<word>[ =](?:<|\[|[A-Z]))?", re.MULTILINE)
ASKS = re.compile(r"\b(?:enter|esc|return) to\b|^ *[❯›●] \d+\. ", re.IGNORECASE | re.MULTILINE)  # noqa: RUF001


@dataclass
class Seen:
    """What one version did, as plain data that a later run reads again."""

    version: str
    flags: dict[str, bool] = field(default_factory=dict)  # with whether a word follows
    files: list[str] = field(default_factory=list)  # in its HOME, without what differs each time
    programs: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)  # by screen and key: what came of it
    screens: dict[str, str] = field(default_factory=dict)  # that no pattern knows
    apart: dict[str, str] = field(default_factory=dict)  # programs in a session of their own


class Crawler:
    def __init__(self, bench: Bench, seen: Seen) -> None:
        self.bench, self.seen = bench, seen

    def look_at_help(self) -> None:
        done = subprocess.run(
            [str(self.bench.program), "--help"],
            env=self.bench.environ,
            cwd=self.bench.place.project,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for match in FLAG.finditer(done.stdout):
            # A sentence of the help may name it without its word.
            takes_word = self.seen.flags.get(match[1], False)
            self.seen.flags[match[1]] = takes_word or bool(match["word"])

    def play_sentinels(self) -> None:
        self.seen.faults += faults(self.bench)

    def crawl(self) -> None:
        for place in (place for place in FROM if place not in self.bench.setup.lacks):
            ready = False
            for key in KEYS:
                try:
                    if not ready:
                        begin(self.bench)
                        SITUATIONS[place].bring(self.bench)
                    ready = self._press(place, key)
                except AssertionError as error:
                    self.seen.keys[f"{place}, {key}"] = str(error).partition("\n")[0]
                    ready = False

    def begin_bare(self) -> None:
        """As it begins by itself, without the options of the tests: its own defaults."""
        begin(self.bench, self.bench.setup.program)
        self.bench.say(f"{TOOL} please")
        self.bench.settle(3.0)
        self._keep("without options, a tool")

    def note_files(self) -> None:
        self.seen.files = sorted(self._files())

    def _press(self, place: str, key: str) -> bool:
        """Press the key once; tell whether the screen is the one before, or came back to it."""
        bench = self.bench
        before = bench.seen().state, self._files(), set(self._programs())
        bench.keys(key)
        bench.settle(0.5)
        came = self._keep(f"{place}, {key}")
        files = self._files() - before[1]
        programs = {name: pid for name, pid in self._programs().items() if name not in before[2]}
        for name, pid in programs.items():
            came.append(f"starts `{name}`")
            if _is_apart(pid, bench):
                self.seen.apart[name] = f"{place}, {key}"
        came += [f"writes `{name}`" for name in sorted(files)[:5]]
        if not bench.left():
            came.append("ends the agent")
        if came:
            self.seen.keys[f"{place}, {key}"] = "; ".join(came)
        if files or programs:
            return False
        return self._came_back(before[0])

    def _came_back(self, state: State) -> bool:
        for _ in range(TRIES):
            seen = self.bench.seen()
            if seen.state is state and (state is not State.DRAFT or seen.draft == "half a thought"):
                return True
            if state is State.DIALOG:
                return False
            self.bench.keys("Escape")
            self.bench.settle(0.3)
        return False

    def _keep(self, where: str) -> list[str]:
        seen = self.bench.seen()
        if seen.state is not State.UNKNOWN or seen.blank:
            return []
        self.seen.screens[where] = self.bench.screen()
        return ["shows a screen that no pattern knows"]

    def _files(self) -> set[str]:
        """The kinds of files in its HOME: most names differ each time."""
        home = self.bench.place.home
        names = [path.relative_to(home) for path in home.rglob("*") if path.is_file()]
        lasting = [name for name in names if name.suffix != ".lock" and ".tmp" not in name.name]
        return {CHANGING.sub("N", f"{name.parent}/*{name.suffix}") for name in lasting}

    def _programs(self) -> dict[str, int]:
        found = self.bench.left().items()
        return {CHANGING.sub("N", words)[:100]: pid for pid, words in found}


def _is_apart(pid: int, bench: Bench) -> bool:
    """Tell whether it would outlive its pane: it is in no session of a pane's own."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(fields[3]) == pid and pid != int(bench.row()["pane"]["pid"])


def crawled(agent: str, folder: Path, profile: Profile) -> Seen:
    seen = Seen(version_of(folder, agent))
    with Bench(agent, SETUPS[agent], profile, program_of(folder, agent)) as bench:
        crawler = Crawler(bench, seen)
        steps: tuple[Callable[[], None], ...] = (
            crawler.look_at_help,
            crawler.play_sentinels,
            crawler.begin_bare,
            crawler.crawl,
            crawler.note_files,
        )
        for step in steps:
            try:
                step()
            except (AssertionError, subprocess.SubprocessError) as error:
                seen.faults.append(f"{step.__name__}: {str(error).partition(chr(10))[0]}")
            print(agent, step.__name__, len(seen.keys), file=sys.stderr, flush=True)
    return seen


# The report


def report(agent: str, seen: Seen, last: Seen | None, profile: Profile) -> list[str]:
    """Return the lines of the report; only the head where nothing is new."""
    since = f"last run: {last.version}" if last else "no run before"
    lines = [f"# {agent} {seen.version} ({since}; verified: {profile.verified})", ""]
    old = last or Seen("")
    known = {*profile.flags.alone, *profile.flags.many, *profile.flags.prompt}
    # A flag that the profile does not have takes one word.
    flags = [flag for flag, word in seen.flags.items() if flag not in known and not word]
    alone = [flag for flag in flags if flag not in (*old.flags, "--help", "--version")]
    keys = {where: came for where, came in seen.keys.items() if old.keys.get(where) != came}
    screens = {place: text for place, text in seen.screens.items() if place not in old.screens}
    lines += _listed("Sentinels that do not hold", seen.faults)
    lines += _listed("Keys", [f"{where}: {came}" for where, came in keys.items()])
    lines += _listed("Flags that the profile does not know", [f"`{flag}`" for flag in alone])
    if last is not None:
        gone = sorted(set(last.flags) - set(seen.flags))
        lines += _listed("Flags that are gone", [f"`{flag}`" for flag in gone])
        files = sorted(set(seen.files) - set(last.files))
        lines += _listed("Files that are new", [f"`{name}`" for name in files])
    for place, text in screens.items():
        lines += [f"## No pattern knows: {place}", "", "```text", text, "```", ""]
    # What a program of its own draws (an editor) is no screen of the agent.
    own = {it: text for it, text in screens.items() if "starts `" not in seen.keys.get(it, "")}
    change = proposed(agent, alone, own, seen.apart)
    if change:
        lines += ["## Proposed change", "", "```yaml", *change, "```", ""]
    return lines


def proposed(
    agent: str, alone: Iterable[str], screens: dict[str, str], apart: dict[str, str]
) -> list[str]:
    """Propose what the profile may need: a person reads it, and looks at the screens."""
    lines: list[str] = []
    kinds: dict[str, dict[str, str]] = {"dialog": {}, "idle": {}}
    for place, text in screens.items():
        kind = "dialog" if ASKS.search(text) else "idle"
        kinds[kind].setdefault(pattern_of(text), place)
    if flags := list(alone):
        lines += ["    flags:", f"      alone: [{', '.join(flags)}]"]
    if screens:
        lines.append("    screens:")
    for kind, patterns in kinds.items():
        if patterns:
            lines += [f"      # {'; '.join(patterns.values())}"]
            lines += [f"      {kind}: '{'|'.join(patterns)}'"]
    if apart:
        lines.append("    spare:")
    for words, place in apart.items():
        program = Path(words.split()[0]).name
        pattern = re.escape(" ".join(words.split()[1:3])).replace("'", "''")
        lines += [
            f"      # begun by: {place}",
            f"      - {{program: {program}, arguments: '{pattern}'}}",
        ]
    return ["agents:", f"  {agent}:", *lines] if lines else []


def pattern_of(text: str) -> str:
    """Return a pattern for the line that tells a screen best: what to press, else its last."""
    rows = [row.strip() for row in text.splitlines() if re.search(r"\w{3}", row)]
    asking = [row for row in rows if ASKS.search(row)]
    row = (asking or rows or [""])[-1]
    words = CHANGING.sub("0", row)[:60]
    return "^.*" + re.escape(words).replace("0", r"\d+").replace(r"\ ", " ").replace("'", "''")


def _listed(head: str, lines: list[str]) -> list[str]:
    return [f"## {head}", "", *(f"- {line}" for line in lines), ""] if lines else []


def read(path: Path) -> Seen | None:
    if not path.exists():
        return None
    data: dict[str, Any] = json.loads(path.read_text())
    return Seen(**data)


def main(folder: Path, kept: Path, words: list[str]) -> int:
    files = [Path(word.partition("=")[2]) for word in words if word.startswith("--profiles=")]
    profiles = load_profiles(files[0] if files else None).agents
    kept.mkdir(parents=True, exist_ok=True)
    is_new = False
    for agent in [word for word in words if not word.startswith("--")] or SETUPS:
        if not program_of(folder, agent).exists():
            print(f"{agent} is not installed", file=sys.stderr)
            continue
        seen = crawled(agent, folder, profiles[agent])
        lines = report(agent, seen, read(kept / f"{agent}.json"), profiles[agent])
        (kept / f"{agent}.md").write_text("\n".join(lines) + "\n")
        (kept / f"{agent}.json").write_text(json.dumps(vars(seen), indent=1))
        is_new = is_new or len(lines) > 2
        print(kept / f"{agent}.md")
    return 1 if is_new else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
