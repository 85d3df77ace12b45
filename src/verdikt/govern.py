"""THE FLOW: one short method for each of the five moments."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from verdikt.decide import decide
from verdikt.evidence.section import EvidenceSettings
from verdikt.graph.policy import STRICTNESS, Policy
from verdikt.ledger.files import FileStore
from verdikt.ledger.grants import live
from verdikt.ledger.home import data_home
from verdikt.ledger.pause import Pause, current
from verdikt.ledger.policies import keep_policy
from verdikt.ledger.store import Writer
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical import sha256
from verdikt.model.decision import Decision, failed
from verdikt.model.entry import EntryKind
from verdikt.model.facts import Facts, World
from verdikt.model.moment import Answer, Prompt, Turn
from verdikt.model.posture import Posture
from verdikt.model.receipt import action_record
from verdikt.model.secret import redact_action, redact_text
from verdikt.model.session import SessionState
from verdikt.model.verdict import Verdict
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.content import file_digest
from verdikt.observe.crash import record_crash
from verdikt.observe.crashes import note_crashes
from verdikt.observe.guarded import guarded_paths
from verdikt.observe.world import RealWorld, project_root
from verdikt.policy import load_file, load_policy
from verdikt.projections import projections

See = Callable[[str], World]
"""The world as seen from a directory."""

ARTIFACT_LIMIT = 1024 * 1024
"""Bytes of an output that are kept; its digest is always that of all of it."""


class Governance:
    """The one object a user holds: a policy, a log, and what happens at each moment."""

    def __init__(
        self,
        policy: Policy,
        store: FileStore,
        *,
        see: See | None = None,
        clock: Clock | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self.policy = policy
        self.store = store
        self.clock = clock or SystemClock()
        self._env = env
        self._see = see or self._real

    @classmethod
    def load(
        cls,
        path: str | Path | None = None,
        *,
        cwd: str = "",
        env: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
    ) -> "Governance":
        """Governance by one policy file, or by the layers in force at `cwd`; a `PolicyError` holds every fault."""
        policy = load_file(str(path)) if path else load_policy(cwd, environ=env)
        return cls(policy, FileStore(data_home(env), clock, projections()), clock=clock, env=env)

    def before(self, action: Action, *, posture: Posture | None = None) -> Decision:
        """May this happen? The decision is in the log before it is given; whatever fails on the way is a block."""
        try:
            clean, secrets = redact_action(action)
            facts = Facts(self._see(clean.cwd), secrets=secrets)
            return self.store.update(clean.session_id, lambda log: self._decided(log, clean, facts, posture))
        except Exception as error:
            self._crashed("before", error)
            return failed(error)

    def after(self, action: Action, outcome: Outcome) -> Answer:
        """It happened: what came of it is logged. Never stands in the way; what cannot be logged leaves a gap."""
        try:
            clean, _ = redact_action(action)
            body, artifacts = _call_record(clean, outcome)
            body["evidence"] = self._proves(clean, outcome)
            self.store.append(clean.session_id, EntryKind.TOOL_CALL, body, artifacts=artifacts)
        except Exception as error:
            self._crashed("after", error, action.session_id)
        return Answer()

    def prompt(self, prompt: Prompt) -> Answer:
        """A person asked: what for is kept as a contract, and words that try to get past a check are audited. Never stands in the way."""
        try:
            if prompt.human:
                self._asked(replace(prompt, text=redact_text(prompt.text)[0]))
        except Exception as error:
            self._crashed("prompt", error, prompt.session_id)
        return Answer()

    def stop(self, turn: Turn) -> Answer:
        """May the agent finish? What it claims is held against the log; what fails on the way refuses once, never for ever."""
        try:
            return self._stopped(turn)
        except Exception as error:
            self._crashed("stop", error, turn.session_id)
            return self._stop_failed(turn)

    def _asked(self, prompt: Prompt) -> None:
        from verdikt.evidence.contract import Contract, as_yaml, extend, goes_on, read_contract
        from verdikt.evidence.override import find_overrides
        from verdikt.ledger.contracts import write_contract
        from verdikt.ledger.overrides import note_overrides, record_overrides

        session, now = prompt.session_id, self.clock.now()
        if found := find_overrides(prompt.text):
            self.store.append(session, EntryKind.OVERRIDE, {"found": [list(one) for one in found]})
            record_overrides(self.store.home, session, found, now)
            wanted = self._evidence
            note_overrides(
                self.store.home, now, threshold=wanted.overrides_per_day, memory=wanted.memory, notices=wanted.notices
            )
        contract = read_contract(prompt.text)
        state = self.store.project("evidence", session)
        known = self.store.reader.entry(session, state["contract"]) if state["contract"] else None
        before = Contract.of(known.body) if known else None
        extends = 0
        if before and (state["open"] or goes_on(prompt.text)):
            contract, extends = (extend(before, contract) if contract else before), state["contract"]
            if state["open"] and contract == before:
                return
        if contract is None:
            return
        body = contract.record() | {"extends": extends}
        entry = self.store.append(session, EntryKind.CONTRACT, body)
        write_contract(self.store.home, session, entry.seq, as_yaml({"session": session, "seq": entry.seq, **body}))

    @property
    def _evidence(self) -> EvidenceSettings:
        return self.policy.section("evidence") or EvidenceSettings()

    def _stopped(self, turn: Turn) -> Answer:
        settings = self._evidence
        if settings.mode == "off":
            return Answer()
        from verdikt.evidence.claims import find_claims
        from verdikt.evidence.gate import GateResult, GateState, judge_turn, proof_record
        from verdikt.evidence.turn import read_turn
        from verdikt.observe.transcript import Transcript, read_transcript

        session = turn.session_id
        transcript = read_transcript(turn.transcript_path) if turn.transcript_path else Transcript("unreadable")
        if turn.message is None and transcript.status in ("unparseable", "schema_drift"):
            return self._unread(turn, settings, transcript.status)
        message = redact_text(transcript.message if turn.message is None else turn.message)[0]
        state = self.store.project("evidence", session)
        evidence = read_turn(self.store.entries(session, since=state["turn"]), best=state["best"])
        holes = [f"{tool} {id}" for id, tool in transcript.tool_uses if id and id not in evidence.decided]
        judged = judge_turn(
            find_claims(message),
            evidence,
            settings,
            GateState.of(state),
            holes=holes if settings.coverage != "off" else (),
            stop_hook_active=turn.stop_hook_active,
            faults=_final_faults(message, evidence, settings, self.store, session),
        )
        enforced = settings.mode == "enforce"
        for claim, proof in judged.proofs:
            self.store.append(session, EntryKind.VALIDATOR_PASS, proof_record(claim, proof))
        body = judged.record() | {"enforced": enforced, "parse_status": transcript.status, "host": turn.host}
        self.store.append(session, EntryKind.COMPLETION, body)
        parent = turn.raw.get("session_id")
        if turn.agent and isinstance(parent, str) and parent and parent != session:
            self.store.append(parent, EntryKind.COMPLETION, {"child": session, "result": judged.result.value})
        if enforced and judged.result is GateResult.REFUSED:
            return Answer(allowed=False, reason=judged.reason, guard="evidence")
        return Answer()

    def _unread(self, turn: Turn, settings: EvidenceSettings, status: str) -> Answer:
        """A transcript that is there and says nothing that can be read: what was claimed cannot be known."""
        enforced = settings.mode == "enforce" and not turn.stop_hook_active
        body = {"by": "evidence", "result": "unread", "parse_status": status, "enforced": enforced}
        self.store.append(turn.session_id, EntryKind.COMPLETION, body)
        if not enforced:
            return Answer()
        what = "holds no JSON" if status == "unparseable" else "has no message of a known type"
        reason = f"verdikt: the transcript {what} ({status}), so what this turn claims cannot be checked\nInstead: say what was done and what was not verified; a person should run `verdikt doctor`"
        return Answer(allowed=False, reason=reason, guard="evidence")

    def _stop_failed(self, turn: Turn) -> Answer:
        """Blocks once: the second time, or while the host already goes round, the agent may stop."""
        from verdikt.observe.breach import first_today

        if self._evidence.mode != "enforce" or turn.stop_hook_active:
            return Answer()
        try:
            first = first_today(self.store.home / "_gate_crash.json", turn.session_id, self.clock.now())
        except OSError:
            first = False
        if not first:
            return Answer()
        return Answer(
            allowed=False,
            reason="verdikt: the evidence gate failed, so nothing in this turn counts as proven\n"
            "Instead: say what was done and what was not verified; a person should run `verdikt doctor`",
            guard="evidence",
        )

    def _decided(self, log: Writer, action: Action, facts: Facts, posture: Posture | None) -> Decision:
        """Decides and records under the session's lock, so that parallel calls see one another's counts."""
        stance = max(self._posture(log), posture or Posture.INTERACTIVE, key=STRICTNESS.index)
        decision = decide(action, facts, self._session(log), stance, self.policy)
        pause = None
        if not decision.passed:
            # Only when something stands in the way is it worth asking whether an operator let it through.
            if grants := live(self.store, action.session_id, self.clock.now()):
                decision = decide(action, facts, self._session(log), stance, self.policy, grants=grants)
            pause = current(self.store)
        keep_policy(self.store.home, self.policy.digest, self.policy.document)
        log.append(EntryKind.DECISION, _decision_record(decision, action, pause))
        if pause and not decision.passed:
            said = f"paused by {pause.by or 'the operator'}: {pause.reason}"
            return replace(decision, verdict=Verdict.warn(guard="pause", reason=said))
        return decision

    def _proves(self, action: Action, outcome: Outcome) -> dict[str, Any]:
        from verdikt.evidence.call import call_evidence, named_edits

        edited = tuple(
            path if path == "*" else os.path.normpath(os.path.join(action.cwd, os.path.expanduser(path)))
            for path in named_edits(action)
        )
        written = {path: found for path in edited if path != "*" and (found := file_digest(path))}
        return call_evidence(action, outcome, written=written, ended=self.clock.now(), edited=edited)

    def _session(self, log: Writer) -> SessionState:
        return SessionState(log.session, **log.project("session")).copy()

    def _posture(self, log: Writer) -> Posture:
        kept = log.project("posture")
        return Posture(kept) if kept else self.policy.posture

    def _real(self, cwd: str) -> World:
        here = os.path.abspath(cwd or ".")
        guarded = guarded_paths(project_root(here, self._env.get("HOME", "")), self._env)
        return RealWorld(here, env=self._env, guarded=guarded, clock=self.clock)

    def _crashed(self, moment: str, error: Exception, session: str = "") -> None:
        """Leaves a trace where it can: beside the log always, in the log when it still takes entries."""
        record_crash(self.store.home, moment, error)
        try:
            wanted = self._evidence
            note_crashes(
                self.store.home,
                moment,
                SystemClock().now(),  # the crash file is written by the machine's clock
                threshold=wanted.crashes_per_hour,
                memory=wanted.memory,
                notices=wanted.notices,
            )
        except OSError as again:
            record_crash(self.store.home, f"{moment}.note", again)
        if session:
            try:
                note = {"moment": moment, "error": type(error).__name__}
                self.store.append(session, EntryKind.GAP, note)
            except Exception as again:
                record_crash(self.store.home, f"{moment}.gap", again)


def _decision_record(decision: Decision, action: Action, pause: Pause | None) -> dict[str, Any]:
    """A decision as the log keeps it. The receipt is the policy's own word, whether or not a pause let the action through."""
    body = {
        "receipt": decision.receipt.dump(),
        "receipt_sha256": decision.receipt.sha256,
        "call_id": action.call_id,
    }
    return body | ({"paused": {"until": pause.until, "reason": pause.reason}} if pause else {})


def _call_record(action: Action, outcome: Outcome) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A tool call as the log keeps it: what was called, what came of it, and the output as an artifact."""
    artifacts = {}
    digests = {}
    for name, text in (("output", outcome.output), ("error", outcome.error)):
        if text:
            data = redact_text(text)[0].encode("utf-8", "backslashreplace")
            artifacts[name] = data[:ARTIFACT_LIMIT]
            digests[name] = {"sha256": sha256(data), "bytes": len(data)}
    body = {
        **action_record(action),
        "call_id": action.call_id,
        "success": outcome.success,
        "exit_code": outcome.exit_code,
        "seconds": outcome.duration_seconds,
        "streams": digests,
    }
    return body, artifacts


def _final_faults(
    message: str, evidence: Any, settings: EvidenceSettings, store: FileStore, session: str
) -> tuple[str, ...]:
    """What is wrong with the fenced final block, where one is asked for."""
    if settings.final_block != "enforce":
        return ()
    from verdikt.evidence.final import final_faults

    def signed(seq: int) -> bool:
        entry = store.reader.entry(session, seq)
        return bool(entry and entry.kind is EntryKind.VALIDATOR_PASS and entry.sig)

    return final_faults(message, settings.final_name, evidence.contract, signed)
