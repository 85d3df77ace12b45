"""Tests of `verdikt.shell`."""
