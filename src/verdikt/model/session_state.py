"""The state that a session carries from one action to the next: its counters, its history and guidance's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verdikt.model.canonical_json import sha256_hex
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.verdict import Verdict

# Bounded, so that a decision costs the same after a hundred thousand actions.
MAX_HISTORY = 32
"""Number of actions in a session's history."""

RISK_DECAY_FACTOR = 0.8
"""Share of a session's risk that is left at its next action: legitimate probing must not end in a standstill."""

CANARY_SESSION = "verdikt-doctor"
"""The session of all canary calls; no agent has it, and no view shows what was blocked in it unless asked."""

_VERDICT_WORDS = tuple(kind.word for kind in VerdictKind)


@dataclass(slots=True)
class SessionState:
    """What a session has done so far. `history` holds the newest actions only, oldest first."""

    session_id: str = "default"
    action_count: int = 0
    block_count: int = 0
    consecutive_blocks: int = 0
    risk: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    slots: dict[str, Any] = field(default_factory=dict)
    """Guards' own counters, stored with the session: plain data only."""

    @classmethod
    def from_log(cls, session_id: str, fields: Mapping[str, Any]) -> SessionState:
        """Return an independent copy of the state that the log holds of a session."""
        state = cls(session_id, **fields)
        state.history = state.history.copy()
        state.slots = deepcopy(state.slots) if state.slots else {}
        return state

    def copy(self) -> SessionState:
        """Return an independent copy. Entries of `history` are shared, because they are replaced and never changed."""
        return SessionState(
            self.session_id,
            self.action_count,
            self.block_count,
            self.consecutive_blocks,
            self.risk,
            self.history.copy(),
            deepcopy(self.slots) if self.slots else {},
        )


def make_history_entry(action: Action) -> dict[str, Any]:
    """Return the history entry of an action: no command and no content, which may hold secrets."""
    tool, call_id = str(action.tool)[:200], str(action.call_id)[:200]
    return {"kind": str(action.kind), "tool": tool, "path": action.path[:400], "call_id": call_id}


def record_verdict(session: SessionState, action: Action, verdict: Verdict, risk_score: float) -> None:
    """Count a verdict in the session and append it to the history. `success` is None until the outcome is known."""
    session.risk = risk_score
    if verdict.kind is VerdictKind.BLOCK:
        session.block_count += 1
        session.consecutive_blocks += 1
    else:
        session.consecutive_blocks = 0
    entry = make_history_entry(action)
    entry["verdict"], entry["guard"], entry["success"] = _VERDICT_WORDS[verdict.kind], verdict.guard, None
    session.history.append(entry)
    if len(session.history) > MAX_HISTORY:
        del session.history[:-MAX_HISTORY]


def find_pending_entry(history: list[dict[str, Any]], action: Action) -> int | None:
    """Return the index of the newest entry of this action whose outcome is not known yet, or None."""
    expected = make_history_entry(action)
    for index in range(len(history) - 1, -1, -1):
        entry = history[index]
        if entry["success"] is None and all(entry[key] == value for key, value in expected.items()):
            return index
    return None


# Guidance's memory: small values and marks under keys, stored in the log.

# Bounded like the history; the oldest marks are dropped first.
MAX_MARKS = 256
"""Number of marks that a session keeps."""

MARK_PREFIX = "~"
"""First character of a mark's key, which distinguishes it from the key of a value."""

_MAX_KEY_LENGTH = 40


class Memory:
    """A session's values and marks before this call, and the `changes` that this call adds for the log.

    Values stay for the whole session, so there must be few of them. Marks are short words of which there may be any
    number, and the oldest are dropped: store as a mark only what is harmless to forget.
    """

    __slots__ = ("_stored", "changes")

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        self._stored = stored if stored is not None else {}
        self.changes: dict[str, Any] = {}

    def get(self, *key: str) -> Any:
        """Return the value under a key, or None."""
        return self._get_value(value_key(*key))

    def keep(self, value: Any, *key: str) -> None:
        """Store plain data under a key; None deletes it."""
        self.changes[value_key(*key)] = value

    def get_mark(self, *key: str) -> str:
        """Return the mark under a key; empty when there is none or it was dropped."""
        return str(self._get_value(mark_key(*key)) or "")

    def set_mark(self, word: str, *key: str) -> None:
        """Store a mark, a word without spaces, under a key."""
        self.changes[mark_key(*key)] = word

    def _get_value(self, name: str) -> Any:
        return self.changes[name] if name in self.changes else self._stored.get(name)


