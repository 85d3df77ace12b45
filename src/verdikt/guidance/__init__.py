"""Tool policies, feedback, completion. Pure."""
