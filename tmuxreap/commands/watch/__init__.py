"""Reconciles at the moment that something happens: `waiting` hears the kernel, `status_line` tells
tmux."""
