"""Tests of `verdikt.ship`."""
