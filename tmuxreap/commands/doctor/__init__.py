"""Checks of the machine and of the registry, each with the command that fixes what it finds."""
