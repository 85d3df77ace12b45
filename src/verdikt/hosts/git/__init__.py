"""The hooks of a git repository, which are wired like a host but report no tool calls."""
