"""One guard per file."""
