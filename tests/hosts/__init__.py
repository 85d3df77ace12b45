"""Hosts that exist only in tests."""
