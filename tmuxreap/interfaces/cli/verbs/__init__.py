"""The command line, declarations only: a file a verb. What it does is in the file of the same name
in `commands`."""
