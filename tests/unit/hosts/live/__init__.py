"""Tests of `verdikt.hosts.live`."""
