"""Tests of `verdikt.runs`."""
