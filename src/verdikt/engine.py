"""The engine, its results, its tracers. Another name for what lives in the rooms."""

from verdikt.graph.engine import PolicyEngine
from verdikt.graph.result import EvaluationResult
from verdikt.graph.tracer import CollectingTracer, StdoutTracer, Tracer

__all__ = ["CollectingTracer", "EvaluationResult", "PolicyEngine", "StdoutTracer", "Tracer"]
