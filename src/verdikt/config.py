"""Public import path of the functions that load `governance.yaml`."""

from verdikt.policy import load_file, load_policy, parse_policy

__all__ = ["load_file", "load_policy", "parse_policy"]
