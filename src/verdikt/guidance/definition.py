"""The tool policies, feedback and completion checks of one agent definition, as one value."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from verdikt.graph.failure import describe_error
from verdikt.graph.guard_node import GuardNode
from verdikt.guidance.audience import Audience
from verdikt.guidance.budget import Budget
from verdikt.guidance.command_success import get_shell_command, is_success, proves_command, proves_tests
from verdikt.guidance.completion import (
    Completion,
    CompositeChecker,
    StopDecision,
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    list_commands,
)
from verdikt.guidance.feedback import FeedbackContext, FeedbackDelivery, FeedbackProviderConfig, run_feedback_providers
from verdikt.guidance.parameter_policies import ReadBeforeWritePolicy
from verdikt.guidance.sequence import changes_files
from verdikt.guidance.tool_policy import PolicyContext, ToolPolicy, ToolPolicyGuard, get_parameters
from verdikt.model.action import Action, Outcome
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.session_state import Memory, SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """What the log knows of a session: state, begin, calls by agent and prompt, and the last refusal's fix."""

    session: SessionState = field(default_factory=SessionState)
    since: float = 0.0
    count: int = 0
    tasks: int = 0
    by: Mapping[str, int] = field(default_factory=dict)
    fix: str = ""
    now: float = 0.0

    def count_calls(self, prompt: str) -> int:
        """Return the number of calls made for a prompt, refused ones included; all calls when the prompt is empty."""
        # Names beyond the first 64 are counted together under the empty name; see the projection `calls`.
        return int(self.by.get(prompt[:80], self.by.get("", 0))) if prompt else self.count

    def budget_used(self, memory: Memory) -> Budget:
        """Return what the session has used so far."""
        spent = memory.get("used") or {}
        return Budget(
            calls=self.count,
            tasks=self.tasks,
            tokens=spent.get("tokens", 0),
            seconds=max(0.0, self.now - self.since) if self.since else 0.0,
            cost=spent.get("cost", 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """Everything that guides the agents of one definition. Empty, it does nothing."""

    policies: tuple[ToolPolicyGuard, ...] = ()
    feedback: tuple[FeedbackProviderConfig, ...] = ()
    completions: tuple[Completion, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.policies or self.feedback or self.completions)

    @property
    def checker(self) -> TaskCompletionChecker | None:
        """Return everything that must be true before an agent may stop, as one checker."""
        checkers = tuple(completion.checker for completion in self.completions)
        return CompositeChecker(checkers) if len(checkers) > 1 else next(iter(checkers), None)

    def policies_for_tool(self, name: str, *, agent: str = "", prompt: str = "") -> tuple[ToolPolicy, ...]:
        """Return the policies that apply to a tool, in the order in which they are checked."""
        return tuple(
            guard.policy
            for guard in self.policies
            if guard.scope.covers(agent=agent, prompt=prompt, tool=name)
            and getattr(guard.policy, "tool", "*") in ("*", name)
        )

    def record_outcome(
        self,
        action: Action,
        outcome: Outcome,
        memory: Memory,
        facts: Facts,
        classify: Callable[[], Effects],
        *,
        tree: Mapping[str, str] | None = None,
        shared: Mapping[str, Memory] | None = None,
    ) -> dict[str, str]:
        """Record the outcome of a call in `memory`; return the policies that failed to, with the reason.

        A failed call changes nothing except what it used. `tree` is the root and the digest of the sources that the
        call was about, where the evidence gate has hashed them. `shared` are the memories beyond the session, by scope.
        """
        # Also for a failed call: its tokens are spent.
        _record_usage(outcome, memory)
        if not is_success(outcome):
            return {}
        failures: dict[str, str] = {}
        context = PolicyContext(memory=memory, filesystem=facts, action=action, classify=classify)
        parameters = get_parameters(action)
        contexts = {scope: replace(context, memory=inner) for scope, inner in (shared or {}).items()}
        steps: list[tuple[str, Memory, Callable[[], None]]] = []
        for guard in self.policies:
            if guard.applies_to(action):
                inner = contexts.get(guard.lasting, context)
                learn = partial(guard.policy.on_result, action.tool, parameters, outcome, context=inner)
                steps.append((guard.name, inner.memory, learn))
        steps.append(("runs", memory, partial(self._note_runs, action, memory, context, tree or {})))
        for name, step_memory, step in steps:
            before = dict(step_memory.changes)
            try:
                step()
            # A policy may be a user's own code. One that fails must not keep the others from remembering the call.
            except Exception as error:
                step_memory.changes = before
                failures[name] = describe_error(error)
        return failures

    def find_changed_reads(self, memory: Memory, facts: Facts, shared: Mapping[str, Memory]) -> list[str]:
        """Return the files that were read and that another process, or a rollback, has changed since."""
        changed: list[str] = []
        for guard in self.policies:
            if isinstance(guard.policy, ReadBeforeWritePolicy):
                context = PolicyContext(memory=shared.get(guard.lasting, memory), filesystem=facts)
                changed += guard.policy.find_changed_files(context)
        return list(dict.fromkeys(changed))

    def collect_feedback(
        self,
        action: Action,
        memory: Memory,
        facts: Facts | None,
        summary: SessionSummary,
        findings: Callable[[], Sequence[str]] = tuple,
    ) -> FeedbackDelivery:
        """Return the feedback for the agent after a call."""
        prompt = action.task_type or action.agent
        configs = tuple(
            replace(config, key=config.key or f"{index}:{config.provider.name}")
            for index, config in enumerate(self.feedback)
            if config.scope.covers(agent=action.agent, prompt=action.task_type, tool=action.tool)
        )
        # The highest layer comes first; its deadline and budget are the ones shown to the agent.
        bounds = self.completions[0] if self.completions else None
        context = FeedbackContext(
            session=summary.session,
            prompt=prompt,
            started=summary.since,
            now=summary.now,
            deadline=bounds.compute_deadline(summary.since) if bounds else None,
            budget=bounds.budget if bounds else Budget(),
            used=summary.budget_used(memory),
            filesystem=facts,
            memory=memory,
            known=self._collect_known_facts(memory, summary),
            findings=findings,
            calls=summary.count_calls(prompt),
        )
        return run_feedback_providers(configs, context)

    def decide_stop(
        self, context: TaskCompletionContext, memory: Memory, summary: SessionSummary, *, agent: str = ""
    ) -> StopDecision:
        """Return whether the agent may stop: the first completion that refuses decides."""
        last = StopDecision(True)
        # The index is part of the memory key: completions of two layers count their refusals separately.
        for index, completion in enumerate(self.completions):
            if not completion.applies_to(agent):
                continue
            decision = completion.decide_stop(
                _add_run_history(context, memory, summary),
                memory,
                used=summary.budget_used(memory),
                now=summary.now,
                key=f"{agent}:{index}",
            )
            if not decision.allowed:
                return decision
            # An unfinished stop is reported even when a later completion has nothing against it.
            last = decision if decision.unfinished or not last.unfinished else last
        return last

    def run_checks(
        self, context: TaskCompletionContext, memory: Memory, summary: SessionSummary
    ) -> tuple[TaskCompletionResult, ...]:
        """Return the result of every single checker, whatever its limits."""
        return tuple(
            check.check(_add_run_history(context, memory, summary))
            for completion in self.completions
            for check in _split_checks(completion)
        )

    def _collect_known_facts(self, memory: Memory, summary: SessionSummary) -> dict[str, Any]:
        """Return what the session's memory tells by itself: last fix, stale evidence, missing proof."""
        tested = memory.get("tested") or {}
        stale = int(memory.get("edited") or 0) > int(tested.get("step", 0)) > 0
        commands = self._list_required_commands()
        return {
            "last_fix": summary.fix,
            "stale_evidence": tested.get("command", "") if stale else "",
            "missing_proof": next((command for command in commands if not _has_succeeded(command, memory)), ""),
        }

    def _list_required_commands(self) -> list[str]:
        """Return the commands that the completion checks require."""
        return [command for completion in self.completions for command in list_commands(completion.checker)]

    def _note_runs(self, action: Action, memory: Memory, context: PolicyContext, tree: Mapping[str, str]) -> None:
        """Record which of the required commands succeeded, and when files changed after that."""
        commands = self._list_required_commands()
        tests = [
            test_commands
            for config in self.feedback
            if (test_commands := getattr(config.provider, "commands", None)) is not None
        ]
        if not commands and not tests:
            return
        step = int(memory.get("step") or 0) + 1
        text = get_shell_command(action.tool, get_parameters(action))
        ran = [command for command in commands if text and proves_command(text, command)]
        tested = bool(text) and any(proves_tests(text, test_commands) for test_commands in tests)
        # What a test run itself writes (caches, reports) does not make it stale.
        edited = not ran and not tested and changes_files(action.tool, context)
        if not ran and not tested and not edited:
            return
        memory.keep(step, "step")
        for command in ran:
            memory.keep({"step": step, **tree}, "ran", command)
        if tested:
            memory.keep({"step": step, "command": " ".join(text.split())[:200]}, "tested")
        if edited:
            memory.keep(step, "edited")


def _add_run_history(context: TaskCompletionContext, memory: Memory, summary: SessionSummary) -> TaskCompletionContext:
    ran = partial(_has_succeeded, memory=memory, hash_sources=context.hash_sources)
    return replace(context, since=summary.since, ran=ran)


def _split_checks(completion: Completion) -> tuple[TaskCompletionChecker, ...]:
    """Return the checks that must all pass."""
    checker = completion.checker
    return checker.checkers if isinstance(checker, CompositeChecker) and checker.all_must_pass else (checker,)


def _has_succeeded(command: str, memory: Memory, hash_sources: Callable[[str], str | None] = lambda root: None) -> bool:
    """Return whether a command succeeded on the sources as they are now, as the evidence gate sees it."""
    run = memory.get("ran", command) or {}
    if isinstance(run, int):
        run = {"step": run}  # a session that began with an earlier version
    # The sources themselves tell best: another process may have changed them, or an edit may have been undone.
    if run.get("sha256") and (digest := hash_sources(str(run.get("root", "")))):
        return bool(digest == run["sha256"])
    return int(run.get("step", 0)) > int(memory.get("edited") or 0)


def _record_usage(outcome: Outcome, memory: Memory) -> None:
    """Add the tokens and the cost that the host reports for a call, where it does."""
    usage = outcome.raw.get("usage") if isinstance(outcome.raw, Mapping) else None
    if not isinstance(usage, Mapping):
        return
    # Hosts report a total, or only its parts.
    tokens = _parse_amount(usage.get("total_tokens")) or sum(
        _parse_amount(usage.get(name)) for name in ("input_tokens", "output_tokens")
    )
    cost = _parse_amount(usage.get("cost")) or _parse_amount(usage.get("total_cost_usd"))
    if tokens or cost:
        spent = memory.get("used") or {}
        memory.keep({"tokens": spent.get("tokens", 0) + tokens, "cost": spent.get("cost", 0) + cost}, "used")


def _parse_amount(value: object) -> float:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    # bool is an int in Python, and a host may report anything.
    return value if plain and 0 <= value < 1e12 else 0  # type: ignore[operator, return-value]


def find_policy_guards(nodes: Iterable[object]) -> Iterator[ToolPolicyGuard]:
    """Yield every tool policy anywhere in a graph, equal ones once."""
    seen: list[tuple[ToolPolicy, Audience]] = []
    for guard in _walk_policy_guards(nodes):
        # While a change of the policy is pending, both versions are here: what they share must not count twice.
        if (guard.policy, guard.scope) not in seen:
            seen.append((guard.policy, guard.scope))
            yield guard


def _walk_policy_guards(nodes: Iterable[object]) -> Iterator[ToolPolicyGuard]:
    for node in nodes:
        if isinstance(node, GuardNode):
            if isinstance(node.guard, ToolPolicyGuard):
                yield node.guard
        else:
            children: Sequence[object] = getattr(node, "children", ())
            yield from _walk_policy_guards(children)
