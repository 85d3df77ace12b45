"""Tests of the reader of any language."""
