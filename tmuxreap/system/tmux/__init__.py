"""Owns tmux: the client process, the commands it is given, what its answers mean, and where servers
listen."""
