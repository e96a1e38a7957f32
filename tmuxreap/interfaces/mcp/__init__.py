"""Owns the verbs as tools for agents, over MCP: `tools` lists them with their `arguments`, `calls`
runs them, `server` implements the protocol."""
