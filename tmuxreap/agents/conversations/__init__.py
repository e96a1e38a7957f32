"""Owns agents' stores: `find` locates a conversation (`databases`: where they are SQLite),
`command_lines` tells how to resume it, `purge` deletes it, `background` sees what goes on without
its pane."""
