"""verdikt: one policy between an AI agent and the world. The public names, each loaded when first used."""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "Action": "verdikt.model.action",
    "ActionKind": "verdikt.model.action",
    "Outcome": "verdikt.model.action",
    "Verdict": "verdikt.model.verdict",
    "VerdictKind": "verdikt.model.verdict",
    "Effect": "verdikt.model.effect",
    "EffectClass": "verdikt.model.effect",
    "Effects": "verdikt.model.effect",
    "Posture": "verdikt.model.posture",
    "Disposition": "verdikt.model.posture",
    "Decision": "verdikt.model.decision",
    "Receipt": "verdikt.model.receipt",
    "SpineReceipt": "verdikt.model.spine",
    "Manifest": "verdikt.effects.manifest",
    "parse_manifest": "verdikt.effects.manifest",
    "ToolCall": "verdikt.effects.declared",
    "Classification": "verdikt.effects.declared",
    "PRECEDENCE": "verdikt.model.effect",
    "most_restrictive": "verdikt.model.effect",
    "Guard": "verdikt.graph.guard",
    "BaseGuard": "verdikt.graph.guard",
    "PolicyNode": "verdikt.graph.guard",
    "GovernanceContext": "verdikt.graph.context",
    "TraceEntry": "verdikt.graph.context",
    "SessionState": "verdikt.model.session",
    "All": "verdikt.graph.combinator",
    "Any": "verdikt.graph.combinator",
    "Not": "verdikt.graph.combinator",
    "When": "verdikt.graph.combinator",
    "Threshold": "verdikt.graph.combinator",
    "Escalate": "verdikt.graph.combinator",
    "PolicyEngine": "verdikt.graph.engine",
    "Pipeline": "verdikt.graph.pipeline",
    "Enforcer": "verdikt.graph.enforcer",
    "BlockedError": "verdikt.errors",
    "VerdiktError": "verdikt.errors",
    "EvaluationResult": "verdikt.graph.result",
    "Tracer": "verdikt.graph.tracer",
    "StdoutTracer": "verdikt.graph.tracer",
    "CollectingTracer": "verdikt.graph.tracer",
    "SessionStore": "verdikt.graph.session",
    "InMemorySessionStore": "verdikt.graph.session",
    "SQLiteSessionStore": "verdikt.ledger.session",
    "GovernanceLayer": "verdikt.layers",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 (the table above is the list)


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module `verdikt` has no attribute `{name}`")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
