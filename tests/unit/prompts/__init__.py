"""Tests of `verdikt.prompts`."""
