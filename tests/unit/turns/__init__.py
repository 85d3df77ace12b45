"""Tests of `verdikt.turns`."""
