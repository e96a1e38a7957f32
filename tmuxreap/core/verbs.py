"""The verbs of the program, each as a value: what is true of a verb is said here, and nowhere else.

Never runs one: `commands` does the work, and `interfaces.cli.verbs` declares the flags."""

from __future__ import annotations

from collections.abc import Mapping

from tmuxreap.core import answers, results
from tmuxreap.core.values import Word, frozen

RUNNING = frozenset({"running"})
ENDED = frozenset({"stopped", "terminated", "archived"})


class Group(Word):
    """The groups of the help, in its order."""

    EVERYDAY = "Everyday"
    UPKEEP = "Upkeep"
    FOR_AGENTS = "For agents"
    SET_UP = "Set-up"


@frozen
class Verb:
    name: str
    flags: str  # the module of `interfaces.cli.verbs` that declares them
    group: Group | None = None  # None: called by programs only, and not in the help
    word: str = ""  # on the command line, where it is not the name
    alias: str = ""
    synonyms: str = ""  # words of other programs, for "did you mean"

    # What it does
    changes: bool = False  # the registry, or sessions; else it only looks
    needs_yes_to_change: bool = False  # without --yes it shows its plan
    is_endless: bool = False
    lasts: bool = False  # it may run for hours, and collects its garbage
    has_registry: bool = True
    is_bare: bool = False  # runs without a context, and prints what it likes
    ignores_bad_settings: bool = False  # a broken config.yaml is a warning
    has_settings: bool = True
    tool: str = ""  # recorded for its endings instead of the interface's name

    # Its targets
    takes_all: bool = False
    needs_targets: bool = False  # whatever its flags
    targets: frozenset[str] | None = None  # the states of the rows that it means; None: all

    # On other hosts
    on_hosts: bool = False
    is_planned: bool = False  # patterns are resolved there first, and sent back as names
    asks: bool = False  # a person is asked before patterns

    # Its answer
    result: type | None = None  # of each result
    more: type | None = None  # beside the results
    takes_terminal: bool = False  # never --json or --quiet
    shows_progress: bool = False
    nothing: str = ""  # printed where there is no result; {where}: in which registry
    lined: str = ""  # several results have one line each, and a sum with this word

    @property
    def called(self) -> str:
        return self.word or self.name


