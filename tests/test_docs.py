"""The pages match the code: verbs and flags, tables, links, and the transcript."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import typer
import typer.core

from tests.real_agents import tables
from tests.scripts import script
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile, State
from tmuxreap.app import real_app
from tmuxreap.commands import agents as agents_verb
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile.drift import DriftKind, RowDrift
from tmuxreap.core import results
from tmuxreap.core.answers import Session
from tmuxreap.core.defaults import HANGUP_GRACE_S, TERM_GRACE_S
from tmuxreap.core.errors import Code, Exit
from tmuxreap.core.model import AgentState, EndVerb, Live, Outcome, Status, StoppedBy
from tmuxreap.core.results import Conversation, Ending, Item, Result
from tmuxreap.core.text import Style
from tmuxreap.core.times import parse_duration
from tmuxreap.core.values import replace
from tmuxreap.core.verbs import ALL, PUBLIC
from tmuxreap.ending.plan import KILL_WAIT_S, RUNGS, RungKind
from tmuxreap.interfaces.cli.main import program
from tmuxreap.interfaces.text.report import lines
from tmuxreap.registry.transitions import TRANSITIONS, RowEvent
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
JSON, VERB_PAGE, STOPPING, EXITS, AGENT_PAGE = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("json", "verbs", "stopping", "exit-status", "agents")
)
PAGES = [
    str(page.relative_to(ROOT))
    for folder in (ROOT, ROOT / "docs", ROOT / "docs" / "reports")
    for page in sorted(folder.glob("*.md"))
]
AGENTS = load_profiles(None).agents
WIDEST = 120  # cells of a line of prose
CONVERSATION = "e4d745b8-0584-46dc-828b-77f88ae13a1a"


def section(page: str, title: str) -> str:
    return re.split(r"^## ", page, flags=re.MULTILINE)[[*headings(page)].index(title) + 1]


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.*)$", page, flags=re.MULTILINE)


def table(text: str) -> dict[str, list[str]]:
    """Return the cells of each row by its first cell, without header and rule."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split(" | ")]
        for line in text.splitlines()
        if line[:2] == "| "
    ]
    return {row[0].strip("` "): [cell.strip(" |") for cell in row[1:]] for row in rows[1:]}


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def commands() -> dict[str, typer.core.TyperCommand]:
    found = program(ALL).commands
    return {verb: found[verb] for verb in PUBLIC}


def flags(command: typer.core.TyperCommand) -> Iterator[str]:
    for param in command.params:
        if isinstance(param, typer.core.TyperOption) and not param.hidden:
            yield next(name for name in param.opts if name.startswith("--"))


# Verbs, flags and agents.


def test_every_verb_and_flag_is_documented() -> None:
    part = section(VERB_PAGE, "Verbs")
    synopses = dict(re.findall(r"^    ([a-z]+) +(.*)$", part, flags=re.MULTILINE))
    scope = re.search(r"^ +scope: .*$", part, flags=re.MULTILINE)
    assert scope
    common = part[part.index("Common flags") : part.index("**Targets**")]
    missing = [
        f"{verb} {flag}"
        for verb, command in commands().items()
        for flag in flags(command)
        if not re.search(
            rf"{flag}(?![\w-])", synopses.get(verb, "").replace("[scope]", scope[0]) + common
        )
    ]
    assert missing == []


