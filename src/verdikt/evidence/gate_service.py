"""The evidence gate at work: reads the log and the transcript, asks the pure parts, writes down what they said."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from verdikt.evidence.claims import find_claims
from verdikt.evidence.contract import Contract, extend_contract, is_continuation, read_contract, to_yaml
from verdikt.evidence.disclaimer import has_disclaimer
from verdikt.evidence.final_block import check_final_block, needs_final_block
from verdikt.evidence.gate import GateResult, GateState, build_proof_record, judge_turn
from verdikt.evidence.logged_call import build_call_evidence, list_edits
from verdikt.evidence.override import find_overrides
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.shell_runs import read_runs
from verdikt.evidence.turn import read_turn
from verdikt.evidence.validator import find_validator, run_validator, validate
from verdikt.ledger.contract_files import write_contract
from verdikt.ledger.extraction_log import record_extraction
from verdikt.ledger.files import FileStore
from verdikt.ledger.overrides import note_overrides, record_overrides
from verdikt.ledger.store import LogWriter
from verdikt.model.action import Action, Outcome
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.hook_message import Answer, Prompt, Turn
from verdikt.model.redaction import redact_text
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.crash_alerts import note_crashes
from verdikt.observe.file_digest import digest_file
from verdikt.observe.project_checks import detect_project_checks
from verdikt.observe.source_tree import read_source_tree
from verdikt.observe.threshold_alerts import DAY_SECONDS, clear_mark, mark_first_breach
from verdikt.observe.transcript import Transcript, read_transcript
from verdikt.observe.user_path import expand_user

if TYPE_CHECKING:
    from verdikt.evidence.final_block import ValidatorPassLookup
    from verdikt.evidence.gate import GateJudgement
    from verdikt.evidence.turn import TurnEvidence
    from verdikt.evidence.validator import Proof
    from verdikt.govern import PathAccess
    from verdikt.model.source_tree import SourceTree

T = TypeVar("T")

MAX_ROOTS = 3
"""Projects of one turn whose sources are looked at when it ends."""

GATE_CRASHES = "_gate_crash.json"
"""Sessions that a failure of the gate has held up in their present turn."""

_CHECK_KINDS = frozenset({"test", "build", "lint", "commit"})
"""Runs after which the sources are looked at, so that a later change of them shows whoever made it."""

_MAX_CONTINUATIONS = 20
"""Requests to go on that are followed back to what was asked for."""

_MAX_TRANSCRIPT_READS = 30
"""How often a transcript is looked at again whose last words are not written yet."""

_UNREADABLE_REASONS = {"unparseable": "holds no JSON", "schema_drift": "has no message of a known type"}


class EvidenceGate:
    """What is asked for in a session, what proves it, and the gate between the two."""

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

    def record_prompt(self, prompt: Prompt) -> None:
        """Keeps what a person asked for as a contract, and audits words that try to get past a check."""
        session, text = prompt.session_id, redact_text(prompt.text)[0]
        clear_mark(self.store.home / GATE_CRASHES, session)
        self._audit_overrides(session, text)
        contract = read_contract(text)
        state = self.store.read_projection("evidence", session)
        known = self.store.reader.read_entry(session, state["contract"]) if state["contract"] else None
        before = Contract.from_record(known.body) if known else None
        extends = 0
        if before and (state["open"] or is_continuation(text)):
            contract, extends = (extend_contract(before, contract) if contract else before), state["contract"]
            if state["open"] and contract == before:
                return
        if contract is not None:
            body = contract.record() | {"extends": extends}
            if self.settings.final_block != "off" and needs_final_block(contract):
                body["required_response_mode"] = "schema"
            entry = self.store.append(session, EntryKind.CONTRACT, body)
            write_contract(self.store.home, session, entry.seq, to_yaml({"session": session, "seq": entry.seq, **body}))

    def _audit_overrides(self, session: str, text: str) -> None:
        found = find_overrides(text)
        if not found:
            return
        now = self.clock.now()
        self.store.append(session, EntryKind.OVERRIDE, {"found": [list(one) for one in found]})
        record_overrides(self.store.home, session, found, now)
        note_overrides(self.store.home, now, threshold=self.settings.overrides_per_day, **self._notice_paths())

    def collect_call_evidence(self, action: Action, outcome: Outcome) -> dict[str, Any]:
        """What the log keeps of a call so that it can prove something later."""
        edited = tuple(
            path if path == "*" else os.path.normpath(os.path.join(action.cwd, expand_user(path, self.env)))
            for path in list_edits(action)
        )
        written = {path: digest for path in edited if path != "*" and (digest := self._digest_file(path))}
        found = build_call_evidence(action, outcome, written=written, ended=self.clock.now(), edited=edited)
        where = self._find_checked_directory(action.cwd, found.get("runs", ()))
        if where and (tree := self._observe_tree(os.path.join(self._base_directory, where))):
            found["tree"] = {"root": tree.root, "sha256": tree.digest}
        return found

    def _find_checked_directory(self, cwd: str, runs: Sequence[Mapping[str, Any]]) -> str:
        """Where a run took place that may prove something about the sources; empty when there is none."""
        wanted = [tuple(one.argv) for custom in self.settings.validators for one in read_runs(custom.command)]
        for run in runs:
            argv = tuple(run["argv"])
            if run["kind"] in _CHECK_KINDS or any(argv[: len(want)] == want for want in wanted):
                return os.path.normpath(os.path.join(cwd, run["cwd"] or "."))
        return ""

    def judge_stop(self, turn: Turn) -> Answer:
        """Holds what the agent claims against the log of the turn; proofs are signed, refusals counted."""
        settings = self.settings
        if settings.mode == "off":
            return Answer()

        session, path = turn.session_id, turn.transcript_path
        transcript = self._read_transcript(path) if path else Transcript("unreadable")
        for _ in range(_MAX_TRANSCRIPT_READS):
            if turn.message is not None or not transcript.is_unfinished:
                break
            self.clock.sleep(0.05)
            transcript = self._read_transcript(path)
        if turn.message is None and not transcript.message.strip():
            self._record_empty_transcript(turn, transcript.status)
        if turn.message is None and transcript.status in _UNREADABLE_REASONS:
            return self._refuse_unreadable(turn, transcript.status)
        message = redact_text(transcript.message if turn.message is None else turn.message)[0]
        state = self.store.read_projection("evidence", session)
        evidence = replace(
            self.load_turn(session, state), usual=self._find_usual_checks(os.path.join(self._base_directory, turn.cwd))
        )
        holes = self._find_undecided_calls(session, state, transcript.tool_uses, evidence.decision_call_ids)
        faults = self._check_final_block(message, evidence.contract, session)
        judged = judge_turn(
            find_claims(message),
            evidence,
            settings,
            GateState.from_record(state),
            undecided_calls=holes if settings.coverage != "off" else (),
            stop_hook_active=turn.stop_hook_active,
            faults=faults if settings.final_block == "enforce" else (),
            has_disclaimer=has_disclaimer(message),
        )
        enforced = settings.mode == "enforce"
        signed = [
            self.store.append(session, EntryKind.VALIDATOR_PASS, build_proof_record(claims, proof)).seq
            for proof, claims in judged.group_proofs()
        ]
        if signed and faults and judged.reason:
            judged = replace(
                judged, reason=f"{judged.reason}\nSigned and ready to be named: {', '.join(map(str, signed))}"
            )
        body = judged.record() | {"enforced": enforced, "parse_status": transcript.status, "host": turn.host}
        if faults:
            body["final_block"] = {"enforced": enforced and settings.final_block == "enforce", "faults": list(faults)}
        if turn.background:
            body["background"] = [redact_text(session)[0] for session in turn.background]
        self.store.append(session, EntryKind.COMPLETION, body)
        parent = turn.raw.get("session_id")
        if turn.agent and isinstance(parent, str) and parent and parent != session:
            self.store.append(parent, EntryKind.COMPLETION, {"child": session, "result": judged.result.value})
            for proof in _collect_parent_proofs(judged, evidence):
                self.store.append(parent, EntryKind.VALIDATOR_PASS, {**proof, "child": session})
        if enforced and judged.result is GateResult.REFUSED:
            return Answer(allowed=False, reason=judged.reason, guard="evidence")
        return Answer()

    def load_turn(self, session: str, state: Mapping[str, Any]) -> "TurnEvidence":
        """The present turn of a session, from the log."""
        entries = self.store.read_entries(session, since=state["turn"])
        turn = read_turn(entries, best_test_counts=state["best"], is_trusted=self._has_valid_signature)
        if (asked := self._find_first_request(session, state["contract"])) and asked < state["turn"]:
            before = (entry for entry in self.store.read_entries(session, since=asked) if entry.seq <= state["turn"])
            turn = replace(turn, earlier=read_turn(before).calls)
        looked = [*(one.tree[0] for one in turn.validator_passes), *(call.tree[0] for call in turn.calls)]
        roots = list(dict.fromkeys(root for root in reversed(looked) if root))[:MAX_ROOTS]
        trees = {root: tree for root in roots if (tree := self._observe_tree(root)) and tree.root == root}
        return replace(turn, trees=trees) if trees else turn

    def _find_first_request(self, session: str, contract: int) -> int:
        """Where the person asked for what the present turn goes on with; 0 when it goes on with nothing."""
        first = 0
        for _ in range(_MAX_CONTINUATIONS):
            entry = self.store.reader.read_entry(session, contract)
            before = entry.body.get("extends", 0) if entry and entry.kind is EntryKind.CONTRACT else 0
            if not isinstance(before, int) or not 0 < before < contract:
                break
            first = contract = before
        return first

    def _find_undecided_calls(
        self,
        session: str,
        state: Mapping[str, Any],
        tool_uses: Sequence[tuple[str, str]],
        decision_call_ids: frozenset[str],
    ) -> list[str]:
        """The tool uses of a transcript's turn that were never decided on.

        For a transcript a turn lasts until the next prompt, for the log until the agent is let go; so what is missing
        since then is looked for since the prompt.
        """
        open_uses = [(id, tool) for id, tool in tool_uses if id and id not in decision_call_ids]
        if open_uses and 0 < state["contract"] < state["turn"]:
            before = self.store.read_entries(session, since=state["contract"])
            known = {str(entry.body.get("call_id", "")) for entry in before if entry.kind is EntryKind.DECISION}
            open_uses = [(id, tool) for id, tool in open_uses if id not in known]
        return [f"{tool} {id}" for id, tool in open_uses]

    def validate_claim(self, session: str, claim: str, name: str, arguments: Mapping[str, str]) -> "Proof":
        """What a validator says of an explicit claim in the present turn; a pass is signed into the log."""
        state = self.store.read_projection("evidence", session)
        proof = validate(name, claim, arguments, self.load_turn(session, state), self.settings.validators)
        if proof.holds:
            body = {"claim": claim, "explicit": True, **proof.record()}
            return replace(proof, signed=self.store.append(session, EntryKind.VALIDATOR_PASS, body).seq)
        return proof

    def is_proven(self, log: LogWriter, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a validator holds in the present turn."""
        validator = find_validator(name, self.settings.validators)
        evidence = self.load_turn(log.session_id, log.read_projection("evidence"))
        given = {key: str(value) for key, value in arguments.items()}
        return validator is not None and run_validator(validator, given, evidence).holds

    def is_first_failure(self, turn: Turn) -> bool:
        """Whether a failure of the gate has not yet held this turn up; a prompt begins another."""
        now = self.clock.now()
        try:
            return mark_first_breach(self.store.home / GATE_CRASHES, turn.session_id, now, now - DAY_SECONDS)
        except OSError:
            return False

    def note_crash(self, hook: str) -> None:
        """Makes it known when a hook crashes again and again."""
        now = SystemClock().now()  # the crash file is written by the machine's clock
        note_crashes(self.store.home, hook, now, threshold=self.settings.crashes_per_hour, **self._notice_paths())

    def _record_empty_transcript(self, turn: Turn, status: str) -> None:
        """Leaves a line about a stop at which the transcript gave no words."""
        record_extraction(
            self.store.home,
            session=turn.session_id,
            status=status,
            text_empty=True,
            transcript=turn.transcript_path,
            now=self.clock.now(),
        )

    def read_path(self, path: str, read: Callable[[str], T], default: T) -> T:
        """What is at a path, seen with the rights of whoever asks; `otherwise` when it is not for them."""
        try:
            with self._path_access(path):
                return read(path)
        except PermissionError:
            return default

    def _digest_file(self, path: str) -> str:
        return self.read_path(os.path.join(self._base_directory, path), digest_file, "")

    def _observe_tree(self, directory: str) -> "SourceTree | None":
        return self.read_path(directory, partial(read_source_tree, env=self.env), None)

    def _read_transcript(self, path: str) -> "Transcript":
        return self.read_path(path, read_transcript, Transcript("unreadable"))

    def _find_usual_checks(self, directory: str) -> dict[str, str]:
        return self.read_path(directory, partial(detect_project_checks, home=self.env.get("HOME", "")), {})

    def _notice_paths(self) -> dict[str, str]:
        """Where somebody is told of what happens again and again."""
        wanted = self.settings
        return {"memory": expand_user(wanted.memory, self.env), "notices": expand_user(wanted.notices, self.env)}

    def _refuse_unreadable(self, turn: Turn, status: str) -> Answer:
        """A transcript that is there and says nothing that can be read: what was claimed cannot be known."""
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

    def _check_final_block(self, message: str, contract: Any, session: str) -> tuple[str, ...]:
        """What is wrong with the fenced final block, where one is asked for."""
        if self.settings.final_block == "off":
            return ()

        return check_final_block(message, self.settings.final_name, contract, self._validator_pass_lookup(session))

    def _validator_pass_lookup(self, session: str) -> "ValidatorPassLookup":
        def look_up(seq: int) -> Mapping[str, Any] | None:
            entry = self.store.reader.read_entry(session, seq)
            if entry is None or entry.kind is not EntryKind.VALIDATOR_PASS or not self._has_valid_signature(entry):
                return None
            calls = [self.store.reader.read_entry(session, one) for one in entry.body.get("entries", ())]
            streams = [stream for call in calls if call for stream in call.body.get("streams", {}).values()]
            hashes = {entry.hash, *(call.hash for call in calls if call), *(stream["sha256"] for stream in streams)}
            return {**entry.body, "hashes": hashes}

        return look_up

    def _has_valid_signature(self, entry: Entry) -> bool:
        """Whether an entry's signature is by a key of ours."""
        return (
            bool(entry.sig)
            and self.store.keyring.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is None
        )


def _collect_parent_proofs(judgement: "GateJudgement", evidence: "TurnEvidence") -> list[dict[str, Any]]:
    """What a sub-agent proved, for its parent to rest on, with the sources that it is about."""
    if judgement.result.value != "proven":
        return []
    known = {call.seq: call.tree for call in evidence.calls if call.tree[0]}
    found = []
    for claim, proof in judgement.proofs:
        root, digest = next((known[seq] for seq in proof.entries if seq in known), ("", ""))
        body = {"claim": claim.type.value, "explicit": True, **proof.record(), "entries": []}
        found.append(body | ({"tree": {"root": root, "sha256": digest}} if root else {}))
    return found
