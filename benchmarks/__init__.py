"""Benchmarks: ratios against floors and peers in one run."""
