"""Tests of `verdikt.effects.program`."""
