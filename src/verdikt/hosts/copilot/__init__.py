"""copilot."""
