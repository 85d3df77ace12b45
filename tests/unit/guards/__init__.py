"""Tests of `verdikt.guards`."""
