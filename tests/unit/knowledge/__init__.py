"""Tests of `verdikt.knowledge`."""
