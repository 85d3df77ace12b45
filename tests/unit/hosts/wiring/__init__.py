"""Tests of `verdikt.hosts.wiring`."""
