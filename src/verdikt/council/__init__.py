"""Plans, findings and their verdicts."""
