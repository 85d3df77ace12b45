"""Storing lines, each exactly once: the heads of their chains are locked, compared and advanced in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard
from sqlalchemy import BigInteger, Integer, LargeBinary, SmallInteger, Text, select

from verdikt.errors import ServiceError
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import GENESIS_HASH, EntryKind
from verdikt.model.session_state import CANARY_SESSION
from verdikt.model.verdict import VerdictKind
from verdikt.serve import schema
from verdikt.serve.ingest_statements import (
    ADVANCE_CHAIN,
    COUNTERS,
    LOCK_CHAINS,
    build_chain_insert,
    build_tally_insert,
)
from verdikt.serve.insertion import insert_for
from verdikt.serve.partitions import DAY_MICROSECONDS, ensure_partitions
from verdikt.team.chain_extension import Continuation, extend_chain, find_overlap_seq
from verdikt.team.index_row import IndexRow, build_index_row, read_objective, read_place

if TYPE_CHECKING:
    from sqlalchemy import Column, Connection, Table

    from verdikt.serve.database import Database
    from verdikt.team.wire import ReceivedLine, Stretch

HOUR_MICROSECONDS = 3_600_000_000
MAX_KNOWN_CHAINS = 100_000
_GENESIS = bytes.fromhex(GENESIS_HASH)
_ENTRY_COLUMNS = [column for column in schema.entry.columns if column.name != "n"]
_SEGMENT_COLUMNS = list(schema.segment.columns)
_COPY_TYPES = {SmallInteger: "int2", Integer: "int4", BigInteger: "int8", LargeBinary: "bytea", Text: "text"}
"""Type of a column → its name in PostgreSQL, in which COPY has to be told what it gets."""


class Submission(NamedTuple):
    """What one machine sent: an organisation, the machine in it, and a stretch of one of its sessions."""

    organisation: int
    machine: int
    stretch: Stretch


class IngestResult(NamedTuple):
    """What became of a submission, and the head that is stored now."""

    continuation: Continuation
    head: ChainHead
    generation: int
    chain: int


@dataclass(slots=True)
class _LockedChain:
    """A chain whose row is locked, with what this transaction adds to it."""

    id: int
    organisation: int
    machine: int
    session: str
    generation: int
    head: ChainHead
    row: dict[str, Any]
    new_hashes: dict[int, str] = field(default_factory=dict)


class Ingest:
    """Writes submissions of many machines in one transaction each call; safe for threads."""

    def __init__(self, database: Database, *, shard: int = 0) -> None:
        self._database = database
        self._shard = shard
        self._forget()

    def _forget(self) -> None:
        """Take nothing for granted that is in the database, because it may be another one now, such as a copy."""
        # Words never change, so an outdated copy only lacks some.
        self._words: dict[str, int] = {}
        # Chains that are there; as none is removed, an outdated copy only lacks some.
        self._known_chains: set[tuple[int, str]] = set()
        # Until then there is a partition for what arrives. SQLite has none.
        self._partitioned_until = 0

    def store(self, submissions: Sequence[Submission], now: int) -> list[IngestResult]:
        """Store what is new of each submission, and return what became of it once it is committed."""
        rows = {
            id(line): build_index_row(line.fields, line.index) for item in submissions for line in item.stretch.lines
        }
        while True:
            try:
                results = self._try_to_store(submissions, rows, now)
            except ServiceError:
                self._forget()
                raise
            if results is not None:
                return results
            self._forget()

    def _try_to_store(
        self, submissions: Sequence[Submission], rows: dict[int, IndexRow], now: int
    ) -> list[IngestResult] | None:
        """Store submissions; return None when chains are missing that were there before."""
        words = self._learn_words(rows.values())
        keys = {(item.machine, item.stretch.session): item.organisation for item in submissions}
        self._create_partitions(now)
        self._create_chains(keys, now)
        with self._database.begin_ingest() as connection:
            writer = _Transaction(connection, self._database, words, self._shard, now)
            chains = writer.lock_chains(list(keys))
            if len(chains) != len(keys):
                return None
            results = [
                writer.add_stretch(chains, (item.machine, item.stretch.session), item.stretch, rows)
                for item in submissions
            ]
            writer.write()
            return results

    def _create_partitions(self, now: int) -> None:
        """Create the partitions of a month that begins, in a transaction of its own, by the owner of the tables."""
        if self._database.is_postgresql and now >= self._partitioned_until:
            self._partitioned_until = ensure_partitions(self._database, now)

    def _create_chains(self, keys: dict[tuple[int, str], int], now: int) -> None:
        """Create the chains that may be missing, in a transaction of its own.

        One that held locks and waited for another's new row could be waited for by that other in turn.
        """
        unknown = [key for key in keys if key not in self._known_chains]
        if not unknown:
            return
        with self._database.begin_ingest() as connection:
            insert_chains(connection, self._database, [(keys[key], *key, 0) for key in unknown], now)
        if len(self._known_chains) > MAX_KNOWN_CHAINS:
            self._known_chains.clear()
        self._known_chains.update(unknown)

    def _learn_words(self, rows: Iterable[IndexRow]) -> dict[str, int]:
        """Return the numbers of words; new ones get theirs in a transaction of its own: no head is locked meanwhile."""
        words = self._words
        needed = {text for row in rows for text in (row.guard, row.tool, row.effect, row.host)} - words.keys()
        if not needed:
            return words
        with self._database.begin_ingest() as connection:
            table = schema.word
            # In one order everywhere, or two replicas could wait for each other.
            connection.execute(
                insert_for(self._database, table).on_conflict_do_nothing(), [{"text": text} for text in sorted(needed)]
            )
            numbered_words = connection.execute(select(table.c.text, table.c.id).where(table.c.text.in_(needed)))
            words |= {str(text): int(number) for text, number in numbered_words}
        return words


class _Transaction:
    """The changes of one transaction: collected line by line, written at its end."""

    def __init__(self, connection: Connection, database: Database, words: dict[str, int], shard: int, now: int) -> None:
        self._connection = connection
        self._database = database
        self._words = words
        self._shard = shard
        self._now = now
        self._day = now // DAY_MICROSECONDS
        self._compressor = zstandard.ZstdCompressor(level=3)
        self._entries: list[tuple[Any, ...]] = []
        self._segments: list[tuple[Any, ...]] = []
        self._forks: list[dict[str, Any]] = []
        self._tallies: Counter[tuple[int, int, int, int]] = Counter()
        self._changed: dict[int, _LockedChain] = {}

    def lock_chains(self, keys: list[tuple[int, str]]) -> dict[tuple[int, str], _LockedChain]:
        """Return the newest generation of each chain that exists, locked in the order of their ids."""
        chains = self._select_chains(keys)
        if any(chain.row["forked"] for chain in chains.values()):
            # While this transaction waited for the lock, another may have begun a new generation, which only a second
            # statement sees.
            chains = self._select_chains(keys)
        return chains

    def _select_chains(self, keys: list[tuple[int, str]]) -> dict[tuple[int, str], _LockedChain]:
        chains: dict[tuple[int, str], _LockedChain] = {}
        for row in self._connection.execute(LOCK_CHAINS, {"keys": keys}).mappings():
            chain = _LockedChain(
                row["id"],
                row["organisation"],
                row["machine"],
                row["session"],
                row["generation"],
                ChainHead(row["seq"], row["hash"].hex()),
                dict(row),
            )
            earlier = chains.get((chain.machine, chain.session))
            if earlier is None or earlier.generation < chain.generation:
                chains[(chain.machine, chain.session)] = chain
        return chains

    def add_stretch(
        self,
        chains: dict[tuple[int, str], _LockedChain],
        key: tuple[int, str],
        stretch: Stretch,
        rows: dict[int, IndexRow],
    ) -> IngestResult:
        """Collect what is new of a stretch, and return what became of it."""
        chain = chains[key]
        seq = find_overlap_seq(chain.head, stretch)
        extension = extend_chain(chain.head, stretch, self._read_hash(chain, seq))
        if extension.continuation is Continuation.EXTENDS:
            self._append(chain, extension.new_lines, rows)
        elif extension.continuation is Continuation.FORKS:
            chains[key] = self._record_fork(chain, stretch, extension.fork_seq)
        return IngestResult(extension.continuation, chains[key].head, chains[key].generation, chains[key].id)

    def _read_hash(self, chain: _LockedChain, seq: int) -> str:
        """Return the stored hash of an entry, this transaction's own included."""
        if not seq:
            return ""
        if seq == chain.head.seq:
            return chain.head.hash
        if seq in chain.new_hashes:
            return chain.new_hashes[seq]
        table = schema.entry
        stored = self._connection.execute(
            select(table.c.hash).where(table.c.chain == chain.id, table.c.seq == seq)
        ).scalar()
        return stored.hex() if stored else ""

    def _append(self, chain: _LockedChain, lines: Sequence[ReceivedLine], rows: dict[int, IndexRow]) -> None:
        for line in lines:
            row = rows[id(line)]
            chain.new_hashes[row.seq] = row.hash
            self._entries.append(self._to_entry(chain, row))
            self._count(chain, row, line)
        data = b"".join(line.line for line in lines)
        first, last = lines[0].seq, lines[-1].seq
        self._segments.append((chain.id, first, last, self._now, self._compressor.compress(data)))
        chain.head = ChainHead(last, lines[-1].hash)
        self._changed[chain.id] = chain

    def _to_entry(self, chain: _LockedChain, row: IndexRow) -> tuple[Any, ...]:
        """Return the values of `_ENTRY_COLUMNS`."""
        words = self._words
        return (
            chain.organisation,
            chain.id,
            row.seq,
            row.ts,
            row.kind,
            row.verdict,
            words[row.guard],
            row.effect_class,
            words[row.tool],
            words[row.effect],
            words[row.host],
            bytes.fromhex(row.hash),
            row.summary,
            bytes.fromhex(row.shape),
            self._day,
        )

    def _count(self, chain: _LockedChain, row: IndexRow, line: ReceivedLine) -> None:
        """Add one entry to the counters of its chain and of its hour."""
        counters = chain.row
        counters["first_ts"] = counters["first_ts"] or row.ts
        counters["last_ts"] = max(counters["last_ts"], row.ts)
        if line.is_signed:
            counters["signed_seq"] = row.seq
        if row.verdict is not None:
            counters["decisions"] += 1
            counters["asks"] += row.verdict == VerdictKind.ASK
            counters["blocks"] += row.verdict == VerdictKind.BLOCK
            hour = row.ts // HOUR_MICROSECONDS
            # A canary that was blocked is doctor's doing; one that was not must be seen.
            if chain.session != CANARY_SESSION or row.verdict != VerdictKind.BLOCK:
                self._tallies[(chain.organisation, hour, row.verdict, self._words[row.guard])] += 1
            if not counters["directory"]:
                counters["host"], counters["directory"] = read_place(line.fields)
        counters["title"] = counters["title"] or read_objective(line.fields)
        counters["claims"] += line.fields["kind"] == EntryKind.COMPLETION
        counters["proofs"] += line.fields["kind"] == EntryKind.VALIDATOR_PASS

    def _record_fork(self, chain: _LockedChain, stretch: Stretch, seq: int) -> _LockedChain:
        """Keep the lines that contradict the chain as evidence; return the chain as which the session goes on."""
        data = b"".join(line.line for line in stretch.lines)
        self._forks.append(
            {
                "chain": chain.id,
                "seq": seq,
                "hash": bytes.fromhex(stretch.head.hash),
                "received": self._now,
                "body": self._compressor.compress(data),
            }
        )
        chain.row["forked"] = True
        self._changed[chain.id] = chain
        key = (chain.machine, chain.session)
        # The lock on this generation keeps others from making the next one.
        insert_chains(self._connection, self._database, [(chain.organisation, *key, chain.generation + 1)], self._now)
        return self._select_chains([key])[key]

    def write(self) -> None:
        """Write everything that was collected."""
        if self._database.is_postgresql:
            self._copy(schema.entry, _ENTRY_COLUMNS, self._entries)
            self._copy(schema.segment, _SEGMENT_COLUMNS, self._segments)
        else:
            self._insert_many(schema.entry, _ENTRY_COLUMNS, self._entries)
            self._insert_many(schema.segment, _SEGMENT_COLUMNS, self._segments)
        if self._forks:
            self._connection.execute(insert_for(self._database, schema.fork).on_conflict_do_nothing(), self._forks)
        self._update_chains()
        self._write_tallies()

    def _update_chains(self) -> None:
        if not self._changed:
            return
        rows = [
            {
                "chain_id": chain.id,
                "seq": chain.head.seq,
                "hash": bytes.fromhex(chain.head.hash),
                "received": self._now,
                **{name: chain.row[name] for name in COUNTERS},
            }
            for chain in self._changed.values()
        ]
        # One statement for all, of which the driver sends many at once.
        self._connection.execute(ADVANCE_CHAIN, rows)

    def _write_tallies(self) -> None:
        if not self._tallies:
            return
        names = ("organisation", "hour", "verdict", "guard")
        rows = [
            {**dict(zip(names, key, strict=True)), "shard": self._shard, "count": count}
            for key, count in sorted(self._tallies.items())
        ]
        self._connection.execute(build_tally_insert(self._database.is_postgresql), rows)

    def _copy(self, table: Table, columns: list[Column[Any]], rows: list[tuple[Any, ...]]) -> None:
        """Write rows with COPY, which is several times faster than INSERT, and in binary twice as fast again."""
        if not rows:
            return
        driver_connection = self._connection.connection.driver_connection
        assert driver_connection is not None
        with (
            driver_connection.cursor() as cursor,
            cursor.copy(f'COPY "{table.name}" ({_list_names(columns)}) FROM STDIN (FORMAT BINARY)') as copy,
        ):
            copy.set_types([_COPY_TYPES[type(column.type)] for column in columns])
            for row in rows:
                copy.write_row(row)

    def _insert_many(self, table: Table, columns: list[Column[Any]], rows: list[tuple[Any, ...]]) -> None:
        if not rows:
            return
        marks = ", ".join("?" * len(columns))
        # The driver's own statement: building one dictionary per row would cost more than storing it.
        self._connection.exec_driver_sql(f'INSERT INTO "{table.name}" ({_list_names(columns)}) VALUES ({marks})', rows)


def _list_names(columns: list[Column[Any]]) -> str:
    return ", ".join(f'"{column.name}"' for column in columns)


def insert_chains(connection: Connection, database: Database, keys: list[tuple[int, int, str, int]], now: int) -> None:
    """Create the chains that are not there: (organisation, machine, session, generation), with nothing in them."""
    rows = [
        {
            "organisation": organisation,
            "machine": machine,
            "session": session,
            "generation": generation,
            "hash": _GENESIS,
            "received": now,
        }
        for organisation, machine, session, generation in sorted(keys)
    ]
    connection.execute(build_chain_insert(database.is_postgresql), rows)
