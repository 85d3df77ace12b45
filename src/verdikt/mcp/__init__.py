"""The relay that governs an MCP server for any client: messages, pins, questions and transports."""
