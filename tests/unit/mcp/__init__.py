"""Unit tests of `verdikt.mcp`."""
