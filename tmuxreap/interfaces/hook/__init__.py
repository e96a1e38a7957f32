"""Owns the answers to agents' hooks and heartbeats, without building a command line: `speaker`
finds the session of the caller, `answer` records the event."""
