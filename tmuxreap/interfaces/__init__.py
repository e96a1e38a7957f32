"""Owns the doors to people and programs: command line, text, completion, hooks, MCP, popup.

Never decides what happens to a session: each turns words into a request, and an answer into words.

Nothing imports from here but `__main__`.
"""
