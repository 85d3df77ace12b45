"""What can let a stopped call through: an operator's grants and pause, and people who approve it elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.decide import decide
from verdikt.ledger.approval_outbox import announce_request
from verdikt.ledger.approvals import GO_ON, GO_ON_WITHOUT, append_request, look_up_approval, read_service
from verdikt.ledger.grants import find_live_grants, use_grants
from verdikt.ledger.pause import find_active_pause
from verdikt.model.approval import ApprovalNeed, ApprovalState
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.grant import find_used_grants
from verdikt.model.verdict import VerdictKind
from verdikt.observe.git_repository import read_push_sources
from verdikt.observe.regular_file import read_regular_file

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.ledger.approvals import ApprovalLookup
    from verdikt.ledger.files import FileStore
    from verdikt.ledger.store import LogWriter
    from verdikt.model.action import Action
    from verdikt.model.approval import ApprovalAnswer
    from verdikt.model.entry import Entry
    from verdikt.model.facts import Facts
    from verdikt.model.posture import Posture
    from verdikt.model.session_state import SessionState
    from verdikt.model.standing_ask import StandingAsk
    from verdikt.model.verdict import Decision, Verdict


# `main@{5.minutes.ago}` is another commit as time goes by, `HEAD@{1}` one that only the reflog knows; and a repository
# that is named apart from its directory is not looked for.
_UNTOLD_MARKS = ("@{", "--git-dir", "GIT_DIR")
_MAX_UNREAD_BYTES = 64 << 20
_WITHOUT_QUOTES = str.maketrans("", "", "\\'\"")


class SettledCall(NamedTuple):
    """The decision with every permission that counts, the state that counted it, and the request to people, if any."""

    decision: Decision
    state: SessionState
    approval: ApprovalLookup | None = None

    def append_request(self, log: LogWriter, entry: Entry) -> None:
        """Append the request that the decision in `entry` asks, or the use of the answer that it goes by."""
        if self.approval is not None:
            append_request(log, self.approval, entry)

    def announce(self, store: FileStore, session_id: str) -> Decision:
        """Leave word of a request that waits, and return the decision in the words that the agent hears.

        The receipt has the rule's own words: those about the request depend on the receipt.
        """
        approval, verdict = self.approval, self.decision.verdict
        if approval is None or not approval.reason:
            return self.decision
        is_waiting = approval.state is ApprovalState.WAITING
        if is_waiting:
            announce_request(store.home, session_id, approval.id, approval.call)
        fix = (GO_ON if approval.can_be_answered else GO_ON_WITHOUT) if is_waiting else verdict.fix
        return replace(
            self.decision,
            verdict=replace(verdict, reason=f"{verdict.reason}; {approval.reason}", fix=fix),
            awaited_approval=approval.id if approval.can_be_answered else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedCall:
    """A call that the policy asks about or blocks, under the lock of its session."""

    action: Action
    facts: Facts
    posture: Posture
    policy: Policy
    standing: StandingAsk | None
    store: FileStore
    log: LogWriter
    read_state: Callable[[], SessionState]
    """Returns the state before this call: each attempt to decide counts the call in the one that it is given."""
    env: Mapping[str, str]
    is_asked_away: bool = False
    """Whether the host can show no question: the team service, if there is one, then asks what the policy asks."""

    def settle(self, decision: Decision, state: SessionState) -> SettledCall:
        """Return what becomes of a decision that stops the call."""
        settled = self._apply_operator(decision, state, None)
        needs = self._choose_needs(settled.decision.verdict)
        if settled.decision.passed or not needs:
            return settled
        receipt = settled.decision.receipt.dump()
        contents = self._read_push_sources(settled.decision, receipt) | _hash_unread_files(receipt)
        approval = look_up_approval(self.store, self.log, receipt, needs, contents)
        if approval.answer is None:
            return settled._replace(approval=approval)
        state = self.read_state()
        decision = self._decide_again(session=state, approval=approval.answer)
        if not decision.passed:
            decision, state, _ = self._apply_operator(decision, state, approval.answer)
        return SettledCall(decision, state, approval)

    def _choose_needs(self, verdict: Verdict) -> tuple[ApprovalNeed, ...]:
        """Return who has to approve: those whom the rule names; where only a service can ask, the machine's person."""
        is_plain_ask = verdict.kind is VerdictKind.ASK and not verdict.approvals
        if is_plain_ask and self.is_asked_away and read_service(self.store.home)["service"]:
            return (ApprovalNeed(),)
        return verdict.approvals

    @property
    def _decide_again(self) -> Callable[..., Decision]:
        return partial(
            decide, self.action, self.facts, posture=self.posture, policy=self.policy, standing=self.standing
        )

    def _apply_operator(self, decision: Decision, state: SessionState, answer: ApprovalAnswer | None) -> SettledCall:
        """Return the decision with the operator's grants and pause; without any, as it is."""
        grants = find_live_grants(self.store, self.action.session_id, self.store.clock.now())
        pause = find_active_pause(self.store)
        if not grants and not pause:
            return SettledCall(decision, state)
        state = self.read_state()
        decision = self._decide_again(session=state, grants=grants, pause=pause, approval=answer)
        used = find_used_grants(grants, self.action, decision.effects) if decision.passed and pause is None else []
        if used and not use_grants(self.store, used, self.action.session_id):
            # Another session has used one of them between our look and our use.
            state, lasting = self.read_state(), tuple(grant for grant in grants if not grant.once)
            decision = self._decide_again(session=state, grants=lasting, approval=answer)
        return SettledCall(decision, state)

    def _read_push_sources(self, decision: Decision, receipt: Mapping[str, Any]) -> dict[str, str]:
        """Return what a push reads from its repositories: an approval holds for these commits and remotes only.

        An empty value says that it cannot be told, and such a call cannot be approved.
        """
        if not any(effect.what.startswith("git.push") for effect in decision.effects):
            return {}
        facts = receipt["facts"]
        roots = {str(fact.get("root", "")) for fact in facts["git"].values()}
        sources = read_push_sources(roots - {""}, self.env)
        texts = [str(self.action.payload), *(text for text in facts["text"].values() if isinstance(text, str))]
        plain_texts = [text.translate(_WITHOUT_QUOTES) for text in texts]
        is_untold = "" in roots or any(mark in text for text in plain_texts for mark in _UNTOLD_MARKS)
        return sources | {"": ""} if is_untold else sources


def _hash_unread_files(receipt: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of files that the decision looked for and could not read as text; a missing one has none."""
    digests = {}
    for path, text in receipt["facts"]["text"].items():
        if text is None and os.path.exists(path) and not os.path.isdir(path):
            content = read_regular_file(path, _MAX_UNREAD_BYTES)
            digests[path] = "" if content is None else sha256_hex(content)
    return digests
