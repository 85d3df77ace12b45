"""Tests of `verdikt.ledger`."""
