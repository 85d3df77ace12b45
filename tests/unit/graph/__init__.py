"""Tests of `verdikt.graph`."""
