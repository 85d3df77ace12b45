"""An agent of strands that releases a project, governed."""
