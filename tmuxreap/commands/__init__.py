"""Owns the verbs: one file each (a folder where one needs more), `run(context, request) -> Result`.

Never prints and never reads the command line; every other room but `hosts` is above it.

Doors: all modules. Main types: a request for each verb, as `EndRequest`, `StartRequest`,
`ListRequest`; what a verb answers is a `Result` of `core`."""
