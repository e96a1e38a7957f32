"""Owns the doors to people and programs: command line, text, completion, hooks, MCP, popup, Python,
and both ends of `--host`.

Never decides what happens to a session: each turns words into a request, and an answer into words.

Nothing imports from here but where a process begins: `cli.main`, `text.report`, `hook.answer`,
`completion.answer`, and `python.api` for programs. Main types: `Tool` (of MCP), `Column` (of a
table), `Key` (of the popup)."""
