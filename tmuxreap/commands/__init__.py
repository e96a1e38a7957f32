"""Owns the verbs: a file for each, or a folder where one needs more, with `run(context, request) ->
Result`.

Never prints and never reads the command line. Every other room except `hosts` is above it.

Doors: all modules. Main types: a request for each verb, such as `EndRequest`, `StartRequest`,
`ListRequest`; each verb answers with a `Result` from `core`."""
