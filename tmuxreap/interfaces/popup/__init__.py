"""The sessions on one screen, seen and ended by keys."""
