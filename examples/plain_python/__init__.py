"""An agent in plain Python that releases a project, governed."""
