"""An agent of ag2 that releases a project, governed."""
