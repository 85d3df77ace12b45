"""Tests of the adapters' shared parts."""
