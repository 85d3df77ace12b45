"""Tests of the contracts with hosts, clients and stores."""
