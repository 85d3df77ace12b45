"""What `Governance` is made of: the policy, the log, and what belongs to them, each made when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

from verdikt.ledger.kept_files import KeptFiles
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Turn
from verdikt.observe.crash_log import record_crash

# Evidence, guidance and councils are imported where they are used: `before` needs none of them, and together they are
# two fifths of the CPU of a hook that no daemon answers.
if TYPE_CHECKING:
    from verdikt.council.config import Councils
    from verdikt.council_reviews import CouncilReviews
    from verdikt.evidence.gate_service import EvidenceGate
    from verdikt.graph.policy import Policy
    from verdikt.guidance.completion import Completion, TaskCompletionChecker, TaskCompletionResult
    from verdikt.guidance.definition import Guidance
    from verdikt.guidance.feedback import FeedbackProviderConfig
    from verdikt.guidance.hooks import GuidanceHooks
    from verdikt.guidance.tool_policy import ToolPolicy
    from verdikt.ledger.files import FileStore
    from verdikt.model.world import WorldFactory
    from verdikt.observe.clock import Clock

PathAccess = Callable[[str], "AbstractContextManager[object]"]
"""Return a context in which a path is read with the caller's rights; `PermissionError` when they do not suffice."""


class GovernanceParts:
    """A policy and a log, with the evidence gate, the guidance and the councils of the policy."""

    def __init__(
        self,
        policy: Policy,
        store: FileStore,
        *,
        feedback: Iterable[FeedbackProviderConfig],
        completion: TaskCompletionChecker | Completion | None,
        world_factory: WorldFactory,
        clock: Clock,
        env: Mapping[str, str],
        base_directory: str,
        path_access: PathAccess,
    ) -> None:
        self.policy = policy
        self.store = store
        self.clock = clock
        self.base_directory = base_directory
        self.path_access = path_access
        self._feedback = tuple(feedback)
        self._completion = completion
        self._world_factory = world_factory
        self._env = env

    @cached_property
    def kept_files(self) -> KeptFiles:
        """The files that wire verdikt, as they were wired."""
        return KeptFiles(self.store.home, access=self.path_access)

    @cached_property
    def evidence_gate(self) -> EvidenceGate:
        """The gate that holds what the agent claims against what the log proves."""
        from verdikt.evidence.gate_service import EvidenceGate
        from verdikt.evidence.section import EvidenceSettings

        settings = self.policy.section("evidence") or EvidenceSettings()
        return EvidenceGate(
            settings,
            self.store,
            self.clock,
            env=self._env,
            base_directory=self.base_directory,
            path_access=self.path_access,
        )

    @cached_property
    def guidance(self) -> Guidance | None:
        """Tool policies, feedback and completion checks of the policy and the constructor; None when there are none."""
        from verdikt.guidance.completion import Completion
        from verdikt.guidance.definition import Guidance, find_policy_guards

        own = self._completion
        own_completion = own if own is None or isinstance(own, Completion) else Completion(checker=own)
        guidance = Guidance(
            # From the graph, not from the section: a program can put tool policies into its graph directly.
            policies=tuple(find_policy_guards(self.policy.nodes)),
            feedback=(*(self.policy.section("feedback") or ()), *self._feedback),
            completions=(*(self.policy.section("completion") or ()), *([own_completion] if own_completion else [])),
        )
        return guidance if guidance else None

    @cached_property
    def guidance_hooks(self) -> GuidanceHooks | None:
        """The guidance, connected to the log; None when there is no guidance."""
        if self.guidance is None:
            return None
        from verdikt.guidance.hooks import GuidanceHooks

        return GuidanceHooks(self.guidance, self.policy, self.evidence_gate, self._world_factory)

    def policies_for_tool(self, name: str, *, agent: str = "", prompt: str = "") -> tuple[ToolPolicy, ...]:
        """Return the tool policies that apply to a tool, in the order in which they are evaluated."""
        return self.guidance.policies_for_tool(name, agent=agent, prompt=prompt) if self.guidance else ()

    @property
    def feedback_providers(self) -> tuple[FeedbackProviderConfig, ...]:
        """The feedback providers, with their triggers."""
        return self.guidance.feedback if self.guidance else ()

    @property
    def task_completion_checker(self) -> TaskCompletionChecker | None:
        """The check that must pass before the agent may stop; None when there is none."""
        return self.guidance.checker if self.guidance else None

    def try_completion(self, session: str, cwd: str) -> tuple[TaskCompletionResult, ...]:
        """Return what each completion check says now about a directory; refuse, count and record nothing."""
        turn = Turn(session_id=session, cwd=cwd)
        if self.guidance_hooks is None:
            return ()
        if not session or not self.store.reader.has_session(session):
            return self.guidance_hooks.preview_completion(None, turn)
        with self.store.session(session) as log:
            return self.guidance_hooks.preview_completion(log, turn)

    @cached_property
    def council_reviews(self) -> CouncilReviews:
        """The councils of the policy, connected to git and the log."""
        from verdikt.council_reviews import CouncilReviews  # with what runs reviewers

        return CouncilReviews(self.policy, self.store, self.clock, self._env)

    @property
    def councils(self) -> Councils:
        """The councils of the policy."""
        return self.council_reviews.councils

    def _record_crash(self, moment: str, error: Exception, session: str = "") -> None:
        """Record a failure: always in the crash file, and as a gap in the log of `session` if one is named."""
        record_crash(self.store.home, moment, error)
        # Each step by itself: a second failure must neither hide the first nor reach the host.
        try:
            self.evidence_gate.note_crash(moment)
        except Exception as second_error:
            record_crash(self.store.home, f"{moment}.note", second_error)
        if session:
            try:
                note = {"moment": moment, "error": type(error).__name__}
                self.store.append(session, EntryKind.GAP, note)
            except Exception as second_error:
                record_crash(self.store.home, f"{moment}.gap", second_error)
