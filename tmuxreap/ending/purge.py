"""`--purge-conversation`: whether a conversation may be deleted, judged before the ending and once
more after the proof of death, and its deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tmuxreap.agents.conversations.find import GUESS, wrote_nothing
from tmuxreap.agents.conversations.purge import Purged, purge, why_not_purgeable
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Row, Terminal, Verb
from tmuxreap.core.values import replace
from tmuxreap.ending.ending import Ending
from tmuxreap.ending.results import out_of_reach
from tmuxreap.registry.file import Registry
from tmuxreap.sessions.conversation import Finder

PURGE = "purge the conversation of"
IN_USE = ("goes_on", "conversation_forked")
Rows = Callable[[], Iterable[Row]]  # the rows of the registry, read when they are needed


def why_no_purge_yet(ending: Ending, rows: Rows) -> Failure | None:
    """Return, before the ending, why the conversation may not be purged."""
    uncertain = ending.conversation.id is None or ending.conversation.source == GUESS
    return None if uncertain and _banner_expected(ending) else why_no_purge(ending, rows)


def why_no_purge(ending: Ending, rows: Rows) -> Failure | None:
    """Return why the conversation may not be purged: it must be certain, and only this row's."""
    row, conversation = ending.row, ending.conversation
    if ending.known.candidates:
        reason = f"it could be any of {', '.join(ending.known.candidates)}"
        hint = f"stop it without: {command('stop', row.name)}"
        return could_not(PURGE, row.name, reason, hint, Code.AMBIGUOUS_CONVERSATION)
    users = _users(rows(), conversation.id, row.name) if conversation.id is not None else []
    if users:
        hint = f"forget that row first: {command('forget', users[0])}"
        reason = f"{', '.join(users)} has it too"
        return could_not(PURGE, row.name, reason, hint, Code.CONVERSATION_IN_USE)
    if (
        conversation.id is None
        and ending.profile is not None
        and wrote_nothing(ending.profile, ending.known.clues)
    ):
        return None  # no message was ever sent: there is nothing to delete
    return why_not_purgeable(row.name, ending.profile, ending.known.clues.store, conversation)


def _users(rows: Iterable[Row], conversation: str, name: str) -> list[str]:
    others = (row for row in rows if row.name != name)
    return [row.name for row in others if conversation in dict(row.conversations).values()]


def _banner_expected(ending: Ending) -> bool:
    """Tell whether the agent's exit banner will name the conversation for certain: until then a
    guess is no reason to refuse."""
    policy = ending.policy
    keyed = policy.verb is Verb.STOP and policy.keys_timeout_s != 0 and bool(ending.sight.keyed)
    return keyed and ending.profile is not None and ending.profile.prints_exit_banner


def purge_now(
    ending: Ending, registry: Registry, finder: Finder, drop_logs: Callable[[str], tuple[str, ...]]
) -> None:
    """Purge after the proof of death and before the record: `reconcile` recognizes a crash between
    the two. Check again first: the conversation may have changed since the plan."""
    failure = why_no_purge(ending, lambda: registry.look().usable) or _still_in_use(finder, ending)
    if ending.cut_off:
        failure = out_of_reach(ending.policy.verb, ending.name, ending.beyond)
    if failure is not None:
        ending.purged = Purged(failure=failure)
    elif ending.conversation.id is None or ending.profile is None:  # no message was ever sent
        ending.purged = Purged()
    else:
        store = ending.known.clues.store
        ending.purged = purge(ending.name, ending.profile, store, ending.conversation)
    if ending.row.terminal is Terminal.NONE and ending.purged.failure is None:
        logs = drop_logs(ending.name)  # it shows the conversation, too
        ending.purged = replace(ending.purged, paths=(*ending.purged.paths, *logs))


def _still_in_use(finder: Finder, ending: Ending) -> Failure | None:
    told = [it.warning for it in finder.sessions_in(ending.known, ending.profile)]
    told += finder.background_warnings(ending.known, ending.profile)
    said = [warning.partition(": ") for warning in told]
    reason = next((words for code, _, words in said if code in IN_USE), None)
    if reason is None:
        return None
    hint = f"then: {command('stop', ending.name, '--purge-conversation')}"
    return could_not(PURGE, ending.name, reason, hint, Code.CONVERSATION_IN_USE)
