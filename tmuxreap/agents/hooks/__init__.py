"""Owns agents' hooks: what their events mean, the block that installs them, and the edit of an
agent's settings."""
