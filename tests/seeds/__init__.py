"""Tests of the seed documents' own snippets and tables."""
