"""Contracts, claims, validators, the gate."""
