"""Owns `watch`: `watch` reconciles when `waiting` reports an event, `deaths` tells causes,
`restarting` restarts lost sessions, `telling`, `notifier` and `outlet` report, `status_line`
updates tmux."""
