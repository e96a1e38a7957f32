"""Owns `watch`: `watch` reconciles when `waiting` reports an event, `restarting` restarts lost
sessions, `telling`, `notifier` and `outlet` report, `status_line` updates tmux."""
