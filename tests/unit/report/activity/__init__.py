"""Tests of the activity report."""
