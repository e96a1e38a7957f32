"""Owns the words that every room speaks: values and how they are made, errors and exit statuses,
text, times.

Imports nothing of the package but its version, and touches nothing outside but the switch that
makes a step fail in tests (`faults`).

Doors: all modules. Read first: `model` (Row, Process, Server), `errors` (Code, Failure), `ports`
(Tmux, Processes, Clock: what the other rooms may ask of a machine)."""
