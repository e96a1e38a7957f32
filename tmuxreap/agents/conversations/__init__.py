"""Owns agents' stores: `find` locates a conversation, `records` reads what an agent says of itself,
`command_lines` builds the command to resume it, `purge` deletes it; `lists` reads the sessions of
an agent's own daemon (`jobs`), `background` finds what continues without its pane."""
