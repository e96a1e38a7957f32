"""Owns agents' hooks: `events` defines what they mean, `settings_file` puts ours into an agent's
settings, `jsonsplice` edits JSON without changing any other byte."""
