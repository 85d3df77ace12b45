"""Tests of `verdikt.team`."""
