"""Owns agents' hooks: `events` defines what they mean, `settings_file` puts ours into an agent's
settings, without changing any other byte."""
