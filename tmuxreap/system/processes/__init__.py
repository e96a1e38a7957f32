"""Owns processes: `linux` reads /proc and waits on pidfds, `portable` uses psutil elsewhere."""
