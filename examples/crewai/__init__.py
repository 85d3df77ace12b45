"""An agent of crewai that releases a project, governed."""
