"""Tests of `verdikt.hosts`."""
