"""Policies about order: what must come before, what must not come after, what may come only so often."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.errors import GuidanceError
from verdikt.guidance.command_success import get_shell_command, is_success, mentions_command, proves_command
from verdikt.guidance.tool_policy import PolicyContext, PolicyDecision, PolicyState
from verdikt.model.action import ActionKind, Outcome
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.tool_kind import classify_tool
from verdikt.model.work_tree import DOC_SUFFIXES

ANY_EDIT = "edit"
"""In `reset_by`: any call that writes a file."""

MAX_KEYS = 256
"""Number of values of a parameter for which a session counts calls."""

MAX_WINDOW_CALLS = 128
"""Number of calls within a window that a rate limit can count."""


def changes_files(tool: str, context: PolicyContext) -> bool:
    """Return whether a call changes files."""
    if classify_tool(tool) is ActionKind.WRITE:
        path = context.action.path if context.action is not None else ""
        return not path.lower().endswith(DOC_SUFFIXES)
    if classify_tool(tool) in (ActionKind.READ, ActionKind.FETCH):
        return False
    return any(
        effect.what.startswith("fs.")
        and effect.cls.value in ("write", "destructive")
        # Temporary files and notes do not make earlier results stale.
        and (not effect.targets or any(_is_source_target(target) for target in effect.targets))
        for effect in context.effects
    )


def _is_source_target(target: Target) -> bool:
    return target.zone is not Zone.TEMP and not (target.path or target.text).lower().endswith(DOC_SUFFIXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialDependencyPolicy:
    """A tool may be used once the tools it depends on have succeeded; `reset_by` names what makes their success stale.

    A name is that of a tool, or the beginning of a shell command, as in `git push`. With `edit` in `reset_by` the
    sources themselves decide, where they can be hashed, as at the evidence gate: a change by another process makes a
    success stale, and an edit that was taken back does not.
    """

    dependencies: Mapping[str, Iterable[str]]
    reset_by: tuple[str, ...] = ()
    name: str = "sequential_dependency"
    fix: str = "use the tools it requires first, then try again"

    def __post_init__(self) -> None:
        if not self.dependencies:
            raise GuidanceError("expected the tools that depend on others, found none")
        # Frozen: set once here, so that callers may pass lists.
        object.__setattr__(self, "dependencies", {tool: frozenset(needs) for tool, needs in self.dependencies.items()})

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny the call while a tool it requires has not succeeded since the last reset."""
        text = get_shell_command(tool, params)
        for gated, needs in self.dependencies.items():
            if gated == tool or (text and mentions_command(text, gated)):
                missing = [need for need in sorted(needs) if not self._is_fresh(need, context)]
                if missing:
                    return PolicyDecision.deny(f"Tool '{gated}' requires: {', '.join(missing)}")
        return PolicyDecision.allow()

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Record the calls that matter in order, so that each success is before or after a reset."""
        text = get_shell_command(tool, params)
        succeeded = [
            name
            for name in sorted(self._prerequisite_names)
            if name == tool or (text and is_success(result) and proves_command(text, name))
        ]
        is_reset = tool in self.reset_by or any(text and mentions_command(text, name) for name in self.reset_by)
        # A prerequisite that itself writes files (a formatter, a build) does not reset itself.
        is_edit = ANY_EDIT in self.reset_by and not succeeded and changes_files(tool, context)
        if not succeeded and not is_reset and not is_edit:
            return
        step = (context.memory.get(self.name, "step") or 0) + 1
        context.memory.keep(step, self.name, "step")
        if is_reset or is_edit:
            context.memory.keep(step, self.name, "reset" if is_reset else "edited")
            return
        sources = self._hash_sources(context)
        for need in succeeded:
            context.memory.keep({"step": step, **sources}, self.name, "done", need)

    def _hash_sources(self, context: PolicyContext) -> dict[str, str]:
        """Return the root and the digest of the sources, where a change of them matters and they can be hashed."""
        if ANY_EDIT not in self.reset_by or context.filesystem is None:
            return {}
        root = context.filesystem.project_root
        digest = context.filesystem.hash_sources(root)
        return {"root": root, "sha256": digest} if digest else {}

    def _is_fresh(self, need: str, context: PolicyContext) -> bool:
        done = context.memory.get(self.name, "done", need) or {}
        if isinstance(done, int):
            done = {"step": done}  # a session that began with an earlier version
        step = int(done.get("step", 0))
        if step <= (context.memory.get(self.name, "reset") or 0):
            return False
        # The sources themselves tell best: another process may have changed them, or an edit may have been undone.
        if done.get("sha256") and context.filesystem is not None:
            digest = context.filesystem.hash_sources(str(done.get("root", "")))
            if digest:
                return bool(digest == done["sha256"])
        return step > (context.memory.get(self.name, "edited") or 0)

    @property
    def _prerequisite_names(self) -> frozenset[str]:
        return frozenset(need for needs in self.dependencies.values() for need in needs)

    def state(self, context: PolicyContext) -> PolicyState:
        """Return what has succeeded."""
        return PolicyState(
            self.name, frozenset(need for need in self._prerequisite_names if self._is_fresh(need, context))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OncePolicy:
    """A tool may succeed only so often in a session; with `key`, so often for each value of that parameter."""

    tool: str
    times: int = 1
    key: str = ""
    name: str = "once"
    fix: str = "use what the earlier call gave"

    def __post_init__(self) -> None:
        if self.times < 1:
            raise GuidanceError(f"expected `times` of 1 or more, found {self.times}")

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny the call when the tool has succeeded that often."""
        if tool != self.tool:
            return PolicyDecision.allow()
        count = context.memory.get(*self._memory_key(params)) or 0
        if count >= self.times:
            times = "once" if self.times == 1 else f"{self.times} times"
            return PolicyDecision.deny(f"Tool '{tool}' may succeed {times} in a session, and has")
        # What cannot be counted any more is not let through uncounted.
        if not count and (context.memory.get(self.name, "values") or 0) >= MAX_KEYS:
            return PolicyDecision.deny(f"Tool '{tool}' was used with {MAX_KEYS} values of `{self.key}` in this session")
        return PolicyDecision.allow()

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Count a success."""
        if tool != self.tool:
            return
        count = context.memory.get(*self._memory_key(params)) or 0
        if not count:
            context.memory.keep((context.memory.get(self.name, "values") or 0) + 1, self.name, "values")
        context.memory.keep(count + 1, *self._memory_key(params))

    def _memory_key(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        return (self.name, "of", self.tool, str(params.get(self.key, "")) if self.key else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitPolicy:
    """A tool (`*`: any) may be used at most so often within a number of seconds."""

    max_calls: int
    per_seconds: float
    tool: str = "*"
    name: str = "rate_limit"
    fix: str = "wait, or do more with each call"

    def __post_init__(self) -> None:
        if not 1 <= self.max_calls <= MAX_WINDOW_CALLS:
            raise GuidanceError(f"expected `max_calls` of 1 to {MAX_WINDOW_CALLS}, found {self.max_calls}")
        if not self.per_seconds > 0:
            raise GuidanceError(f"expected `per_seconds` above 0, found {self.per_seconds}")

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny the call when the recent calls have used the limit up."""
        if self.tool not in ("*", tool):
            return PolicyDecision.allow()
        recent = self._recent_calls(context)
        if len(recent) < self.max_calls:
            return PolicyDecision.allow()
        wait = max(1, round(recent[0] + self.per_seconds - context.now))
        return PolicyDecision.deny(
            f"Tool '{tool}' was used {len(recent)} times within {self.per_seconds:g} seconds; wait {wait} more"
        )

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Record when the call was made."""
        if self.tool in ("*", tool):
            context.memory.keep(
                [*self._recent_calls(context), round(context.now, 3)][-self.max_calls :], self.name, self.tool
            )

    def _recent_calls(self, context: PolicyContext) -> list[float]:
        """Return when the calls within the window were made."""
        timestamps = context.memory.get(self.name, self.tool) or []
        # abs: a clock that was set back must not extend the wait beyond one window.
        return [timestamp for timestamp in timestamps if abs(context.now - timestamp) < self.per_seconds]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenSequencePolicy:
    """After one kind of effect in a session, another is denied: after reading secrets or foreign text, nothing is sent.

    Both are dotted names of effects; `secret` means reading anything that holds secrets, `foreign` means fetching text
    from elsewhere. `cleared_by` names tools after which the first effect is forgotten.
    """

    after: tuple[str, ...] = ("secret", "foreign")
    then: tuple[str, ...] = ("net.send", "cred.send")
    cleared_by: tuple[str, ...] = field(default=())
    name: str = "forbidden_sequence"
    fix: str = "finish this in a new session, or ask the person to send it"

    def __post_init__(self) -> None:
        if not self.after or not self.then:
            raise GuidanceError("expected what comes first and what must not follow, found one of them empty")

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny the second effect when the session, or this call, has had the first."""
        denied = [effect.what for effect in context.effects if any(_matches_effect(effect, name) for name in self.then)]
        if not denied:
            return PolicyDecision.allow()
        # Reading and sending in one call is the same sequence, only shorter.
        in_this_call = next(
            (name for name in self.after for effect in context.effects if _matches_effect(effect, name)), ""
        )
        earlier = in_this_call or next((name for name in self.after if context.memory.get(self.name, name)), "")
        if not earlier:
            return PolicyDecision.allow()
        return PolicyDecision.deny(f"`{denied[0]}` may not follow `{earlier}` in one session")

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Remember which effects the session has had."""
        if tool in self.cleared_by:
            for name in self.after:
                context.memory.keep(None, self.name, name)
            return
        for name in self.after:
            if any(_matches_effect(effect, name) for effect in context.effects):
                context.memory.keep(1, self.name, name)


def _matches_effect(effect: Effect, name: str) -> bool:
    if name == "secret":
        return effect.what == "cred.read" or any(t.zone is Zone.SECRET for t in effect.targets)
    if name == "foreign":
        return effect.what == "net.fetch"
    return effect.what == name or effect.what.startswith(name + ".")
