"""Owns agents' stores: `find` locates a conversation (`databases`: in SQLite), `command_lines`
builds the command to resume it, `purge` deletes it, `background` finds what continues without its
pane."""