MEMORY_SCOPES = ("session", "project", "user")
"""How long a tool policy remembers."""

_SHARED_MARK = "@"


def to_shared_key(scope: str, key: str) -> str:
    """Return the key under which a session finds a value of a shared memory."""
    return f"{_SHARED_MARK}{scope}|{key}"


def split_shared_key(key: str) -> tuple[str, str]:
    """Return the scope and the key within it; an empty scope for a key of the session itself."""
    if not key.startswith(_SHARED_MARK):
        return "", key
    scope, _, inner_key = key[1:].partition("|")
    return (scope, inner_key) if scope in MEMORY_SCOPES[1:] else ("", key)


def value_key(*parts: str) -> str:
    """Return the key of a value: of bounded length, and different for different parts."""
    name = "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
    is_plain = len(name) <= _MAX_KEY_LENGTH and not name.startswith(MARK_PREFIX)
    return name if is_plain else f"{parts[0][:16].lstrip(MARK_PREFIX)}#{_hash_text(name)[:24]}"


def mark_key(*parts: str) -> str:
    """Return the key of a mark."""
    return MARK_PREFIX + _hash_text(value_key(*parts))[:12]


def _hash_text(text: str) -> str:
    return sha256_hex(text.encode("utf-8", "surrogatepass"))


class StoredMemory(Mapping[str, Any]):
    """The values and marks that the projection `memory` holds, loaded at the first access.

    Keys of a shared memory are answered by `load_shared`, given its scope.
    """

    def __init__(
        self,
        load_state: Callable[[], Mapping[str, Any]],
        load_shared: Callable[[str], Mapping[str, Any]] | None = None,
    ) -> None:
        self._load_state = load_state
        self._load_shared = load_shared

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self._load_state().get("kept", {})
        return values

    @cached_property
    def _marks(self) -> str:
        return str(self._load_state().get("marks", ""))

    def __getitem__(self, key: str) -> Any:
        if self._load_shared is not None and key.startswith(_SHARED_MARK):
            scope, inner_key = split_shared_key(key)
            return self._load_shared(scope)[inner_key] if scope else self._values[key]
        value = self._find_mark(key) if key.startswith(MARK_PREFIX) else self._values.get(key)
        if value is None:
            raise KeyError(key)
        # The state outlives the call in a warm process: a policy that changes a list it got must not change the state.
        return deepcopy(value) if isinstance(value, dict | list) else value

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value under a key. Every decision asks for several, and nearly always there is none."""
        if key[0] in (_SHARED_MARK, MARK_PREFIX):
            return super().get(key, default)
        value = self._values.get(key)
        if value is None:
            return default
        return deepcopy(value) if isinstance(value, dict | list) else value

    def __iter__(self) -> Iterator[str]:
        yield from self._values
        yield from (mark.partition("=")[0] for mark in self._marks.split())

    def __len__(self) -> int:
        return len(self._values) + len(self._marks.split())

    def _find_mark(self, key: str) -> str | None:
        start = f" {self._marks}".find(f" {key}=")
        return self._marks[start:].split(" ", 1)[0].partition("=")[2] if start >= 0 else None


def fold_changes(state: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the memory's state after an entry with these changes."""
    values = dict(state.get("kept", {}))
    # All marks are one string, the newest last: appending and encoding it is cheaper than a mapping of 256 keys.
    marks = str(state.get("marks", ""))
    for key, value in changes.items():
        if key.startswith(MARK_PREFIX):
            marks = _update_mark(marks, key, value)
        elif value is None:
            values.pop(key, None)
        else:
            values[key] = value
    return {"kept": values, "marks": marks}


def _update_mark(marks: str, key: str, word: Any) -> str:
    start = f" {marks}".find(f" {key}=")
    if start >= 0:
        end = marks.find(" ", start)
        marks = marks[:start] + (marks[end + 1 :] if end >= 0 else "")
    marks = marks.strip()
    if isinstance(word, str) and word and not word.isspace():
        marks = f"{marks} {key}={''.join(word.split())}".strip()
    if marks.count(" ") >= MAX_MARKS:
        marks = marks.partition(" ")[2]
    return marks
