"""Plans how a conversation goes on: with which command, in which folder and store. Refuses one that
is not on disk, or that a living agent is in. Starts nothing."""

from __future__ import annotations

from collections.abc import Container, Mapping

from tmuxreap.agents.conversations.background import Forked
from tmuxreap.agents.conversations.command_lines import resume_words
from tmuxreap.agents.conversations.find import Clues, with_path
from tmuxreap.agents.conversations.records import store_of
from tmuxreap.agents.profiles import Profile
from tmuxreap.commands.starting.launch import existing_folder
from tmuxreap.commands.starting.row import Launch
from tmuxreap.core.errors import Code, Failure, command, could_not
from tmuxreap.core.model import Live, Row, Terminal
from tmuxreap.core.text import plain
from tmuxreap.registry.rows import recorded_conversation
from tmuxreap.registry.transitions import RowEvent
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.conversation import Known, store_environment


def take_up(context: Context, row: Row, own: Container[int] = ()) -> Launch:
    """Plan how the row's conversation continues; Failure if it has none or it is in use. `own`:
    the processes of its agent, where that is still in it."""
    profile, conversation, environment = resumable(context, row)
    _not_in_use(context, row, profile, conversation, own)
    if row.terminal is Terminal.NONE:
        terminal = Terminal.NONE
    else:
        terminal = Terminal.TMUX
    return Launch(
        name=row.name,
        agent=profile.name,
        words=tuple(resume_words(profile, row.start_command, conversation)),
        start_command=None,
        cwd=existing_folder(row.name, row.pane.cwd or str(context.settings.cwd)),
        server=row.tmux_server,
        socket=context.servers.socket(row.tmux_server),
        event=RowEvent.RESUMED,
        conversation=conversation,
        environment=environment,
        terminal=terminal,
    )


def resumable(context: Context, row: Row) -> tuple[Profile, str, Mapping[str, str]]:
    """Return the conversation that can be resumed, or raise a Failure with the reason."""
    agent = context.agents.of(row)
    context.profiles.check(agent)
    profile = context.profiles.of(agent)
    conversation = recorded_conversation(row, agent)
    if profile is None or not profile.resume:
        reason = f"no resume command is known for {agent or 'an unknown agent'}"
    elif conversation is None:
        reason = "no conversation was captured"
    elif row.termination_mode == "purge":
        reason = "its conversation was purged"
    else:
        known = _known(context, row, profile, conversation)
        _warn_of_fork(context, row, known)
        if known.is_resumable and known.conversation.id is not None:
            return profile, known.conversation.id, store_environment(profile, row.store)
        if known.forked is not None:
            raise _moved(row, known.forked)
        reason = f"the conversation {conversation} is not on disk, or has no message"
    hint = f"start a new conversation: {command('start', row.name)}"
    raise could_not("resume", row.name, reason, hint, Code.NOT_RESUMABLE)


def _known(context: Context, row: Row, profile: Profile, conversation: str) -> Known:
    """Find the recorded conversation on disk, under the ID that its agent continued it as."""
    store = store_of(profile, None, row.store, context.settings.home)
    found = with_path(profile, store, conversation, None)
    return context.finder.followed(profile, Known(found, Clues(store=store)))


def _warn_of_fork(context: Context, row: Row, known: Known) -> None:
    if known.forked is None or not known.forked.is_on_disk:
        return
    warning = plain(known.forked.warning(f"{row.name}'s"))
    if warning not in context.warnings:
        context.warnings.append(warning)


def _moved(row: Row, forked: Forked) -> Failure:
    """Return the failure for a conversation of which only an older copy is on disk."""
    reason = (
        f"its agent continued {forked.before} as {forked.after}, which is not on disk yet; it runs"
        f" in {forked.jobs[0].where}"
    )
    return could_not("resume", row.name, reason, forked.jobs[0].way_out, Code.NOT_RESUMABLE)


def _not_in_use(
    context: Context, row: Row, profile: Profile, conversation: str, own: Container[int]
) -> None:
    """Check that no live agent, registered or not, uses this conversation."""
    others = [
        other
        for other in context.registry.look().usable
        if other.name != row.name
        and not other.status.ended
        and recorded_conversation(other, context.agents.of(other)) == conversation
        and (not profile.is_per_folder or other.pane.cwd == row.pane.cwd)
    ]
    store = store_of(profile, None, row.store, context.settings.home)
    for other, sight in zip(others, context.sights.of(others), strict=True):
        if sight.live in (Live.ALIVE, Live.UNKNOWN):
            raise _in_use(row, other.name, f"stop it first: {command('stop', other.name)}")
    for job in context.finder.sessions_in(_known(context, row, profile, conversation), profile):
        raise _in_use(row, job.where, job.way_out)
    process = context.finder.agent_in_conversation(profile, conversation, store, own)
    if process is not None:
        hint = f"leave that one first, or record its session: {command('adopt', row.name)}"
        raise _in_use(row, f"{profile.name} ({process.pid})", hint)


def _in_use(row: Row, who: str, hint: str) -> Failure:
    reason = f"{who} is in the same conversation"
    return could_not("resume", row.name, reason, hint, Code.CONVERSATION_IN_USE)
