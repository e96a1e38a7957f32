"""tmuxreap ends AI coding agents in tmux properly."""

__version__ = "0.1.0"
