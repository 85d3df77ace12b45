"""Tests of properties over random input."""
