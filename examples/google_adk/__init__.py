"""An agent of google_adk that releases a project, governed."""
