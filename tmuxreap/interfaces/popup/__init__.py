"""All sessions on one screen, controlled by keys: `view` has their table, `app` their actions,
`drawing` and `widgets` the display, `actions` the requests to the program."""
