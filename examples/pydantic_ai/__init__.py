"""An agent of pydantic_ai that releases a project, governed."""
