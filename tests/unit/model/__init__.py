"""Tests of `verdikt.model`."""
