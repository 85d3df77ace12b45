"""The findings of a verification, and the witnesses that it compares a chain with."""

import enum
from typing import NamedTuple


class Corruption(enum.StrEnum):
    """The kinds of damage that verification distinguishes."""

    EDIT = "edit"  # an entry's bytes do not give its hash
    DROP = "drop"  # entries are missing in the middle or at the beginning
    SWAP = "swap"  # entries stand in another order
    INSERT = "insert"  # a line that does not belong to the chain
    TRUNCATION = "truncation"  # the end is missing, says `state.db`
    EMPTIED = "emptied"  # the file is there and holds nothing
    MISSING = "missing"  # the file is gone
    FORGERY = "forgery"  # an entry was rewritten and hashed again
    ROLLBACK = "rollback"  # an older copy stands here, says a checkpoint from elsewhere
    UNSIGNED = "unsigned"  # a kind that is always signed carries no signature
    UNKNOWN_KEY = "unknown_key"  # signed with a key that no entry introduces, or that the keyring does not hold
    BAD_SIGNATURE = "bad_signature"  # the signature does not fit
    RETIRED_KEY = "retired_key"  # signed with a key after it was rotated out
    ARTIFACT = "artifact"  # an artifact is missing or not what the entry says
    STATE = "state"  # `state.db` holds another state than the log gives
    NO_HEAD = "no_head"  # nothing outside the chain says where it should end
    NOT_INTRODUCED = "not_introduced"  # the operator's log does not know the session
    ABSENT_BODY = "absent_body"  # an entry's body was left out or erased; the chain still has its digest
    NEWER = "newer"  # written by a newer verdikt
    GAP = "gap"  # the log itself says that something was not recorded
    UNCOVERED = "uncovered"  # entries that no signature covers yet


NOTE_KINDS = frozenset({Corruption.GAP, Corruption.UNCOVERED})
"""Findings that are reported and do not mean that the log is damaged."""


class AuditFinding(NamedTuple):
    """One finding: its kind, the session, the entry (0: the session as a whole), and a message."""

    kind: Corruption
    session: str
    seq: int
    message: str

    @property
    def is_note(self) -> bool:
        """Return whether the log is intact in spite of this finding."""
        return self.kind in NOTE_KINDS


class Witness(NamedTuple):
    """A statement that entry `seq` of a session had this hash; `source` says where the statement comes from."""

    session: str
    seq: int
    hash: str
    source: str = "`state.db`"
    is_external: bool = False
    """Whether the statement is stored where it cannot be rolled back together with the log."""
