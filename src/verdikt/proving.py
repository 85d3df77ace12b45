"""The evidence gate at work: reads the log and the transcript, asks the pure parts, writes down what they said."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from verdikt.evidence.section import EvidenceSettings
from verdikt.ledger.files import FileStore
from verdikt.ledger.store import Writer
from verdikt.model.action import Action, Outcome
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.moment import Answer, Prompt, Turn
from verdikt.model.redaction import redact_text
from verdikt.model.value import replace
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.home import expand

if TYPE_CHECKING:
    from verdikt.evidence.final import Signed
    from verdikt.evidence.gate import GateJudgement
    from verdikt.evidence.turn import TurnEvidence
    from verdikt.evidence.validator import Proof
    from verdikt.govern import Look
    from verdikt.model.tree import SourceTree
    from verdikt.observe.transcript import Transcript

T = TypeVar("T")

ROOTS = 3
"""Projects of one turn whose sources are looked at when it ends."""

GATE_CRASHES = "_gate_crash.json"
"""Sessions that a failure of the gate has held up in their present turn."""

_CHECKS = frozenset({"test", "build", "lint", "commit"})
"""Runs after which the sources are looked at, so that a later change of them shows whoever made it."""

_HOPS = 20
"""Requests to go on that are followed back to what was asked for."""

_LOOKS = 30
"""How often a transcript is looked at again whose last words are not written yet."""

_UNREAD = {"unparseable": "holds no JSON", "schema_drift": "has no message of a known type"}


class Proving:
    """What is asked for in a session, what proves it, and the gate between the two."""

    def __init__(
        self,
        settings: EvidenceSettings,
        store: FileStore,
        clock: Clock,
        *,
        env: Mapping[str, str] = os.environ,
        here: str = "",
        look: "Look" = nullcontext,
    ) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.env = env
        self._here = here
        self._look = look

    def asked(self, prompt: Prompt) -> None:
        """Keeps what a person asked for as a contract, and audits words that try to get past a check."""
        from verdikt.evidence.contract import Contract, as_yaml, extend, goes_on, read_contract
        from verdikt.evidence.final import asks_for_block
        from verdikt.ledger.contracts import write_contract
        from verdikt.observe.breach import unmark

        session, text = prompt.session_id, redact_text(prompt.text)[0]
        unmark(self.store.home / GATE_CRASHES, session)
        self._audit(session, text)
        contract = read_contract(text)
        state = self.store.project("evidence", session)
        known = self.store.reader.entry(session, state["contract"]) if state["contract"] else None
        before = Contract.of(known.body) if known else None
        extends = 0
        if before and (state["open"] or goes_on(text)):
            contract, extends = (extend(before, contract) if contract else before), state["contract"]
            if state["open"] and contract == before:
                return
        if contract is not None:
            body = contract.record() | {"extends": extends}
            if self.settings.final_block != "off" and asks_for_block(contract):
                body["required_response_mode"] = "schema"
            entry = self.store.append(session, EntryKind.CONTRACT, body)
            write_contract(self.store.home, session, entry.seq, as_yaml({"session": session, "seq": entry.seq, **body}))

    def _audit(self, session: str, text: str) -> None:
        from verdikt.evidence.override import find_overrides
        from verdikt.ledger.overrides import note_overrides, record_overrides

        found = find_overrides(text)
        if not found:
            return
        now = self.clock.now()
        self.store.append(session, EntryKind.OVERRIDE, {"found": [list(one) for one in found]})
        record_overrides(self.store.home, session, found, now)
        note_overrides(self.store.home, now, threshold=self.settings.overrides_per_day, **self._places())

    def evidence(self, action: Action, outcome: Outcome) -> dict[str, Any]:
        """What the log keeps of a call so that it can prove something later."""
        from verdikt.evidence.call import call_evidence, named_edits

        edited = tuple(
            path if path == "*" else os.path.normpath(os.path.join(action.cwd, expand(path, self.env)))
            for path in named_edits(action)
        )
        written = {path: digest for path in edited if path != "*" and (digest := self._digest(path))}
        found = call_evidence(action, outcome, written=written, ended=self.clock.now(), edited=edited)
        where = self._checked_place(action.cwd, found.get("runs", ()))
        if where and (tree := self._tree(os.path.join(self._here, where))):
            found["tree"] = {"root": tree.root, "sha256": tree.digest}
        return found

    def _checked_place(self, cwd: str, runs: Sequence[Mapping[str, Any]]) -> str:
        """Where a run took place that may prove something about the sources; empty when there is none."""
        from verdikt.evidence.ran import read_runs

        wanted = [tuple(one.argv) for custom in self.settings.validators for one in read_runs(custom.command)]
        for run in runs:
            argv = tuple(run["argv"])
            if run["kind"] in _CHECKS or any(argv[: len(want)] == want for want in wanted):
                return os.path.normpath(os.path.join(cwd, run["cwd"] or "."))
        return ""

    def stopped(self, turn: Turn) -> Answer:
        """Holds what the agent claims against the log of the turn; proofs are signed, refusals counted."""
        settings = self.settings
        if settings.mode == "off":
            return Answer()
        from verdikt.evidence.admission import admits
        from verdikt.evidence.claims import find_claims
        from verdikt.evidence.gate import GateResult, GateState, judge_turn, proof_record
        from verdikt.observe.transcript import Transcript

        session, path = turn.session_id, turn.transcript_path
        transcript = self._transcript(path) if path else Transcript("unreadable")
        for _ in range(_LOOKS):
            if turn.message is not None or not transcript.unfinished:
                break
            self.clock.sleep(0.05)
            transcript = self._transcript(path)
        if turn.message is None and not transcript.message.strip():
            self._unheard(turn, transcript.status)
        if turn.message is None and transcript.status in _UNREAD:
            return self._unread(turn, transcript.status)
        message = redact_text(transcript.message if turn.message is None else turn.message)[0]
        state = self.store.project("evidence", session)
        evidence = replace(self.turn(session, state), usual=self._usual_checks(os.path.join(self._here, turn.cwd)))
        holes = self._holes(session, state, transcript.tool_uses, evidence.decided)
        faults = self._final_faults(message, evidence.contract, session)
        judged = judge_turn(
            find_claims(message),
            evidence,
            settings,
            GateState.of(state),
            holes=holes if settings.coverage != "off" else (),
            stop_hook_active=turn.stop_hook_active,
            faults=faults if settings.final_block == "enforce" else (),
            admitted=admits(message),
        )
        enforced = settings.mode == "enforce"
        signed = [
            self.store.append(session, EntryKind.VALIDATOR_PASS, proof_record(claims, proof)).seq
            for proof, claims in judged.proven()
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
            for proof in _handed_up(judged, evidence):
                self.store.append(parent, EntryKind.VALIDATOR_PASS, {**proof, "child": session})
        if enforced and judged.result is GateResult.REFUSED:
            return Answer(allowed=False, reason=judged.reason, guard="evidence")
        return Answer()

    def turn(self, session: str, state: Mapping[str, Any]) -> "TurnEvidence":
        """The present turn of a session, from the log."""
        from verdikt.evidence.turn import read_turn

        entries = self.store.entries(session, since=state["turn"])
        turn = read_turn(entries, best=state["best"], trusted=self._vouched)
        if (asked := self._first_asked(session, state["contract"])) and asked < state["turn"]:
            before = (entry for entry in self.store.entries(session, since=asked) if entry.seq <= state["turn"])
            turn = replace(turn, earlier=read_turn(before).calls)
        looked = [*(one.tree[0] for one in turn.passes), *(call.tree[0] for call in turn.calls)]
        roots = list(dict.fromkeys(root for root in reversed(looked) if root))[:ROOTS]
        trees = {root: tree for root in roots if (tree := self._tree(root)) and tree.root == root}
        return replace(turn, trees=trees) if trees else turn

    def _first_asked(self, session: str, contract: int) -> int:
        """Where the person asked for what the present turn goes on with; 0 when it goes on with nothing."""
        first = 0
        for _ in range(_HOPS):
            entry = self.store.reader.entry(session, contract)
            before = entry.body.get("extends", 0) if entry and entry.kind is EntryKind.CONTRACT else 0
            if not isinstance(before, int) or not 0 < before < contract:
                break
            first = contract = before
        return first

    def _holes(
        self, session: str, state: Mapping[str, Any], uses: Sequence[tuple[str, str]], decided: frozenset[str]
    ) -> list[str]:
        """The tool uses of a transcript's turn that were never decided on.

        For a transcript a turn lasts until the next prompt, for the log until the agent is let go; so what is missing
        since then is looked for since the prompt.
        """
        open_uses = [(id, tool) for id, tool in uses if id and id not in decided]
        if open_uses and 0 < state["contract"] < state["turn"]:
            before = self.store.entries(session, since=state["contract"])
            known = {str(entry.body.get("call_id", "")) for entry in before if entry.kind is EntryKind.DECISION}
            open_uses = [(id, tool) for id, tool in open_uses if id not in known]
        return [f"{tool} {id}" for id, tool in open_uses]

    def validated(self, session: str, claim: str, name: str, arguments: Mapping[str, str]) -> "Proof":
        """What a validator says of an explicit claim in the present turn; a pass is signed into the log."""
        from verdikt.evidence.validator import validate

        state = self.store.project("evidence", session)
        proof = validate(name, claim, arguments, self.turn(session, state), self.settings.validators)
        if proof.holds:
            body = {"claim": claim, "explicit": True, **proof.record()}
            return replace(proof, signed=self.store.append(session, EntryKind.VALIDATOR_PASS, body).seq)
        return proof

    def holds(self, log: Writer, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a validator holds in the present turn."""
        from verdikt.evidence.validator import find_validator, run

        validator = find_validator(name, self.settings.validators)
        evidence = self.turn(log.session, log.project("evidence"))
        given = {key: str(value) for key, value in arguments.items()}
        return validator is not None and run(validator, given, evidence).holds

    def first_failure(self, turn: Turn) -> bool:
        """Whether a failure of the gate has not yet held this turn up; a prompt begins another."""
        from verdikt.observe.breach import DAY, first_since

        now = self.clock.now()
        try:
            return first_since(self.store.home / GATE_CRASHES, turn.session_id, now, now - DAY)
        except OSError:
            return False

    def crashed(self, hook: str) -> None:
        """Makes it known when a hook crashes again and again."""
        from verdikt.observe.crashes import note_crashes

        now = SystemClock().now()  # the crash file is written by the machine's clock
        note_crashes(self.store.home, hook, now, threshold=self.settings.crashes_per_hour, **self._places())

    def _unheard(self, turn: Turn, status: str) -> None:
        """Leaves a line about a stop at which the transcript gave no words."""
        from verdikt.ledger.extraction import record_extraction

        record_extraction(
            self.store.home,
            session=turn.session_id,
            status=status,
            text_empty=True,
            transcript=turn.transcript_path,
            now=self.clock.now(),
        )

    def seen(self, where: str, see: Callable[[str], T], otherwise: T) -> T:
        """What is at a path, seen with the rights of whoever asks; `otherwise` when it is not for them."""
        try:
            with self._look(where):
                return see(where)
        except PermissionError:
            return otherwise

    def _digest(self, path: str) -> str:
        from verdikt.observe.content import file_digest

        return self.seen(os.path.join(self._here, path), file_digest, "")

    def _tree(self, where: str) -> "SourceTree | None":
        from verdikt.observe.tree import source_tree

        return self.seen(where, partial(source_tree, env=self.env), None)

    def _transcript(self, path: str) -> "Transcript":
        from verdikt.observe.transcript import Transcript, read_transcript

        return self.seen(path, read_transcript, Transcript("unreadable"))

    def _usual_checks(self, where: str) -> dict[str, str]:
        from verdikt.observe.checks import usual_checks

        return self.seen(where, partial(usual_checks, home=self.env.get("HOME", "")), {})

    def _places(self) -> dict[str, str]:
        """Where somebody is told of what happens again and again."""
        wanted = self.settings
        return {"memory": expand(wanted.memory, self.env), "notices": expand(wanted.notices, self.env)}

    def _unread(self, turn: Turn, status: str) -> Answer:
        """A transcript that is there and says nothing that can be read: what was claimed cannot be known."""
        enforced = self.settings.mode == "enforce" and not turn.stop_hook_active
        body = {"by": "evidence", "result": "unread", "parse_status": status, "enforced": enforced}
        self.store.append(turn.session_id, EntryKind.COMPLETION, body)
        if not enforced:
            return Answer()
        reason = (
            f"the transcript {_UNREAD[status]} ({status}), so what this turn claims cannot be checked\n"
            "Instead: say what was done and what was not verified; a person should run `verdikt doctor`"
        )
        return Answer(allowed=False, reason=reason, guard="evidence")

    def _final_faults(self, message: str, contract: Any, session: str) -> tuple[str, ...]:
        """What is wrong with the fenced final block, where one is asked for."""
        if self.settings.final_block == "off":
            return ()
        from verdikt.evidence.final import final_faults

        return final_faults(message, self.settings.final_name, contract, self._signed(session))

    def _signed(self, session: str) -> "Signed":
        def signed(seq: int) -> Mapping[str, Any] | None:
            entry = self.store.reader.entry(session, seq)
            if entry is None or entry.kind is not EntryKind.VALIDATOR_PASS or not self._vouched(entry):
                return None
            calls = [self.store.reader.entry(session, one) for one in entry.body.get("entries", ())]
            streams = [stream for call in calls if call for stream in call.body.get("streams", {}).values()]
            hashes = {entry.hash, *(call.hash for call in calls if call), *(stream["sha256"] for stream in streams)}
            return {**entry.body, "hashes": hashes}

        return signed

    def _vouched(self, entry: Entry) -> bool:
        """Whether an entry's signature is by a key of ours."""
        return bool(entry.sig) and self.store.keyring.check(entry.kid, entry.hash, entry.sig, entry.ts) is None


def _handed_up(judged: "GateJudgement", evidence: "TurnEvidence") -> list[dict[str, Any]]:
    """What a sub-agent proved, for its parent to rest on, with the sources that it is about."""
    if judged.result.value != "proven":
        return []
    known = {call.seq: call.tree for call in evidence.calls if call.tree[0]}
    found = []
    for claim, proof in judged.proofs:
        root, digest = next((known[seq] for seq in proof.entries if seq in known), ("", ""))
        body = {"claim": claim.type.value, "explicit": True, **proof.record(), "entries": []}
        found.append(body | ({"tree": {"root": root, "sha256": digest}} if root else {}))
    return found
