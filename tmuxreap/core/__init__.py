"""Owns what every room uses: value types, errors and exit statuses, text, times.

Imports nothing of the package but its version, and has no effect on the outside, except for the
switch that makes a step fail in tests (`faults`).

Doors: all modules; read `model`, `errors` and `ports` (what the other rooms may ask of a machine)
first. Main types: `Row`, `Failure`, `Result`."""