def test_every_documented_verb_and_flag_exists() -> None:
    part, known = section(VERB_PAGE, "Verbs"), commands()
    synopses = re.findall(r"^    ([a-z]+) +(.*)$", part, flags=re.MULTILINE)
    assert {verb for verb, _ in synopses} == set(PUBLIC)
    there = {flag for command in known.values() for flag in flags(command)} | {
        "--help",
        "--version",
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", part)) <= there
    for verb, synopsis in synopses:
        assert set(re.findall(r"--[a-z][a-z-]*", synopsis)) <= set(flags(known[verb])), verb
    assert all(f"also: {verb.alias}" in part for verb in ALL if verb.alias)


def test_each_span_of_time_is_read() -> None:
    line = section(VERB_PAGE, "Verbs").partition("Spans of time:")[2].partition("\n\n")[0]
    assert [parse_duration(span) for span in codes(line)] == [90, 90, 900, 7200, 86400]


def test_the_table_of_agents_is_that_of_their_profiles() -> None:
    told = table(AGENT_PAGE)
    assert told == {name: capabilities(profile) for name, profile in AGENTS.items()}


def capabilities(profile: Profile) -> list[str]:
    """Return the cells of an agent after its name."""
    sending = "one line" if State.IDLE in profile.screens else "-"
    return [
        "its own keys" if profile.has_keys else "SIGHUP",
        "yes" if profile.screens else "-",
        "several lines" if profile.prompt.whole else sending,
        "yes" if profile.resume else "-",
        "yes" if profile.purge else "-",
        profile.verified or "-",
    ]


def test_the_page_of_hosts_names_every_verb_that_reaches_them() -> None:
    page = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")
    said = re.search(r"`--host` works with (.*?);", page, flags=re.DOTALL)
    assert said
    named = re.split(r",\s+|\s+and\s+", said[1])
    assert sorted(named) == sorted(verb.name for verb in ALL if verb.on_hosts)


# The tables.


def test_the_matrix_has_every_agent_that_was_tried_in_that_version() -> None:
    tried = {name: (profile.verified or "").partition(",")[0] for name, profile in AGENTS.items()}
    assert tables.read().versions == {n: said for n, said in tried.items() if said[:1].isdigit()}


def test_the_table_of_exits_is_that_of_the_code() -> None:
    told = {int(status): codes(cells[-1]) for status, cells in table(EXITS).items()}
    assert told == {
        int(status): [code.text for code in Code if code.exit is status] for status in Exit
    }


def test_the_table_of_rungs_is_that_of_the_code() -> None:
    rungs = table(section(STOPPING, "How a stop works"))
    assert [RungKind(name) for name in rungs] == list(RUNGS[EndVerb.STOP])
    waits = {name: float(re.findall(r"[\d.]+", cells[1])[0]) for name, cells in rungs.items()}
    assert waits == {"keys": AGENTS["demo"].leave_s, "hangup": HANGUP_GRACE_S, "kill": KILL_WAIT_S}
    told = [StoppedBy(codes(cells[2])[0]) for cells in rungs.values()]
    assert told == [StoppedBy.EXIT_KEYS, StoppedBy.HANGUP, StoppedBy.SIGKILL]
    assert [rung.value for rung in RUNGS[EndVerb.KILL]] == ["term", "kill"]
    assert f"`kill` has the rungs `term` ({TERM_GRACE_S:g} s, `sigterm`) and `kill`" in " ".join(
        STOPPING.split()
    )


def test_the_table_of_states_is_that_of_the_code() -> None:
    part = section(STOPPING, "States")
    states = table(part)
    assert [Status(name) for name in states] == list(Status)
    events = {"start": RowEvent.STARTED, "adopt": RowEvent.ADOPTED, "resume": RowEvent.RESUMED}
    events |= {"stop": RowEvent.STOPPED, "kill": RowEvent.KILLED, "reconcile": RowEvent.FOUND_DEAD}
    told = {event: Status(name) for name, cells in states.items() for event in codes(cells[-1])}
    assert told == {verb: TRANSITIONS[event][Status.RUNNING] for verb, event in events.items()}
    live = codes(part.partition("`live`:")[2].partition("Where status")[0])
    assert {Live(name) for name in live} == set(Live)


def test_the_fields_of_the_json_are_those_of_the_code() -> None:
    assert fields(section(JSON, "Envelope")) == set(Result("list", None, 0.0).as_json())
    end = table(section(JSON, "A result of stop and kill"))
    assert fields(section(JSON, "A result of stop and kill")) == {
        *Ending("a", Outcome.STOPPED).as_json(),
        "plan",
    }
    assert [Outcome(name) for name in codes(end["outcome"][0])] == list(Outcome)
    assert {StoppedBy(name) for name in codes(end["stopped_by"][0])} == set(StoppedBy)
    assert [Kind(name) for name in table(section(JSON, "Reap"))] == list(Kind)
    session = section(JSON, "A result of list, show, start, adopt and resume")
    assert fields(session) == set(SHOP.as_json())
    assert {Live(name) for name in codes(table(session)["live"][0])} == set(Live)
    assert {AgentState(name) for name in codes(table(session)["state"][0])} == set(AgentState)
    drift = section(JSON, "Reconcile")
    assert fields(drift) == set(RowDrift("shop", DriftKind.DEAD, "").answer.as_json()) - {"error"}
    assert [DriftKind(name) for name in codes(table(drift)["drift"][0])] == list(DriftKind)
    agents = re.search(r"^- `agents`: (.*?)\.$", JSON, flags=re.MULTILINE | re.DOTALL)
    assert agents
    assert codes(agents[1]) == list(agents_verb.run(quiet_app()).results[0].as_json())


def quiet_app() -> Context:
    return real_app(Settings({}, Path("/"), os.getuid(), os.getpid(), "linux"), None)


def fields(text: str) -> set[str]:
    return {name.strip("` ") for cell in table(text) for name in cell.split(",")}


# The transcript.

SHOP = Session(
    name="shop",
    agent="demo",
    status=Status.RUNNING,
    live=Live.ALIVE,
    tmux_server=None,
    pane_id="%0",
    pid=16897,
    cwd="/",
    tags=(),
    conversation_id=CONVERSATION,
    resumable=False,
    idle_s=0,
    memory_mb=13.8,
    state="idle",
    state_source="screen",
)
STOPPED = Ending(
    name="shop",
    outcome=Outcome.STOPPED,
    stopped_by=StoppedBy.EXIT_KEYS,
    freed_mb=13.8,
    resumable=True,
    conversation=Conversation(CONVERSATION, "pidfile", None, exists=True),
    duration_ms=196,
    rungs=(results.Rung("keys", 125, enough=True),),
)
AGAIN = replace(
    STOPPED,
    outcome=Outcome.ALREADY_STOPPED,
    stop_reason="manual_stop",
    ended_at="2026-11-18T14:03:41Z",
)


def test_the_transcript_is_what_the_program_says_today() -> None:
    told: list[tuple[str, Item]] = [("list", SHOP), ("stop shop", STOPPED), ("stop shop", AGAIN)]
    said: list[str] = []
    for command, item in told:
        said.append(f"$ tmuxreap {command}")
        said += lines(Result(command.split()[0], None, 0.0, [item]), Style())
    (transcript,) = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    assert transcript.splitlines() == said


# The pages themselves.


def prose(page: Path) -> list[str]:
    """Return the lines of a page, without tables and code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [line for line in text.splitlines() if not re.match(r"\||    |`[^`]+`$", line)]


def test_a_line_of_prose_can_be_read_in_a_diff() -> None:
    long = [
        f"{page}: {line}" for page in PAGES for line in prose(ROOT / page) if len(line) > WIDEST
    ]
    assert long == []


# The glossary has the word to use: reported, in progress, again, is.
TRANSLATED = re.compile(
    r"\b(?:anew|under way|mend(?:s|ed)|all the same|such a one|(?:is|are|was|were) told|stands"
    r"|tak(?:e|es|en) (?:it |them )?up)\b"
)


def test_no_page_reads_as_a_translation() -> None:
    users = [page for page in PAGES if page != "CHANGELOG.md" and "reports" not in page]
    found = {page: TRANSLATED.findall((ROOT / page).read_text(encoding="utf-8")) for page in users}
    assert {name: words for name, words in found.items() if words} == {}


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    folder = ROOT / "docs"
    pages = {str(path.relative_to(folder)) for path in folder.rglob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"\]\(((?:reports/)?[\w-]+\.md)\)", index))


def test_llms_txt_is_the_index_of_the_pages() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    assert text == script("reach.py").llms_text(index), "run scripts/pages"
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_install_line_stands_where_it_is_seen() -> None:
    above = README.splitlines()[:20]
    assert "    pipx install '.[all]'" in above
    assert any("film.svg" in line for line in above)
    assert not [line for line in above if line.startswith("|")]


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_readme_names_the_two_commands_and_they_can_be_run() -> None:
    named = re.findall(r"^    (\./\S+)", README, flags=re.MULTILINE)
    assert named == ["./scripts/demo", "./scripts/test"]
    assert all(os.access(ROOT / command, os.X_OK) for command in named)


def leads_somewhere(here: Path, target: str) -> bool:
    if re.match(r"[a-z]+:", target):
        return True
    path, _, anchor = target.partition("#")
    there = here.parent / path if path else here
    if not there.exists() or not anchor:
        return there.exists()
    titles = headings(there.read_text(encoding="utf-8"))
    return anchor in [title.lower().replace(" ", "-") for title in titles]


def test_every_link_within_leads_somewhere() -> None:
    broken = [
        f"{page}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text(encoding="utf-8"))
        if not leads_somewhere(ROOT / page, target)
    ]
    assert broken == []


def test_no_file_names_a_machine_or_a_package_registry() -> None:
    # Concatenated, so that this file does not match.
    forbidden = [
        r"/(?:work|root|opt|Users)" + r"/\w",
        r"(?:files\.python" + r"hosted|pypi)\." + "org",
        r"--index" + "-url",
        r"/tmp/v" + "/",
    ]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked()
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if any(re.search(pattern, line) for pattern in forbidden)
    ]
    assert not found
