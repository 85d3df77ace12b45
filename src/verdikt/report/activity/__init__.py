"""The activity report: what was decided, what agents did afterwards, and what could be allowed. Pure."""
