"""The verbs as tools for an agent, over MCP."""
