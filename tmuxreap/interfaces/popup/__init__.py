"""The sessions on one screen, seen and ended by keys: `keys` is their table, `app` and `choosing`
what each does, `view` and `widgets` what is shown, `actions` what is asked of the program."""
