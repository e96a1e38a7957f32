"""Owns tmux: the client process, its commands, the parsing of its answers, and server sockets."""
