"""Tests with the real clients against a scripted model on loopback."""
