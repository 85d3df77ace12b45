"""Tests of councils."""
