"""Public import path of `Pipeline`."""

from verdikt.graph.pipeline import Pipeline

__all__ = ["Pipeline"]
