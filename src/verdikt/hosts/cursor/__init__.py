"""cursor."""
