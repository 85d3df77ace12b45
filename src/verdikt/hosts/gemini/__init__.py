"""gemini."""
