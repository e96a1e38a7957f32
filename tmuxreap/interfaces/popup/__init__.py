"""All sessions on one screen, controlled by keys: `keys` is their table, `app` and `choosing` their
actions, `view` and `widgets` the display, `actions` the requests to the program."""
