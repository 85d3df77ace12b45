"""Tests of `verdikt.serve`."""
