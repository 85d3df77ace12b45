"""The statements by which lines are stored, each built once: building one costs as much as running it."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Boolean, Integer, Text, bindparam, literal_column, select, tuple_, update

from verdikt.serve import schema
from verdikt.serve.insertion import insert_in

COUNTERS = tuple("signed_seq first_ts last_ts host directory title decisions asks blocks claims proofs forked".split())
"""What a chain's row says of its entries, beside its head."""

_UNUSED_COLUMNS = [schema.chain.c[name] for name in ("seq", *COUNTERS)]
_NOTHING = {BigInteger: "0", Integer: "0", Text: "''", Boolean: "false"}
"""Type of a column → what a chain without entries has there."""

LOCK_CHAINS = (
    select(schema.chain)
    .where(tuple_(schema.chain.c.machine, schema.chain.c.session).in_(bindparam("keys", expanding=True)))
    .order_by(schema.chain.c.id)
    .with_for_update()
)
ADVANCE_CHAIN = (
    update(schema.chain)
    .where(schema.chain.c.id == bindparam("chain_id"))
    .values({name: bindparam(name) for name in ("seq", "hash", "received", *COUNTERS)})
)


@cache
def build_chain_insert(is_postgresql: bool) -> Any:
    """Return the statement that creates the chains that are not there; a row says whose and which it is."""
    insert = insert_in(schema.chain, is_postgresql=is_postgresql)
    # As text of the statement: as parameters of each row they would cost more than all else of it.
    nothing: dict[str, Any] = {column.name: literal_column(_NOTHING[type(column.type)]) for column in _UNUSED_COLUMNS}
    # With something to return, all rows go in one statement.
    return insert.values(nothing).on_conflict_do_nothing().returning(schema.chain.c.id)


@cache
def build_tally_insert(is_postgresql: bool) -> Any:
    """Return the statement that adds to the counts of an hour."""
    insert = insert_in(schema.tally, is_postgresql=is_postgresql)
    key_columns = [column.name for column in schema.tally.primary_key]
    total = schema.tally.c["count"] + insert.excluded["count"]
    return insert.on_conflict_do_update(index_elements=key_columns, set_={"count": total})
