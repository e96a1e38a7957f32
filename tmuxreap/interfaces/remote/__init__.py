"""Owns both ends of `--host`: `near` asks, `there` answers (the hidden verb `at`)."""
