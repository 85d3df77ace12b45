"""An agent of smolagents that releases a project, governed."""
