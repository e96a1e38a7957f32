"""The verbs as tools for an agent, over MCP: `tools` lists them, `looking`, `starting` and `ending`
have their arguments, `server` speaks the protocol."""
