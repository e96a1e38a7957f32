"""Owns the verbs as tools for agents, over MCP: `tools` lists them, `looking`, `starting` and
`ending` declare their arguments, `server` implements the protocol."""
