"""The I/O of the evidence gate: read the log and the transcript, call the pure parts, record their results."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from verdikt.claims.reader import read_claims
from verdikt.evidence.final_block import check_final_block, needs_final_block
from verdikt.evidence.gate import GateResult, GateState, build_proof_record, judge_turn
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.validator import run_validator
from verdikt.evidence.validator_registry import find_validator, validate
from verdikt.ledger.evidence_records import note_overrides, record_extraction, record_overrides, write_contract
from verdikt.ledger.files import FileStore
from verdikt.ledger.store import LogWriter
from verdikt.model.action import Action, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Answer, Prompt, Turn
from verdikt.model.redaction import redact_text
from verdikt.observe.alerts import DAY_SECONDS, clear_mark, mark_first_breach, note_crashes
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.transcript import Transcript, find_call_ids, read_transcript
from verdikt.observe.world import digest_file, expand_user
from verdikt.prompts.contract import Contract, extend_contract, is_continuation, read_contract, to_yaml
from verdikt.prompts.override import find_overrides
from verdikt.runs.logged_call import build_call_evidence, list_edits
from verdikt.runs.shell_runs import read_runs
from verdikt.turns.facts import record_checked_tree
from verdikt.turns.loader import TurnLoader
from verdikt.turns.observer import TurnObserver
from verdikt.turns.run_inspector import find_checked_directory, inspect_runs
from verdikt.turns.unseen_calls import (
    GAP_UNSEEN,
    can_compare_transcript,
    describe_unseen_calls,
    drop_unseen_proof,
    find_unseen_calls,
)

if TYPE_CHECKING:
    from verdikt.evidence.final_block import ValidatorPassLookup
    from verdikt.evidence.gate import GateJudgement
    from verdikt.evidence.validator import Proof
    from verdikt.governance_parts import PathAccess
    from verdikt.turns.turn import TurnEvidence

T = TypeVar("T")

MAX_MESSAGE = 200_000
"""Characters at the end of a message that are read."""

MAX_RECORDED_MESSAGE = 4_000
"""Characters at the end of a message that are recorded."""

MAX_STOP_FILES = 200
"""Number of uncommitted files up to which a stop records them, as the beginning of a turn without a prompt."""

GATE_CRASHES = "_gate_crash.json"
"""File with the sessions that a failure of the gate has refused in their current turn."""

_MAX_TRANSCRIPT_READS = 30
"""Maximum number of reads of a transcript whose last message is not written yet."""

_UNREADABLE_REASONS = {"unparseable": "holds no JSON", "schema_drift": "has no message of a known type"}


class EvidenceGate:
    """Record what a session is asked for and what proves it; decide at stop whether the two agree."""

    def __init__(
        self,
        settings: EvidenceSettings,
        store: FileStore,
        clock: Clock,
        *,
        env: Mapping[str, str] = os.environ,
        base_directory: str = "",
        path_access: "PathAccess" = nullcontext,
    ) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.env = env
        self._base_directory = base_directory
        self._path_access = path_access
        self._observer = TurnObserver(env, self.read_path)
        self.turns = TurnLoader(store, self._observer)

    def record_prompt(self, prompt: Prompt) -> None:
        """Record what a person asked for as a contract, and audit phrases that try to get past a check."""
        # Redacted before anything is recorded: people paste secrets into prompts.
        session, text = prompt.session_id, redact_text(prompt.text)[0]
        # A prompt starts a new turn, in which a failure of the gate may refuse once more.
        clear_mark(self.store.home / GATE_CRASHES, session)
        self._audit_overrides(session, text)
        contract = read_contract(text)
        state = self.store.read_projection("evidence", session)
        # What is said while a turn is under way does not move the point that its changes are compared with.
        baseline = state["baseline"] or self._record_snapshot(session, prompt.cwd)
        entry = self.store.reader.read_entry(session, state["contract"]) if state["contract"] else None
        previous = Contract.from_record(entry.body) if entry else None
        extends = 0
        if previous and (state["open"] or is_continuation(text)):
            contract, extends = (extend_contract(previous, contract) if contract else previous), state["contract"]
            if state["open"] and contract == previous:
                return
        if contract is not None:
            body = contract.record() | {"extends": extends, "snapshot": baseline}
            if prompt.host:
                body["host"] = prompt.host  # often the session's first entry: what reads the log knows whose it is
            if self.settings.final_block != "off" and needs_final_block(contract):
                body["required_response_mode"] = "schema"
            if prompt.transcript_path and can_compare_transcript(prompt.host, prompt.agent, has_own_transcript=False):
                # `evidence validate` is not told where the transcript is.
                body["transcript"] = redact_text(prompt.transcript_path)[0]
            entry = self.store.append(session, EntryKind.CONTRACT, body)
            write_contract(self.store.home, session, entry.seq, to_yaml({"session": session, "seq": entry.seq, **body}))

    def _record_snapshot(self, session: str, cwd: str) -> int:
        """Record the work tree at the beginning of a turn, and return the entry's seq; 0 when there is none."""
        if self.settings.mode == "off":
            return 0
        snapshot = self._observer.take_snapshot(os.path.join(self._base_directory, cwd))
        return self.store.append(session, EntryKind.SNAPSHOT, snapshot.record()).seq if snapshot else 0

    def _audit_overrides(self, session: str, text: str) -> None:
        overrides = find_overrides(text)
        if not overrides:
            return
        now = self.clock.now()
        self.store.append(session, EntryKind.OVERRIDE, {"found": [list(override) for override in overrides]})
        record_overrides(self.store.home, session, overrides, now)
        note_overrides(self.store.home, now, threshold=self.settings.overrides_per_day, **self._notice_paths())

    def collect_call_evidence(self, action: Action, outcome: Outcome) -> dict[str, Any]:
        """Return what the log must hold of a call so that the call can prove a claim later."""
        edited = tuple(
            path if path == "*" else os.path.normpath(os.path.join(action.cwd, expand_user(path, self.env)))
            for path in list_edits(action)
        )
        named = ((path, os.path.join(self._base_directory, path)) for path in edited if path != "*")
        written = {path: digest for path, place in named if (digest := self.read_path(place, digest_file, ""))}
        evidence = build_call_evidence(action, outcome, written=written, ended=self.clock.now(), edited=edited)
        prefixes = [tuple(run.argv) for custom in self.settings.validators for run in read_runs(custom.command)]
        directory = find_checked_directory(action.cwd, evidence.get("runs", ()), prefixes, self.read_path)
        if directory and (tree := self._observer.read_tree(os.path.join(self._base_directory, directory))):
            evidence["tree"] = record_checked_tree(tree)
            evidence["runs"] = inspect_runs(action.cwd, action.command, evidence["runs"], tree, self.read_path)
        return evidence

    def judge_stop(self, turn: Turn) -> Answer:
        """Compare what the agent claims with the log of the turn; sign the proofs, record and count refusals."""
        settings, session = self.settings, turn.session_id
        if settings.mode == "off":
            return Answer()

        transcript = self._read_finished_transcript(turn)
        if turn.message is None and transcript.status in _UNREADABLE_REASONS:
            return self._refuse_unreadable(turn, transcript.status)

        # A message in the hook's payload is newer than the transcript, which some hosts write later.
        message = redact_text((transcript.message if turn.message is None else turn.message)[-MAX_MESSAGE:])[0]
        state = self.store.read_projection("evidence", session)
        evidence, unseen = self.turns.load_turn(session, state), ""
        has_own = bool(turn.raw.get("agent_transcript_path"))
        if can_compare_transcript(turn.host, turn.agent, has_own_transcript=has_own):
            evidence, unseen = self._drop_unseen_calls(session, turn.transcript_path, evidence, "stop")
        facts, snapshot, unlisted = self._observer.collect_facts(
            os.path.join(self._base_directory, turn.cwd),
            self.turns.load_baseline(session, state),
            evidence,
            message,
            state["proven"],
        )
        evidence = replace(evidence, facts=facts, unlisted=unlisted)
        undecided_calls = self.turns.find_undecided_calls(session, state, transcript.tool_uses, evidence)
        faults: tuple[str, ...] = ()
        if settings.final_block != "off":
            look_up = self._validator_pass_lookup(session)
            faults = check_final_block(message, settings.final_name, evidence.contract, look_up)
        judgement = judge_turn(
            read_claims(message),
            evidence,
            settings,
            GateState.from_record(state),
            undecided_calls=undecided_calls if settings.coverage != "off" else (),
            stop_hook_active=turn.stop_hook_active,
            faults=faults if settings.final_block == "enforce" else (),
            message=message,
        )

        judgement = self._sign_proofs(session, judgement, faults)
        # With the end of the message, whose claims can then be read and judged again from the log alone.
        seen: dict[str, Any] = {"facts": evidence.record_facts(), "message": message[-MAX_RECORDED_MESSAGE:]}
        if snapshot is not None and len(snapshot.dirty or ()) <= MAX_STOP_FILES:
            seen["snapshot"] = snapshot.record()
        if judgement.result is GateResult.PROVEN and (smaller := evidence.smaller_test_runs):
            # The message named what is gone; the next turn is compared with what is there now.
            seen["smaller"] = smaller
        self._record_judgement(turn, judgement, faults, seen | {"parse_status": transcript.status})
        self._report_to_parent(turn, judgement, evidence)
        if settings.mode == "enforce" and judgement.result is GateResult.REFUSED:
            reason = "\n".join(filter(None, (judgement.reason, unseen)))
            return Answer(allowed=False, reason=reason, guard="evidence")
        return Answer(notice=judgement.notice if settings.mode == "enforce" else "")

    def _drop_unseen_calls(
        self, session: str, path: str, evidence: "TurnEvidence", moment: str
    ) -> tuple["TurnEvidence", str]:
        """Return the evidence without calls that the host's transcript lacks, and a sentence about those calls.

        They are reported in the log too: a program other than the host has called the hook.
        """
        calls = [*evidence.earlier, *evidence.calls]
        if not (path and calls):
            return evidence, ""
        wanted = {call.call_id for call in calls}
        for _ in range(_MAX_TRANSCRIPT_READS):
            ids = self.read_path(path, partial(find_call_ids, wanted=wanted), None)
            unseen = find_unseen_calls(calls, ids) if ids is not None else ()
            if not unseen:
                return evidence, ""
            # Hosts call the stop hook before they have flushed the last lines to the file.
            self.clock.sleep(0.05)
        body = {"moment": moment, "reason": GAP_UNSEEN, "calls": [call.seq for call in unseen]}
        self.store.append(session, EntryKind.GAP, body)
        return drop_unseen_proof(evidence, unseen), describe_unseen_calls(unseen)

    def _read_finished_transcript(self, turn: Turn) -> Transcript:
        """Return the transcript, once its last message is written or the wait for it is over; record a missing one."""
        path, unreadable = turn.transcript_path, Transcript("unreadable")
        transcript = self.read_path(path, read_transcript, unreadable) if path else unreadable
        for _ in range(_MAX_TRANSCRIPT_READS):
            if turn.message is not None or not transcript.is_unfinished:
                break
            # Hosts call the stop hook before they have flushed the last message to the file.
            self.clock.sleep(0.05)
            transcript = self.read_path(path, read_transcript, unreadable)
        if turn.message is None and not transcript.message.strip():
            home, status, now = self.store.home, transcript.status, self.clock.now()
            record_extraction(home, session=turn.session_id, status=status, text_empty=True, transcript=path, now=now)
        return transcript

    def _sign_proofs(self, session: str, judgement: "GateJudgement", faults: Sequence[str]) -> "GateJudgement":
        """Sign every proof into the log; name the new entries in the refusal of a faulty final block."""
        seqs = [
            self.store.append(session, EntryKind.VALIDATOR_PASS, build_proof_record(claims, proof)).seq
            for proof, claims in judgement.group_proofs()
        ]
        if not (seqs and faults and judgement.reason):
            return judgement
        reason = f"{judgement.reason}\nSigned and ready to be named: {', '.join(map(str, seqs))}"
        return replace(judgement, reason=reason)

    def _record_judgement(
        self, turn: Turn, judgement: "GateJudgement", faults: Sequence[str], seen: Mapping[str, Any]
    ) -> None:
        enforced = self.settings.mode == "enforce"
        body = judgement.record() | {"enforced": enforced, "host": turn.host, **seen}
        if faults:
            block_enforced = enforced and self.settings.final_block == "enforce"
            body["final_block"] = {"enforced": block_enforced, "faults": list(faults)}
        if turn.background:
            body["background"] = [redact_text(task)[0] for task in turn.background]
        self.store.append(turn.session_id, EntryKind.COMPLETION, body)

    def _report_to_parent(self, turn: Turn, judgement: "GateJudgement", evidence: "TurnEvidence") -> None:
        """Record a sub-agent's result and proofs in the session that started it, which may build on them."""
        session, parent = turn.session_id, turn.raw.get("session_id")
        if not turn.agent or not isinstance(parent, str) or not parent or parent == session:
            return
        self.store.append(parent, EntryKind.COMPLETION, {"child": session, "result": judgement.result.value})
        for proof in _collect_parent_proofs(judgement, evidence):
            self.store.append(parent, EntryKind.VALIDATOR_PASS, {**proof, "child": session})

    def validate_claim(self, session: str, claim: str, name: str, arguments: Mapping[str, str]) -> "Proof":
        """Return a validator's result for an explicit claim about the newest request; sign a pass into the log."""
        state = self.store.read_projection("evidence", session)
        turn, is_current = self.turns.load_last_request(session, state)
        request = self.store.reader.read_entry(session, state["contract"]) if state["contract"] else None
        path = str(request.body.get("transcript", "")) if request else ""
        turn, unseen = self._drop_unseen_calls(session, path, turn, "validate")
        proof = validate(name, claim, arguments, turn, self.settings.validators)
        if unseen and not proof.holds:
            return replace(proof, reason=f"{proof.reason}. {unseen}")
        if proof.holds:
            # What was done for a request that has ended proves no claim of the turn after it.
            body = {"claim": claim, "explicit": is_current, **proof.record()}
            return replace(proof, signed=self.store.append(session, EntryKind.VALIDATOR_PASS, body).seq)
        return proof

    def is_proven(self, session: LogWriter, name: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a validator passes in the current turn."""
        validator = find_validator(name, self.settings.validators)
        evidence = self.turns.load_turn(session.session_id, session.read_projection("evidence"))
        texts = {key: str(value) for key, value in arguments.items()}
        return validator is not None and run_validator(validator, texts, evidence).holds

    def is_first_failure(self, turn: Turn) -> bool:
        """Return whether no failure of the gate has refused this turn yet; a prompt starts the next turn."""
        now = self.clock.now()
        try:
            return mark_first_breach(self.store.home / GATE_CRASHES, turn.session_id, now, now - DAY_SECONDS)
        except OSError:
            return False

    def note_crash(self, hook: str) -> None:
        """Notify the operator when a hook crashes repeatedly."""
        # Not `self.clock`: the crash file has the times of the machine's clock.
        now = SystemClock().now()
        note_crashes(self.store.home, hook, now, threshold=self.settings.crashes_per_hour, **self._notice_paths())

    def read_path(self, path: str, read: Callable[[str], T], default: T) -> T:
        """Return `read(path)`, read with the rights of the user who asks; `default` when those do not suffice."""
        try:
            with self._path_access(path):
                return read(path)
        except PermissionError:
            return default

    def hash_sources(self, root: str) -> str | None:
        """Return the digest of the sources below a root as they are now; None when they cannot be hashed."""
        tree = self._observer.read_tree(root)
        return tree.digest if tree is not None and tree.root == root else None

    def _notice_paths(self) -> dict[str, str]:
        """Return the files in which repeated events are reported."""
        memory, notices = self.settings.memory, self.settings.notices
        return {"memory": expand_user(memory, self.env), "notices": expand_user(notices, self.env)}

    def _refuse_unreadable(self, turn: Turn, status: str) -> Answer:
        """Refuse a stop whose transcript exists but cannot be read, because its claims are unknown."""
        enforced = self.settings.mode == "enforce" and not turn.stop_hook_active
        body = {"by": "evidence", "result": "unread", "parse_status": status, "enforced": enforced}
        self.store.append(turn.session_id, EntryKind.COMPLETION, body)
        if not enforced:
            return Answer()
        reason = (
            f"the transcript {_UNREADABLE_REASONS[status]} ({status}), so what this turn claims cannot be checked\n"
            "Instead: say what was done and what was not verified; a person should run `verdikt doctor`"
        )
        return Answer(allowed=False, reason=reason, guard="evidence")

    def _validator_pass_lookup(self, session: str) -> "ValidatorPassLookup":
        def look_up(seq: int) -> Mapping[str, Any] | None:
            entry = self.store.reader.read_entry(session, seq)
            # Only a signed pass counts: anyone who can write to the file can append an unsigned entry.
            if entry is None or entry.kind is not EntryKind.VALIDATOR_PASS or not self.turns.has_valid_signature(entry):
                return None
            calls = [self.store.reader.read_entry(session, call_seq) for call_seq in entry.body.get("entries", ())]
            streams = [stream for call in calls if call for stream in call.body.get("streams", {}).values()]
            hashes = {entry.hash, *(call.hash for call in calls if call), *(stream["sha256"] for stream in streams)}
            return {**entry.body, "hashes": hashes}

        return look_up


def _collect_parent_proofs(judgement: "GateJudgement", evidence: "TurnEvidence") -> list[dict[str, Any]]:
    """Return a sub-agent's proofs for its parent session, each with the source tree that it covers."""
    if judgement.result.value != "proven":
        return []
    trees = {call.seq: call.tree for call in evidence.calls if call.tree[0]}
    proofs = []
    for claim, proof in judgement.proofs:
        root, digest = next((trees[seq] for seq in proof.entries if seq in trees), ("", ""))
        # The sub-agent's sequence numbers mean nothing in the parent's log.
        body = {"claim": claim.act, "explicit": True, **proof.record(), "entries": []}
        proofs.append(body | ({"tree": {"root": root, "sha256": digest}} if root else {}))
    return proofs
