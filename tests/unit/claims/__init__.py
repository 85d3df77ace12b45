"""Tests of `verdikt.claims`."""
