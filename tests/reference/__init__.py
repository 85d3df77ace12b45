"""Tests against a naive reference evaluator of policy graphs."""
