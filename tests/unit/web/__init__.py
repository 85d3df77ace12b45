"""Tests of `verdikt.web`: the pages in a real browser."""
