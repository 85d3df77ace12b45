"""Tests of `verdikt.effects`."""
