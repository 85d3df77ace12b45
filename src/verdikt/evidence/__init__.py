"""The evidence gate: what a message claims, held against the facts of the turn."""
