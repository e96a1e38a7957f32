"""What agents' hooks and heartbeats say, answered without building a command line: 4 times the
start of Python."""
