"""Owns the words that every room speaks: values and how they are made, errors and exit statuses,
text, times.

Imports nothing of the package but its version, and touches nothing outside but the switch that
makes a step fail in tests (`faults`).

Doors: all modules; `model`, `errors` and `ports` (what the other rooms may ask of a machine) are to
be read first. Main types: `Row`, `Failure`, `Result`."""
