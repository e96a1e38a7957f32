"""Builds the block `background` of a profile: how an agent's own daemon lists, ends and shows its
sessions. Reads no list, and asks no daemon."""

from __future__ import annotations

from tmuxreap.agents.blocks import Block
from tmuxreap.agents.profiles import Background


def background_of(data: Block) -> Background:
    data.only(Background.__match_args__)
    file = data.text("file")
    entries = data.text("entries")
    end = data.words("end")
    if not file or not entries or not end:
        raise data.bad("file", "background sessions need their file, its entries, and their end")
    for key in ("file", "state_file"):
        data.check_in_store(key)
    default = Background(file, entries, end)
    unused = data.inner("unused").data
    return Background(
        file=file,
        entries=entries,
        end=end,
        attach=data.words("attach"),
        id=data.pattern("id") or default.id,
        daemon=data.text("daemon"),
        pid=data.text("pid") or default.pid,
        started=data.text("started") or default.started,
        agent_pid=data.text("agent_pid"),
        agent_started=data.text("agent_started"),
        conversation=data.text("conversation"),
        source=data.text("source"),
        parents=data.words("parents"),
        folder=data.text("folder"),
        flags=data.text("flags"),
        unused={str(key): str(word) for key, word in unused.items()},
        state_file=data.text("state_file"),
        state=data.text("state") or default.state,
        ended=data.words("ended"),
        respawn_s=data.number("respawn_s", 0.0),
    )
