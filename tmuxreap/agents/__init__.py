"""Owns what is known of agents, as data: how to recognise one, read its screen, leave it by its own
keys, find and resume its conversation.

Never acts on a session: it says which keys would be typed, and what a purge would delete. A new
agent is one block in `agents.yaml`.

Doors: `load`, `profiles`, `spared`, `programs`, `screens`, `blocks` (settings in YAML, also those
of others), the folder `conversations`, and of the hooks `hooks.events` and `hooks.settings_file`.
Main types: `Profiles`, `Profile`, `Screen`. `demo` stands alone: an agent that only pretends."""
