"""Wiring: how hosts are made to call the hook, how that is undone, and how it is inspected."""
