"""Owns the interfaces for people and programs: command line and its completion, text, hooks, MCP,
popup, Python, and both ends of `--host`.

Never decides what happens to a session: each interface turns words into a request, and an answer
into words.

Doors, used only where a process starts: `cli.main`, `text.report`, `hook.answer`;
for programs `python.api`. Main types: `Tool` (of MCP), `Column` (of a table),
`PopupKey` (of the popup)."""
