"""Tests of single modules; the directories mirror `src/verdikt`."""
