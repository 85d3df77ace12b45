"""An agent of openai_agents that releases a project, governed."""
