"""Tests of `verdikt.evidence`."""
