"""Reconciles at the moment that something happens: `waiting` hears the kernel, `restarting` starts
again, `telling` and `notifier` tell of it, `status_line` tells tmux."""
