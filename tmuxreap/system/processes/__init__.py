"""Owns processes: `linux` reads /proc and waits on pidfds, `portable` does the same through psutil
elsewhere."""
