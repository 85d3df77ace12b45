"""An agent of claude_agent_sdk that releases a project, governed."""
