"""Tests of `verdikt.hosts.codex`."""
