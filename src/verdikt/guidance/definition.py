"""The definition owns the constraints: tool policies, feedback and completion of one agent definition, as one value."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from verdikt.graph.leaf import Leaf, describe
from verdikt.guidance.budget import Budget
from verdikt.guidance.completion import (
    Completion,
    CompositeChecker,
    Settled,
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    commands_of,
)
from verdikt.guidance.feedback import Delivered, FeedbackContext, FeedbackProviderConfig, run_feedback_providers
from verdikt.guidance.run import proves, shell_text, succeeded
from verdikt.guidance.sequence import edits
from verdikt.guidance.tool_policy import PolicyContext, ToolPolicy, ToolPolicyGuard, parameters
from verdikt.model.action import Action, Outcome
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.memory import Memory
from verdikt.model.session import SessionState
from verdikt.model.value import Value, field, replace


class Past(Value, kw_only=True):
    """What the log knows of a session: its state, when it began, its calls by agent and prompt, and the last refusal's fix."""

    session: SessionState = field(default_factory=SessionState)
    since: float = 0.0
    count: int = 0
    tasks: int = 0
    by: Mapping[str, int] = field(default_factory=dict)
    fix: str = ""
    now: float = 0.0

    def calls(self, prompt: str) -> int:
        """Calls made for a prompt, the refused ones included; for none in particular, all of them."""
        return int(self.by.get(prompt[:80], self.by.get("", 0))) if prompt else self.count

    def used(self, memory: Memory) -> Budget:
        """What the session has used so far."""
        spent = memory.get("used") or {}
        return Budget(
            calls=self.count,
            tasks=self.tasks,
            tokens=spent.get("tokens", 0),
            seconds=max(0.0, self.now - self.since) if self.since else 0.0,
            cost=spent.get("cost", 0),
        )


class Guidance(Value, kw_only=True):
    """Everything that guides one definition's agents. Empty, it does nothing."""

    policies: tuple[ToolPolicyGuard, ...] = ()
    feedback: tuple[FeedbackProviderConfig, ...] = ()
    completions: tuple[Completion, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.policies or self.feedback or self.completions)

    @property
    def checker(self) -> TaskCompletionChecker | None:
        """Everything that must be true before an agent may stop, as one checker."""
        found = tuple(completion.checker for completion in self.completions)
        return CompositeChecker(found) if len(found) > 1 else next(iter(found), None)

    def policies_for_tool(self, name: str, *, agent: str = "", prompt: str = "") -> tuple[ToolPolicy, ...]:
        """The policies that have a say about a tool, in the order in which they are asked."""
        return tuple(
            guard.policy
            for guard in self.policies
            if guard.scope.covers(agent=agent, prompt=prompt, tool=name)
            and getattr(guard.policy, "tool", "*") in ("*", name)
        )

    def learn(
        self, action: Action, outcome: Outcome, memory: Memory, facts: Facts, tell: Callable[[], Effects]
    ) -> dict[str, str]:
        """Takes note of what came of a call in `memory`; gives the policies that failed to, with the reason.

        A call that failed changes nothing, but for what it used.
        """
        _spend(outcome, memory)
        if not succeeded(outcome):
            return {}
        failures: dict[str, str] = {}
        context = PolicyContext(memory=memory, filesystem=facts, action=action, tell=tell)
        for guard in self.policies:
            if guard.covers(action):
                before = dict(memory.changes)
                try:
                    guard.policy.on_result(action.tool, parameters(action), outcome, context=context)
                except Exception as error:
                    memory.changes = before
                    failures[guard.name] = describe(error)
        try:
            self._note_runs(action, memory, context)
        except Exception as error:
            failures["runs"] = describe(error)
        return failures

    def tell(
        self,
        action: Action,
        memory: Memory,
        facts: Facts | None,
        past: Past,
        findings: Callable[[], Sequence[str]] = tuple,
    ) -> Delivered:
        """What the agent is told after a call."""
        prompt = action.task_type or action.agent
        meant = tuple(
            replace(config, key=config.key or f"{at}:{config.provider.name}")
            for at, config in enumerate(self.feedback)
            if config.scope.covers(agent=action.agent, prompt=action.task_type, tool=action.tool)
        )
        bounds = self.completions[0] if self.completions else None
        context = FeedbackContext(
            session=past.session,
            prompt=prompt,
            started=past.since,
            now=past.now,
            deadline=bounds.deadline(past.since) if bounds else None,
            budget=bounds.budget if bounds else Budget(),
            used=past.used(memory),
            filesystem=facts,
            memory=memory,
            known=self._known(memory, past),
            findings=findings,
            calls=past.calls(prompt),
        )
        return run_feedback_providers(meant, context)

    def settle(self, context: TaskCompletionContext, memory: Memory, past: Past, *, agent: str = "") -> Settled:
        """Whether the agent may stop: the first completion that refuses decides."""
        last = Settled(True)
        for at, completion in enumerate(self.completions):
            if not completion.covers(agent):
                continue
            found = completion.settle(
                _seen(context, memory, past), memory, used=past.used(memory), now=past.now, key=f"{agent}:{at}"
            )
            if not found.allowed:
                return found
            last = found if found.unfinished or not last.unfinished else last
        return last

    def results(self, context: TaskCompletionContext, memory: Memory, past: Past) -> tuple[TaskCompletionResult, ...]:
        """What each checker says, one by one, whatever the bounds of its say are."""
        return tuple(part.check(_seen(context, memory, past)) for each in self.completions for part in _parts(each))

    def _known(self, memory: Memory, past: Past) -> dict[str, Any]:
        """What the session's memory tells by itself."""
        tested = memory.get("tested") or {}
        stale = int(memory.get("edited") or 0) > int(tested.get("step", 0)) > 0
        wanted = [command for completion in self.completions for command in commands_of(completion.checker)]
        return {
            "last_fix": past.fix,
            "stale_evidence": tested.get("command", "") if stale else "",
            "missing_proof": next((command for command in wanted if not _ran(command, memory)), ""),
        }

    def _note_runs(self, action: Action, memory: Memory, context: PolicyContext) -> None:
        """Notes which of the commands that matter succeeded, and when files changed after that."""
        wanted = [command for completion in self.completions for command in commands_of(completion.checker)]
        tests = [test for config in self.feedback for test in getattr(config.provider, "commands", ())]
        if not wanted and not tests:
            return
        step = int(memory.get("step") or 0) + 1
        text = shell_text(action.tool, parameters(action))
        ran = [command for command in wanted if text and proves(text, command)]
        tested = bool(text) and any(proves(text, test) for test in tests)
        # What a test run itself writes (caches, reports) does not make it stale.
        edited = not ran and not tested and edits(action.tool, context)
        if not ran and not tested and not edited:
            return
        memory.keep(step, "step")
        for command in ran:
            memory.keep(step, "ran", command)
        if tested:
            memory.keep({"step": step, "command": " ".join(text.split())[:200]}, "tested")
        if edited:
            memory.keep(step, "edited")


