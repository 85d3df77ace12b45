"""Load a turn from the log, with its source trees as they are now. The I/O behind `TurnEvidence`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from verdikt.ledger.files import FileStore
from verdikt.model.entry import Entry, EntryKind
from verdikt.turns.facts import Snapshot
from verdikt.turns.observer import TurnObserver, summarize_trees
from verdikt.turns.turn import TurnEvidence, find_first_request, read_turn

MAX_ROOTS = 3
"""Projects of one turn whose source trees are hashed when it ends."""


class TurnLoader:
    """Load what the log has of a session's current turn. `state` is the session's projection `evidence`."""

    def __init__(self, store: FileStore, observer: TurnObserver) -> None:
        self._store = store
        self._observer = observer

    def load_turn(self, session: str, state: Mapping[str, Any]) -> TurnEvidence:
        """Return the evidence of the current turn."""
        entries = self._store.read_entries(session, since=state["turn"])
        turn = read_turn(entries, best_test_counts=state["best"], is_trusted=self.has_valid_signature)
        first_request = self._find_first_request(session, state)
        # A continued request may be proven by calls of the turns before this one.
        if first_request and first_request < state["turn"]:
            earlier = self._store.read_entries(session, since=first_request)
            turn = replace(turn, earlier=read_turn(entry for entry in earlier if entry.seq <= state["turn"]).calls)
        roots = [*(checked.tree[0] for checked in turn.validator_passes), *(call.tree[0] for call in turn.calls)]
        newest_roots = list(dict.fromkeys(root for root in reversed(roots) if root))[:MAX_ROOTS]
        trees = [tree for root in newest_roots if (tree := self._observer.read_tree(root)) and tree.root == root]
        return replace(turn, trees=summarize_trees(trees)) if trees else turn

    def load_last_request(self, session: str, state: Mapping[str, Any]) -> tuple[TurnEvidence, bool]:
        """Return the turn of the newest request, and whether it is the current one and not one that has ended."""
        turn = self.load_turn(session, state)
        if turn.contract is not None or not 0 < state["contract"] <= state["turn"]:
            return turn, True
        return self.load_turn(session, {**state, "turn": state["contract"] - 1}), False

    def load_baseline(self, session: str, state: Mapping[str, Any]) -> Snapshot | None:
        """Return the work tree as it was when the current request was made; None when it is not known."""
        first_request = self._find_first_request(session, state) if state["open"] else 0
        request = self._store.reader.read_entry(session, first_request) if first_request else None
        seq = (request.body.get("snapshot") if request else 0) or state["baseline"] or state["turn"]
        entry = self._store.reader.read_entry(session, seq) if seq else None
        if entry is None:
            return None
        # Without a prompt since then, the turn began where the one before it ended.
        body = entry.body if entry.kind is EntryKind.SNAPSHOT else entry.body.get("snapshot")
        return Snapshot.from_record(body, entry.seq) if isinstance(body, Mapping) else None

    def find_undecided_calls(
        self, session: str, state: Mapping[str, Any], tool_uses: Sequence[tuple[str, str]], turn: TurnEvidence
    ) -> list[str]:
        """Return the tool uses (id, tool) of the transcript's turn for which the log has no decision."""
        undecided = [(id, tool) for id, tool in tool_uses if id and id not in turn.decision_call_ids]
        # A transcript's turn starts at the last prompt, the log's turn at the last stop that was allowed: calls between
        # the two are in the transcript's turn only, so the log is searched from the prompt on.
        if undecided and 0 < state["contract"] < state["turn"]:
            entries = self._store.read_entries(session, since=state["contract"])
            known = {str(entry.body.get("call_id", "")) for entry in entries if entry.kind is EntryKind.DECISION}
            undecided = [(id, tool) for id, tool in undecided if id not in known]
        return [f"{tool} {id}" for id, tool in undecided]

    def has_valid_signature(self, entry: Entry) -> bool:
        """Return whether an entry is signed by a key of this store's key ring."""
        keyring = self._store.keyring
        return bool(entry.sig) and keyring.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is None

    def _find_first_request(self, session: str, state: Mapping[str, Any]) -> int:
        return find_first_request(state["contract"], lambda seq: self._store.reader.read_entry(session, seq))
