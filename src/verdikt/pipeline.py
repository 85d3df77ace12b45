"""Guards in a line. Another name for what lives in the rooms."""

from verdikt.graph.pipeline import Pipeline

__all__ = ["Pipeline"]
