"""Entries in, text out. Pure."""
