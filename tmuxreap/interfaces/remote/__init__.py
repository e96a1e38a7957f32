"""Owns both ends of `--host`: `near` and `on_hosts` ask, `there` answers (the hidden verb `at`)."""