def _seen(context: TaskCompletionContext, memory: Memory, past: Past) -> TaskCompletionContext:
    return replace(context, since=past.since, ran=lambda command: _ran(command, memory))


def _parts(completion: Completion) -> tuple[TaskCompletionChecker, ...]:
    """The checks that must all pass."""
    checker = completion.checker
    return checker.checkers if isinstance(checker, CompositeChecker) and checker.all_must_pass else (checker,)


def _ran(command: str, memory: Memory) -> bool:
    return int(memory.get("ran", command) or 0) > int(memory.get("edited") or 0)


def _spend(outcome: Outcome, memory: Memory) -> None:
    """Adds what the host says a call used, where it says so: `usage` with tokens and cost."""
    usage = outcome.raw.get("usage") if isinstance(outcome.raw, Mapping) else None
    if not isinstance(usage, Mapping):
        return
    tokens = _number(usage.get("total_tokens")) or sum(
        _number(usage.get(name)) for name in ("input_tokens", "output_tokens")
    )
    cost = _number(usage.get("cost")) or _number(usage.get("total_cost_usd"))
    if tokens or cost:
        spent = memory.get("used") or {}
        memory.keep({"tokens": spent.get("tokens", 0) + tokens, "cost": spent.get("cost", 0) + cost}, "used")


def _number(value: object) -> float:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain and 0 <= value < 1e12 else 0  # type: ignore[operator, return-value]


def guards_in(nodes: Iterable[object]) -> Iterator[ToolPolicyGuard]:
    """Every tool policy that stands anywhere in a graph."""
    for node in nodes:
        if isinstance(node, Leaf):
            if isinstance(node.guard, ToolPolicyGuard):
                yield node.guard
        else:
            children: Sequence[object] = getattr(node, "children", ())
            yield from guards_in(children)
