"""Tests of `verdikt.effects.code`."""
