"""Tests of `verdikt.guidance`."""
