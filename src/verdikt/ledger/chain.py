"""Examining a chain, and telling what was done to one that does not hold. Pure."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from verdikt.ledger.fault import Corruption, Fault, Witness
from verdikt.ledger.link import LOST, REWRITTEN
from verdikt.ledger.store import Head
from verdikt.model.entry import KINDS, SIGNED, VERSION, EntryKind, unseal
from verdikt.model.value import Record, Value, field

SignatureCheck = Callable[[str, str, str, int], Corruption | None]
"""(kid, hash, sig, ts) → what is wrong with the signature, if anything."""


class Examination(Record):
    """What an examination of one session found, and how far the log reaches."""

    session: str
    head: Head = field(default_factory=Head)
    entries: int = 0
    signed: int = 0
    covered: int = 0
    """The last entry that a good signature covers, by itself or through a later one."""
    faults: list[Fault] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether there was something to examine and nothing was wrong with it."""
        return self.entries > 0 and all(fault.note for fault in self.faults)

    def fault(self, kind: Corruption, seq: int, message: str) -> None:
        """Adds one."""
        self.faults.append(Fault(kind, self.session, seq, message))


def examine(
    read: Callable[[], Iterable[bytes]],
    *,
    session: str,
    start: Head = Head(),  # noqa: B008 - a frozen value
    witnesses: Sequence[Witness] = (),
    check: SignatureCheck | None = None,
    visit: Callable[[dict[str, Any]], None] | None = None,
) -> Examination:
    """Everything that is wrong with a session's lines. `read` gives them from the first, and again when damage is found.

    `start` is where the first entry must link to; `witnesses` say which hashes were seen before; `visit` sees each entry
    that belongs to the chain.
    """
    walk = _Walk(session, start, witnesses, check, visit)
    if not walk.straight(read()):
        walk = _Walk(session, start, witnesses, check, visit)
        walk.crooked([_node(line) for line in read()])
    walk.compare()
    return walk.found


class _Node(Value):
    """One line of a damaged log: its fields when its hash holds, else what is wrong with it."""

    fields: Mapping[str, Any]
    wrong: str = ""

    @property
    def seq(self) -> int:
        seq = self.fields.get("seq")
        return seq if isinstance(seq, int) else -1

    @property
    def prev(self) -> Any:
        return self.fields.get("prev")

    @property
    def hash(self) -> Any:
        return self.fields.get("hash")


def _node(line: bytes) -> _Node:
    found = unseal(line)
    return _Node({}, found) if isinstance(found, str) else _Node(found)


