"""An agent of agent_framework that releases a project, governed."""
