"""Tests of `verdikt.daemon`."""
