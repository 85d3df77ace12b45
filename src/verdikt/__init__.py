"""verdikt: one policy between an AI agent and the world. The public names, each imported when first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.effects.declared import Classification as Classification
    from verdikt.effects.declared import ToolCall as ToolCall
    from verdikt.effects.manifest import Manifest as Manifest
    from verdikt.effects.manifest import parse_manifest as parse_manifest
    from verdikt.enforcement import Enforcer as Enforcer
    from verdikt.engine import PolicyEngine as PolicyEngine
    from verdikt.errors import BlockedError as BlockedError
    from verdikt.errors import VerdiktError as VerdiktError
    from verdikt.govern import Governance as Governance
    from verdikt.graph.combinator import All as All
    from verdikt.graph.combinator import Any as Any
    from verdikt.graph.combinator import Escalate as Escalate
    from verdikt.graph.combinator import Not as Not
    from verdikt.graph.combinator import Threshold as Threshold
    from verdikt.graph.combinator import When as When
    from verdikt.graph.context import GovernanceContext as GovernanceContext
    from verdikt.graph.context import TraceEntry as TraceEntry
    from verdikt.graph.evaluation_result import EvaluationResult as EvaluationResult
    from verdikt.graph.guard import BaseGuard as BaseGuard
    from verdikt.graph.guard import Guard as Guard
    from verdikt.graph.guard import PolicyNode as PolicyNode
    from verdikt.graph.pipeline import Pipeline as Pipeline
    from verdikt.graph.policy import Policy as Policy
    from verdikt.graph.rule import Rule as Rule
    from verdikt.graph.rule import RuleSet as RuleSet
    from verdikt.graph.session_store import InMemorySessionStore as InMemorySessionStore
    from verdikt.graph.session_store import SessionStore as SessionStore
    from verdikt.graph.tracer import CollectingTracer as CollectingTracer
    from verdikt.graph.tracer import StdoutTracer as StdoutTracer
    from verdikt.graph.tracer import Tracer as Tracer
    from verdikt.guidance.audience import Audience as Audience
    from verdikt.guidance.budget import Budget as Budget
    from verdikt.guidance.completion import CommandChecker as CommandChecker
    from verdikt.guidance.completion import Completion as Completion
    from verdikt.guidance.completion import CompositeChecker as CompositeChecker
    from verdikt.guidance.completion import FileOutputChecker as FileOutputChecker
    from verdikt.guidance.completion import TaskCompletionChecker as TaskCompletionChecker
    from verdikt.guidance.completion import TaskCompletionContext as TaskCompletionContext
    from verdikt.guidance.completion import TaskCompletionResult as TaskCompletionResult
    from verdikt.guidance.feedback import Feedback as Feedback
    from verdikt.guidance.feedback import FeedbackContext as FeedbackContext
    from verdikt.guidance.feedback import FeedbackProvider as FeedbackProvider
    from verdikt.guidance.feedback import FeedbackProviderConfig as FeedbackProviderConfig
    from verdikt.guidance.feedback import FeedbackTrigger as FeedbackTrigger
    from verdikt.guidance.feedback import FileCreatedTrigger as FileCreatedTrigger
    from verdikt.guidance.parameter_policies import ParameterPolicy as ParameterPolicy
    from verdikt.guidance.parameter_policies import ReadBeforeWritePolicy as ReadBeforeWritePolicy
    from verdikt.guidance.provider import DeadlineFeedback as DeadlineFeedback
    from verdikt.guidance.provider import StaticFeedbackProvider as StaticFeedbackProvider
    from verdikt.guidance.sequence import ForbiddenSequencePolicy as ForbiddenSequencePolicy
    from verdikt.guidance.sequence import OncePolicy as OncePolicy
    from verdikt.guidance.sequence import RateLimitPolicy as RateLimitPolicy
    from verdikt.guidance.sequence import SequentialDependencyPolicy as SequentialDependencyPolicy
    from verdikt.guidance.tool_policy import PolicyContext as PolicyContext
    from verdikt.guidance.tool_policy import PolicyDecision as PolicyDecision
    from verdikt.guidance.tool_policy import ToolPolicy as ToolPolicy
    from verdikt.guidance.tool_policy import ToolPolicyGuard as ToolPolicyGuard
    from verdikt.layers import GovernanceLayer as GovernanceLayer
    from verdikt.ledger.files import FileStore as FileStore
    from verdikt.ledger.projections import load_projections as load_projections
    from verdikt.ledger.session import SQLiteSessionStore as SQLiteSessionStore
    from verdikt.model.action import Action as Action
    from verdikt.model.action import ActionKind as ActionKind
    from verdikt.model.action import Outcome as Outcome
    from verdikt.model.effect import PRECEDENCE as PRECEDENCE
    from verdikt.model.effect import Effect as Effect
    from verdikt.model.effect import EffectClass as EffectClass
    from verdikt.model.effect import Effects as Effects
    from verdikt.model.effect import most_restrictive as most_restrictive
    from verdikt.model.finding import CouncilVerdict as CouncilVerdict
    from verdikt.model.finding import Evidence as Evidence
    from verdikt.model.finding import Finding as Finding
    from verdikt.model.finding import Level as Level
    from verdikt.model.finding import build_finding as build_finding
    from verdikt.model.finding import parse_evidence as parse_evidence
    from verdikt.model.hook_message import Turn as Turn
    from verdikt.model.posture import Disposition as Disposition
    from verdikt.model.posture import Posture as Posture
    from verdikt.model.session_state import SessionState as SessionState
    from verdikt.model.spine import SpineReceipt as SpineReceipt
    from verdikt.model.verdict import Decision as Decision
    from verdikt.model.verdict import Receipt as Receipt
    from verdikt.model.verdict import Verdict as Verdict
    from verdikt.model.verdict import VerdictKind as VerdictKind
    from verdikt.policy import load_file as load_file
    from verdikt.policy import load_policy as load_policy
    from verdikt.policy import parse_policy as parse_policy

__version__ = "0.1.0"

# Imported on first use: a hook starts a process for each tool call and must not load the names it does not need.
_MODULES = {
    "Action": "verdikt.model.action",
    "Governance": "verdikt.govern",
    "ActionKind": "verdikt.model.action",
    "Outcome": "verdikt.model.action",
    "Verdict": "verdikt.model.verdict",
    "VerdictKind": "verdikt.model.verdict",
    "Effect": "verdikt.model.effect",
    "EffectClass": "verdikt.model.effect",
    "Effects": "verdikt.model.effect",
    "Posture": "verdikt.model.posture",
    "Disposition": "verdikt.model.posture",
    "Decision": "verdikt.model.verdict",
    "Receipt": "verdikt.model.verdict",
    "SpineReceipt": "verdikt.model.spine",
    "Manifest": "verdikt.effects.manifest",
    "parse_manifest": "verdikt.effects.manifest",
    "ToolCall": "verdikt.effects.declared",
    "Classification": "verdikt.effects.declared",
    "PRECEDENCE": "verdikt.model.effect",
    "most_restrictive": "verdikt.model.effect",
    "Policy": "verdikt.graph.policy",
    "Rule": "verdikt.graph.rule",
    "RuleSet": "verdikt.graph.rule",
    "load_policy": "verdikt.policy",
    "load_file": "verdikt.policy",
    "parse_policy": "verdikt.policy",
    "Guard": "verdikt.graph.guard",
    "BaseGuard": "verdikt.graph.guard",
    "PolicyNode": "verdikt.graph.guard",
    "GovernanceContext": "verdikt.graph.context",
    "TraceEntry": "verdikt.graph.context",
    "SessionState": "verdikt.model.session_state",
    "All": "verdikt.graph.combinator",
    "Any": "verdikt.graph.combinator",
    "Not": "verdikt.graph.combinator",
    "When": "verdikt.graph.combinator",
    "Threshold": "verdikt.graph.combinator",
    "Escalate": "verdikt.graph.combinator",
    "PolicyEngine": "verdikt.engine",
    "Pipeline": "verdikt.graph.pipeline",
    "Enforcer": "verdikt.enforcement",
    "BlockedError": "verdikt.errors",
    "VerdiktError": "verdikt.errors",
    "Evidence": "verdikt.model.finding",
    "Finding": "verdikt.model.finding",
    "CouncilVerdict": "verdikt.model.finding",
    "Level": "verdikt.model.finding",
    "parse_evidence": "verdikt.model.finding",
    "build_finding": "verdikt.model.finding",
    "EvaluationResult": "verdikt.graph.evaluation_result",
    "Tracer": "verdikt.graph.tracer",
    "StdoutTracer": "verdikt.graph.tracer",
    "CollectingTracer": "verdikt.graph.tracer",
    "SessionStore": "verdikt.graph.session_store",
    "InMemorySessionStore": "verdikt.graph.session_store",
    "SQLiteSessionStore": "verdikt.ledger.session",
    "GovernanceLayer": "verdikt.layers",
    "FileStore": "verdikt.ledger.files",
    "load_projections": "verdikt.ledger.projections",
    "Turn": "verdikt.model.hook_message",
    "SequentialDependencyPolicy": "verdikt.guidance.sequence",
    "RateLimitPolicy": "verdikt.guidance.sequence",
    "OncePolicy": "verdikt.guidance.sequence",
    "ForbiddenSequencePolicy": "verdikt.guidance.sequence",
    "ReadBeforeWritePolicy": "verdikt.guidance.parameter_policies",
    "ParameterPolicy": "verdikt.guidance.parameter_policies",
    "ToolPolicyGuard": "verdikt.guidance.tool_policy",
    "ToolPolicy": "verdikt.guidance.tool_policy",
    "PolicyContext": "verdikt.guidance.tool_policy",
    "PolicyDecision": "verdikt.guidance.tool_policy",
    "Audience": "verdikt.guidance.audience",
    "FeedbackProviderConfig": "verdikt.guidance.feedback",
    "FeedbackProvider": "verdikt.guidance.feedback",
    "FeedbackContext": "verdikt.guidance.feedback",
    "FeedbackTrigger": "verdikt.guidance.feedback",
    "FileCreatedTrigger": "verdikt.guidance.feedback",
    "Feedback": "verdikt.guidance.feedback",
    "StaticFeedbackProvider": "verdikt.guidance.provider",
    "DeadlineFeedback": "verdikt.guidance.provider",
    "Completion": "verdikt.guidance.completion",
    "TaskCompletionContext": "verdikt.guidance.completion",
    "TaskCompletionChecker": "verdikt.guidance.completion",
    "FileOutputChecker": "verdikt.guidance.completion",
    "CompositeChecker": "verdikt.guidance.completion",
    "CommandChecker": "verdikt.guidance.completion",
    "TaskCompletionResult": "verdikt.guidance.completion",
    "Budget": "verdikt.guidance.budget",
}

__all__ = sorted(_MODULES)  # noqa: PLE0605 (the table above is the list)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module `verdikt` has no attribute `{name}`")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
