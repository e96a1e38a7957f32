"""Owns `watch`: `watch` reconciles when `waiting` reports an event, `deaths` tells causes,
`restarting` restarts lost sessions, `telling` reports, `watch` keeps the schedule and updates the
status line."""