class _Walk:
    """One pass over a session's lines."""

    def __init__(
        self,
        session: str,
        start: Head,
        witnesses: Sequence[Witness],
        check: SignatureCheck | None,
        visit: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self.found = Examination(session, head=start)
        self._witnesses = witnesses
        self._wanted = {witness.seq for witness in witnesses}
        self._seen: dict[int, str] = {start.seq: start.hash}
        self._reached = 0
        self._check = check
        self._visit = visit

    def straight(self, lines: Iterable[bytes]) -> bool:
        """Walks an intact chain; False as soon as it turns out not to be one."""
        head = self.found.head
        seq, prev, session = head.seq, head.hash, self.found.session
        for line in lines:
            fields = unseal(line)
            seq += 1
            if (
                isinstance(fields, str)
                or fields.get("seq") != seq
                or fields.get("prev") != prev
                or fields.get("session") != session
            ):
                return False
            self._accept(fields)
            prev = fields["hash"]
        return True

    def crooked(self, nodes: list[_Node]) -> None:
        """Walks a damaged chain and says what was done to it."""
        expected, prev = self.found.head.seq + 1, self.found.head.hash
        link: str | None = prev
        queue = deque(nodes)
        while queue:
            node = queue.popleft()
            following = queue[0] if queue else None
            if node.wrong:
                if following and following.seq == expected and following.prev == link:
                    self.found.fault(Corruption.INSERT, expected, f"a line before entry {expected} is no entry")
                    continue
                self.found.fault(Corruption.EDIT, expected, f"entry {expected}: {node.wrong}")
                self.found.entries += 1
                self._reached = expected
                expected, link = expected + 1, None
                continue
            if node.fields.get("session") != self.found.session:
                self.found.fault(
                    Corruption.INSERT,
                    expected,
                    f"an entry of session `{node.fields.get('session')}` stands before {expected}",
                )
                continue
            if node.seq > expected and (later := self._later(queue, expected)) is not None:
                self.found.fault(Corruption.SWAP, expected, f"entry {expected} stands after entry {node.seq}")
                del queue[later[0]]
                queue.appendleft(node)
                node = later[1]
            elif node.seq > expected:
                self._missing(expected, node)
                expected, link = node.seq, None
            elif node.seq < expected:
                self.found.fault(
                    Corruption.INSERT, node.seq, f"a second entry {node.seq} stands before entry {expected}"
                )
                continue
            elif following and following.seq == expected and self._impostor(node, following, queue, link):
                self.found.fault(Corruption.INSERT, expected, f"a second entry {expected} stands before the real one")
                continue
            if link is not None and node.prev != link:
                self._relinked(node, link, queue)
            self._accept(dict(node.fields))
            expected, link = node.seq + 1, node.hash

    def compare(self) -> None:
        """Holds what was found against what witnesses saw."""
        last = max(self.found.head.seq, self._reached)
        for witness in self._witnesses:
            if witness.seq > last:
                if self.found.entries == 0:
                    continue  # an empty or missing file is told by whoever opened it
                kind = Corruption.ROLLBACK if witness.outside else Corruption.TRUNCATION
                self.found.fault(
                    kind,
                    last + 1,
                    f"expected entries up to {witness.seq} as {witness.source} says, found the end after {last}",
                )
            elif self._seen.get(witness.seq, witness.hash) != witness.hash:
                self.found.fault(
                    Corruption.FORGERY,
                    witness.seq,
                    f"entry {witness.seq}: expected hash {witness.hash[:12]}… as {witness.source} says,"
                    f" found {self._seen[witness.seq][:12]}…",
                )

    @staticmethod
    def _later(queue: deque[_Node], seq: int) -> tuple[int, _Node] | None:
        return next(((at, node) for at, node in enumerate(queue) if node.seq == seq and not node.wrong), None)

    @staticmethod
    def _impostor(node: _Node, following: _Node, queue: deque[_Node], link: str | None) -> bool:
        """Whether, of two entries with one seq, the second is the one that its neighbours know."""
        after = next((other for other in queue if other.seq == node.seq + 1), None)
        if after is not None:
            return bool(after.prev == following.hash)
        return bool(node.prev != link and following.prev == link)

    def _missing(self, expected: int, node: _Node) -> None:
        span = f"entry {expected} is" if node.seq == expected + 1 else f"entries {expected}…{node.seq - 1} are"
        body = node.fields.get("body")
        if node.fields.get("kind") == EntryKind.GAP and isinstance(body, dict) and body.get("reason") == LOST:
            message = f"{span} missing: cut off before entry {node.seq} was written"
            self.found.fault(Corruption.TRUNCATION, expected, message)
        else:
            self.found.fault(Corruption.DROP, expected, f"{span} missing before entry {node.seq}")

    def _relinked(self, node: _Node, link: str, queue: deque[_Node]) -> None:
        """Of two neighbours that do not fit, the one that its other neighbour does not know either is the forged one."""
        after = queue[0] if queue else None
        before_is_forged = after is not None and after.prev == node.hash and self.found.entries > 0
        seq = node.seq - 1 if before_is_forged else node.seq
        self.found.fault(
            Corruption.FORGERY,
            seq,
            f"entry {seq} was rewritten: entry {node.seq} expected prev {str(node.prev)[:12]}…, found {link[:12]}…",
        )

    def _accept(self, fields: dict[str, Any]) -> None:
        found = self.found
        seq, hash = fields["seq"], fields["hash"]
        found.entries += 1
        found.head = Head(seq, hash)
        if seq in self._wanted:
            self._seen[seq] = hash
        if fields.get("v") != VERSION:
            found.fault(
                Corruption.NEWER, seq, f"entry {seq} has version `{fields.get('v')}`: upgrade verdikt to verify it"
            )
            return
        kind = fields.get("kind")
        if kind not in KINDS:
            found.fault(Corruption.NEWER, seq, f"entry {seq} is of kind `{kind}`: upgrade verdikt to verify it")
            return
        if fields["sig"] or fields.get("kid"):
            self._signature(fields)
        elif kind in SIGNED:
            found.fault(Corruption.UNSIGNED, seq, f"entry {seq}: expected a signature on a `{kind}`, found none")
        if kind == EntryKind.GAP:
            self._gap(seq, fields.get("body"))
        if self._visit:
            self._visit(fields)

    def _gap(self, seq: int, body: Any) -> None:
        body = body if isinstance(body, dict) else {}
        self.found.fault(
            Corruption.GAP,
            seq,
            f"entry {seq} says that something was not recorded: {body.get('reason') or body.get('error') or 'no reason given'}",
        )
        known = body.get("head")
        if isinstance(known, dict) and body.get("reason") == REWRITTEN:
            was = known.get("seq", 0)
            self.found.fault(Corruption.FORGERY, was, f"entry {was} was rewritten before entry {seq} was written")

    def _signature(self, fields: dict[str, Any]) -> None:
        seq, kid = fields["seq"], fields.get("kid")
        if self._check is None:
            return
        if not fields["sig"]:
            self.found.fault(Corruption.UNSIGNED, seq, f"entry {seq} names key `{kid}` and carries no signature")
            return
        wrong = self._check(str(kid), fields["hash"], fields["sig"], int(fields.get("ts", 0)))
        if wrong is None:
            self.found.signed += 1
            self.found.covered = seq
        else:
            words = {
                Corruption.UNKNOWN_KEY: f"is signed with key `{kid}`, which the keyring does not hold",
                Corruption.BAD_SIGNATURE: f"carries a signature that key `{kid}` did not make",
                Corruption.RETIRED_KEY: f"is signed with key `{kid}` after that key was rotated out",
            }
            self.found.fault(wrong, seq, f"entry {seq} {words[wrong]}")
