"""Owns the knowledge about agents, as data: how to recognize one, read its screen, exit it by its
own keys, find and resume its conversation.

Never acts on a session, and deletes nothing but a conversation (`conversations.purge`). A new
agent is one block in `agents.yaml`.

Doors: `load`, `profiles`, `programs`, `screens`, `blocks` (any settings in YAML), the folder
`conversations`, and of the hooks `hooks.events` and `hooks.settings_file`. Main types: `Profiles`,
`Profile`, `Screen`. `demo` is independent: an agent that only pretends."""
