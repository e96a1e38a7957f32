"""Deletes one conversation from its agent's store, and nothing else. No other module deletes files
of an agent.

An ID is hostile input, and a store may hold links: a path out of the store is refused before
anything is deleted."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from tmuxreap.agents.conversations.find import GUESS, is_id, with_id
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.errors import Code, Failure, command
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import frozen


@frozen
class Purged:
    """The deleted paths, and those left because other conversations share them."""

    paths: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    failure: Failure | None = None


def why_not_purgeable(
    name: str, profile: Profile | None, store: Path | None, conversation: Conversation
) -> Failure | None:
    """Return why this conversation cannot be purged; asked before any key is sent."""
    reason = None
    if profile is None or not (profile.purge or profile.delete):
        reason = "the files that this agent keeps of a conversation are not known"
    elif conversation.id is None:
        reason = "which one is its own is not certain"
    elif store is None:
        reason = "where this agent keeps its conversations is not known"
    elif conversation.source == GUESS:
        reason = f"the conversation {conversation.id} is only the likeliest"
    elif not is_id(profile, conversation.id):
        reason = f"{conversation.id!r} is not a conversation ID"
    else:
        paths = _paths_to_delete(profile, store, conversation.id)
        outside = [path for path in paths if not _inside(path, store)]
        reason = None
        if outside:
            reason = f"{outside[0]} leads out of the store {store}"
    if reason is None:
        return None
    text = f"could not purge the conversation of {name}: {reason}"
    return Failure(Code.AMBIGUOUS_CONVERSATION, text, f"stop it without: {command('stop', name)}")


def purge(name: str, profile: Profile, store: Path | None, conversation: Conversation) -> Purged:
    """Delete the conversation. Call it after the proof of death; it is idempotent."""
    failure = why_not_purgeable(name, profile, store, conversation)
    if failure is not None or store is None or conversation.id is None:
        return Purged(failure=failure)
    deleted: list[str] = []
    for path in _paths_to_delete(profile, store, conversation.id):
        try:
            _delete(path)
        except OSError as error:
            reason = f"could not delete {path}: {error.strerror}"
            failure = Failure(Code.PERMISSION_DENIED, reason, "delete it by hand")
            return Purged(tuple(deleted), failure=failure)
        deleted.append(str(path))
    return Purged(tuple(deleted), tuple(_remaining_mentions(profile, store, conversation.id)))


def would_purge(profile: Profile | None, store: Path | None, conversation: Conversation) -> Purged:
    """Return what a purge would delete, and what it would leave; delete nothing."""
    known = conversation.id
    if profile is None or store is None or known is None or not is_id(profile, known):
        return Purged()
    paths = map(str, _paths_to_delete(profile, store, known))
    return Purged(tuple(paths), tuple(_remaining_mentions(profile, store, known)))


def _paths_to_delete(profile: Profile, store: Path, conversation: str) -> list[Path]:
    """Return the paths to delete, deepest first, so that a folder comes after its files."""
    names: set[str] = set()
    for pattern in profile.purge:
        names.update(_matching_names(pattern, store, conversation))
    return sorted((store / name for name in names), key=lambda path: (-len(path.parts), str(path)))


def _matching_names(pattern: str, store: Path, conversation: str) -> list[str]:
    """Return the names that match a pattern; a file named by the ID's first letters must contain
    the whole ID."""
    names = glob.glob(with_id(pattern, conversation), root_dir=store)  # noqa: PTH207
    if "{id}" in pattern:
        return names
    return [name for name in names if _mentions(store / name, conversation)]


def _inside(path: Path, store: Path) -> bool:
    """Tell whether the real path is in the store: no link on the way leads out of it."""
    real = os.path.realpath(path)
    return real.startswith(os.path.realpath(store).rstrip("/") + "/") and ".." not in path.parts


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remaining_mentions(profile: Profile, store: Path, conversation: str) -> Iterator[str]:
    """Yield the files shared with other conversations that mention this one."""
    for pattern in profile.shared:
        within = pattern.removeprefix("../")
        place = store if within == pattern else store.parent
        for name in sorted(glob.glob(within, root_dir=place)):  # noqa: PTH207
            if _mentions(place / name, conversation):
                yield str(place / name)
    if profile.delete:
        words = " ".join(profile.delete).replace("{id}", conversation)
        yield f"the agent's own command: {words}"


def _mentions(path: Path, conversation: str) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as lines:
            return any(conversation.encode() in line for line in lines)
    except OSError:
        return True  # unknown: report it
