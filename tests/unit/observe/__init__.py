"""Tests of `verdikt.observe`."""
