"""Render log entries, verdicts and findings as text or in exchange formats. Pure: no I/O, no clock."""
