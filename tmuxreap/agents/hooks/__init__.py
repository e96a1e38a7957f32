"""Owns agents' hooks: `events` tells what they mean, `settings_file` puts ours into an agent's
settings, `jsonsplice` changes no other byte there."""
