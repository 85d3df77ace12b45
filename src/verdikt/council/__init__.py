"""Councils: plans of reviews, running reviewers, their findings and verdicts."""