ALL = (
    Verb(
        "start",
        "starting",
        Group.EVERYDAY,
        synonyms="new run",
        changes=True,
        targets=ENDED,
        on_hosts=True,
        result=answers.Launched,
        more=results.Planned,
    ),
    Verb(
        "adopt",
        "starting",
        Group.EVERYDAY,
        changes=True,
        on_hosts=True,
        result=answers.Launched,
        lined="registered",
    ),
    Verb(
        "list",
        "looking",
        Group.EVERYDAY,
        alias="ls",
        synonyms="status ps",
        takes_all=True,
        on_hosts=True,
        result=answers.Listed,
        nothing="no sessions yet; begin with: tmuxreap start NAME --agent AGENT",
    ),
    Verb(
        "show",
        "looking",
        Group.EVERYDAY,
        needs_targets=True,
        takes_all=True,
        on_hosts=True,
        result=answers.Shown,
    ),
    Verb(
        "stop",
        "ending",
        Group.EVERYDAY,
        needs_targets=True,
        synonyms="end quit exit",
        changes=True,
        ignores_bad_settings=True,
        takes_all=True,
        targets=RUNNING,
        on_hosts=True,
        is_planned=True,
        asks=True,
        result=results.Ending,
        more=answers.Sums,
        shows_progress=True,
        nothing="nothing to stop{where}",
    ),
    Verb(
        "resume",
        "starting",
        Group.EVERYDAY,
        synonyms="restore",
        changes=True,
        takes_all=True,
        targets=ENDED,
        on_hosts=True,
        result=answers.Launched,
        more=results.Resuming,
        lined="resumed",
    ),
    Verb(
        "restart",
        "ending",
        Group.EVERYDAY,
        needs_targets=True,
        synonyms="reload respawn update upgrade",
        changes=True,
        lasts=True,
        takes_all=True,
        targets=RUNNING,
        asks=True,
        result=results.Restarted,
        nothing="nothing to restart{where}",
        lined="restarted",
    ),
    Verb("attach", "starting", Group.EVERYDAY, synonyms="open", takes_terminal=True),
    Verb(
        "wait",
        "looking",
        Group.EVERYDAY,
        lasts=True,
        needs_targets=True,
        on_hosts=True,
        result=answers.Awaited,
    ),
    Verb(
        "send",
        "ending",
        Group.EVERYDAY,
        synonyms="prompt ask tell say type",
        changes=True,
        lasts=True,
        result=answers.Sent,
    ),
    Verb(
        "interrupt",
        "ending",
        Group.EVERYDAY,
        needs_targets=True,
        changes=True,
        on_hosts=True,
        is_planned=True,
        asks=True,
        result=answers.Interrupted,
        nothing="nothing to interrupt{where}",
    ),
    Verb(
        "kill",
        "ending",
        Group.UPKEEP,
        needs_targets=True,
        changes=True,
        ignores_bad_settings=True,
        takes_all=True,
        targets=RUNNING,
        on_hosts=True,
        is_planned=True,
        asks=True,
        result=results.Ending,
        more=answers.Sums,
        shows_progress=True,
        nothing="nothing to kill{where}",
    ),
    Verb(
        "reap",
        "ending",
        Group.UPKEEP,
        changes=True,
        needs_yes_to_change=True,
        tool="reap",
        on_hosts=True,
        result=results.Ending,
        more=answers.Reaping,
        nothing="nothing to reap{where}",
    ),
    Verb(
        "forget",
        "ending",
        Group.UPKEEP,
        synonyms="rm delete remove",
        changes=True,
        takes_all=True,
        targets=ENDED,
        on_hosts=True,
        is_planned=True,
        result=answers.Forgotten,
        nothing="nothing to forget{where}",
    ),
    Verb(
        "protect",
        "ending",
        Group.UPKEEP,
        needs_targets=True,
        changes=True,
        on_hosts=True,
        result=answers.Protected,
    ),
    Verb(
        "unprotect",
        "ending",
        Group.UPKEEP,
        needs_targets=True,
        changes=True,
        on_hosts=True,
        result=answers.Protected,
    ),
    Verb(
        "reconcile",
        "looking",
        Group.UPKEEP,
        changes=True,
        on_hosts=True,
        result=answers.Drift,
        more=answers.Reconciled,
        nothing="registry, ledger and tmux agree",
    ),
    Verb(
        "watch",
        "looking",
        Group.UPKEEP,
        is_endless=True,
        lasts=True,
        tool="watch",
        on_hosts=True,
        result=answers.Change,
    ),
    Verb(
        "events",
        "looking",
        Group.UPKEEP,
        synonyms="logs log history",
        lasts=True,
        on_hosts=True,
        result=answers.Event,
        nothing="nothing happened yet",
    ),
    Verb(
        "report",
        "looking",
        Group.UPKEEP,
        synonyms="stats summary",
        result=answers.Reported,
        more=answers.Reporting,
        nothing="no session ran in this time",
    ),
    Verb("doctor", "setup", Group.UPKEEP, on_hosts=True, result=answers.Finding),
    Verb("hosts", "setup", Group.UPKEEP, has_registry=False, result=answers.Reached),
    Verb(
        "heartbeat",
        "internal",
        Group.FOR_AGENTS,
        has_settings=False,
        result=answers.Beat,
    ),
    Verb("mcp", "setup", Group.FOR_AGENTS, lasts=True),
    Verb("skills", "setup", Group.FOR_AGENTS, has_registry=False, result=answers.Skill),
    Verb("schema", "setup", Group.FOR_AGENTS, is_bare=True),
    Verb(
        "config",
        "setup",
        Group.SET_UP,
        has_registry=False,
        result=answers.Default,
        more=answers.ConfigFile,
    ),
    Verb("hooks", "setup", Group.SET_UP, result=answers.Hooked),
    Verb("agents", "setup", Group.SET_UP, has_registry=False, result=answers.Agent),
    Verb("popup", "setup", Group.SET_UP, lasts=True, takes_terminal=True),
    Verb("completion", "setup", Group.SET_UP, has_registry=False, result=answers.Script),
    # Called by agents, by ourselves, and by the tmuxreap of another host.
    Verb("hook", "internal", has_settings=False, is_bare=True),
    Verb("finish", "internal", word="_finish", ignores_bad_settings=True, is_bare=True),
    Verb("bring_back", "internal", word="_bring_back", tool="watch", is_bare=True),
    Verb("at", "internal", is_bare=True),
)
VERBS: Mapping[str, Verb] = {verb.name: verb for verb in ALL}
CALLED: Mapping[str, Verb] = {
    **{verb.called: verb for verb in ALL},
    **{verb.alias: verb for verb in ALL if verb.alias},
}
# Those that a person may call; `hook` is documented, as agents' settings name it.
PUBLIC = (*(verb.name for verb in ALL if verb.group), "hook")


def changes(verb: Verb, words: Mapping[str, object]) -> bool:
    """Tell whether the verb, called with these words, changes anything."""
    only_shows = words.get("dry_run") or words.get("print_only")
    if verb.needs_yes_to_change and not words.get("yes"):
        return False
    return verb.changes and not only_shows


def is_endless(verb: Verb, words: Mapping[str, object]) -> bool:
    return verb.is_endless or bool(words.get("follow"))


def only_here(verb: str) -> str:
    """Return why the verb, which runs on no other host, is refused for one."""
    return f"{verb} works on this machine only"
