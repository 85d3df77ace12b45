"""Real MCP servers and clients, directly and through the relay; installed into a cache when they are first needed."""
