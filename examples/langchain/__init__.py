"""An agent of langchain that releases a project, governed."""
