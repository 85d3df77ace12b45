"""Tests of verdikt."""
