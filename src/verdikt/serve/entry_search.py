"""Queries over entries and sessions: conditions of the search box as SQL, pages by keyset and never by offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, literal_column, or_, select, text, tuple_

from verdikt.errors import WireError
from verdikt.model.session_state import CANARY_SESSION
from verdikt.model.verdict import VerdictKind
from verdikt.serve import schema
from verdikt.serve.ingest import HOUR_MICROSECONDS
from verdikt.team.index_row import CLASS_CODES, KIND_CODES, VERDICT_CODES
from verdikt.team.search_query import SearchQuery, escape_like, to_like_pattern

if TYPE_CHECKING:
    from sqlalchemy import Connection, FromClause, Label, Select, Subquery, Table

_KINDS = {code: kind for kind, code in KIND_CODES.items()}
_VERDICTS = {code: verdict for verdict, code in VERDICT_CODES.items()}
_CLASSES = {code: effect_class for effect_class, code in CLASS_CODES.items()}
_WORD_KEYS = ("guard", "tool", "effect", "host")


class EntryPage(NamedTuple):
    """Some entries, and the cursor of the page after them: empty when there is none."""

    entries: list[dict[str, Any]]
    cursor: str


class SessionPage(NamedTuple):
    """Some sessions, and the cursor of the page after them: empty when there is none."""

    sessions: list[dict[str, Any]]
    cursor: str


def search_entries(
    connection: Connection,
    organisation: int,
    query: SearchQuery,
    cursor: str,
    limit: int,
    *,
    visible: frozenset[int] | None = None,
) -> EntryPage:
    """Return a page of the entries that a query selects, newest first, of the machines that are visible."""
    if connection.dialect.name == "postgresql":
        # The page by itself, and names after: beside tables with row-level security PostgreSQL would use no index of
        # texts, and expects so few rows that it reads all entries and sorts them.
        found = _select_page(organisation, query, cursor, limit, visible)
        statement = _order_newest_first(_select_entries(None, found), found)
    else:
        entry = schema.entry
        statement = _select_entries(visible).where(*_build_conditions(organisation, query, entry))
        if "session" not in query.patterns:
            statement = statement.where(_is_no_canary())
        statement = _take_page(statement, entry, cursor, limit)
    rows = connection.execute(statement).mappings().all()
    page = rows[:limit]
    following = f"{page[-1]['ts']}.{page[-1]['n']}" if len(rows) > limit else ""
    return EntryPage([_to_record(row) for row in page], following)


def find_sessions(
    connection: Connection,
    organisation: int,
    query: SearchQuery,
    cursor: str,
    limit: int,
    *,
    visible: frozenset[int] | None = None,
) -> SessionPage:
    """Return a page of the sessions that have an entry which a query selects, the last active first."""
    chain, machine, entry = schema.chain, schema.machine, schema.entry
    statement = select(chain).where(chain.c.organisation == organisation, chain.c.seq > 0)
    if visible is not None:
        statement = statement.where(chain.c.machine.in_(visible))
    if "session" not in query.patterns:
        statement = statement.where(or_(chain.c.session != CANARY_SESSION, chain.c.decisions > chain.c.blocks))
    if _needs_entries(query):
        matching = select(entry.c.n).where(entry.c.chain == chain.c.id, *_build_conditions(organisation, query, entry))
        # With an offset it is asked of one session after the other until the page is full, and not of all at once.
        statement = statement.where(*_count_verdicts(query), exists(matching.offset(0)))
    elif query != SearchQuery():
        statement = statement.where(and_(*_build_chain_conditions(query)))
    if cursor:
        statement = statement.where(tuple_(chain.c.last_ts, chain.c.id) < tuple_(*parse_cursor(cursor)))
    # The page first and its machines' names after: joined before, PostgreSQL expects so few rows of two tables with
    # policies that it reads all sessions of every machine, and sorts them.
    page_rows = statement.order_by(chain.c.last_ts.desc(), chain.c.id.desc()).limit(limit + 1).subquery()
    named = select(page_rows, machine.c.name.label("machine_name")).join(machine, machine.c.id == page_rows.c.machine)
    rows = connection.execute(named.order_by(page_rows.c.last_ts.desc(), page_rows.c.id.desc())).mappings().all()
    page = rows[:limit]
    following = f"{page[-1]['last_ts']}.{page[-1]['id']}" if len(rows) > limit else ""
    return SessionPage([session_to_record(row) for row in page], following)


def read_index(
    connection: Connection,
    organisation: int,
    chain: int,
    since: int,
    limit: int,
    *,
    visible: frozenset[int] | None = None,
) -> list[dict[str, Any]]:
    """Return the index rows of a chain after an entry, oldest first."""
    entry = schema.entry
    statement = _select_entries(visible).where(entry.c.organisation == organisation, entry.c.chain == chain)
    statement = statement.where(entry.c.seq > since).order_by(entry.c.seq).limit(limit)
    return [_to_record(row) for row in connection.execute(statement).mappings()]


def read_arrivals(
    connection: Connection,
    organisation: int,
    position: str,
    limit: int,
    *,
    visible: frozenset[int] | None = None,
    postgresql: bool,
) -> tuple[str, list[dict[str, Any]]]:
    """Return what arrived after a position of the feed, oldest first, and the position after it."""
    entry = schema.entry
    statement = _select_entries(visible).where(entry.c.organisation == organisation, _is_no_canary()).limit(limit)
    if not postgresql:
        # SQLite has one writer, so numbers are committed in their order.
        (number,) = parse_cursor(position, parts=1)
        rows = connection.execute(statement.where(entry.c.n > number).order_by(entry.c.n)).mappings().all()
        return (str(rows[-1]["n"]) if rows else position), [_to_record(row) for row in rows]
    transaction, number = parse_cursor(position)
    # Taken first: what is before it was committed, so a later look sees all of that.
    end = int(connection.execute(text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")).scalar_one())
    xid: Label[int] = literal_column("entry.xid::text::bigint").label("xid")
    rows = (
        connection.execute(
            statement.add_columns(xid)
            .where(literal_column(f"entry.xid < '{end}'::xid8"))
            .where(literal_column(f"(entry.xid, entry.n) > ('{transaction}'::xid8, {number})"))
            .order_by(literal_column("entry.xid"), entry.c.n)
        )
        .mappings()
        .all()
    )
    # After the last one of a full page there may be more; else viewers who began at different times meet here.
    following = f"{rows[-1]['xid']}.{rows[-1]['n']}" if len(rows) == limit else f"{end}.0"
    return following, [_to_record(row) for row in rows]


def count_visible_verdicts(organisation: int, visible: frozenset[int], first_hour: int, last_hour: int) -> Select[Any]:
    """Return a query for (hour, verdict, number of decisions) of some machines."""
    entry, chain = schema.entry, schema.chain
    hour = (entry.c.ts // HOUR_MICROSECONDS).label("hour")
    first, end = first_hour * HOUR_MICROSECONDS, (last_hour + 1) * HOUR_MICROSECONDS
    return (
        select(hour, entry.c.verdict, func.count())
        .join(chain, chain.c.id == entry.c.chain)
        .where(chain.c.organisation == organisation, chain.c.machine.in_(visible), chain.c.last_ts >= first)
        .where(entry.c.verdict.is_not(None), entry.c.ts >= first, entry.c.ts < end, _is_no_canary())
        .group_by(hour, entry.c.verdict)
        .order_by(hour, entry.c.verdict)
    )


def parse_cursor(cursor: str, parts: int = 2) -> tuple[int, ...]:
    """Return the numbers of a cursor; raise `WireError` when it is none of ours."""
    numbers = cursor.split(".")
    if len(numbers) != parts or not all(number.isascii() and number.isdigit() for number in numbers):
        raise WireError("expected a cursor that this service gave, found another")
    if any(int(number) >= 2**63 for number in numbers):
        raise WireError("expected a cursor that this service gave, found another")
    return tuple(map(int, numbers))


def _select_page(
    organisation: int, query: SearchQuery, cursor: str, limit: int, visible: frozenset[int] | None
) -> Subquery:
    """Return a page of the entries that a query selects, by the view that knows the session and machine of each."""
    entry = schema.searched_entry
    statement = select(entry).where(*_build_conditions(organisation, query, entry))
    if visible is not None:
        statement = statement.where(entry.c.machine.in_(visible))
    if "session" not in query.patterns:
        statement = statement.where(_is_no_canary(entry, entry.c.session))
    return _take_page(statement, entry, cursor, limit).subquery()


def _take_page(statement: Select[Any], entry: Table, cursor: str, limit: int) -> Select[Any]:
    """Return a statement for the entries after a cursor, and one more by which to see whether there is another page."""
    if cursor:
        statement = statement.where(tuple_(entry.c.ts, entry.c.n) < tuple_(*parse_cursor(cursor)))
    return _order_newest_first(statement, entry).limit(limit + 1)


def _order_newest_first(statement: Select[Any], entry: FromClause) -> Select[Any]:
    return statement.order_by(entry.c.ts.desc(), entry.c.n.desc())


def _select_entries(visible: frozenset[int] | None, entry: FromClause = schema.entry) -> Select[Any]:
    """Return the columns of entries with their words, of the machines that are visible; None for all."""
    chain, machine = schema.chain, schema.machine
    words = {name: schema.word.alias(f"word_{name}") for name in _WORD_KEYS}
    statement = select(
        entry.c.n,
        entry.c.chain,
        entry.c.seq,
        entry.c.ts,
        entry.c.kind,
        entry.c.verdict,
        entry.c["class"],
        entry.c.hash,
        entry.c.summary,
        entry.c.shape,
        chain.c.session,
        machine.c.name.label("machine"),
        *(words[name].c.text.label(name) for name in _WORD_KEYS),
    ).join(chain, chain.c.id == entry.c.chain)
    statement = statement.join(machine, machine.c.id == chain.c.machine)
    for name, table in words.items():
        statement = statement.join(table, table.c.id == entry.c[name])
    return statement if visible is None else statement.where(machine.c.id.in_(visible))


def _is_no_canary(
    entry: Table = schema.entry, session: ColumnElement[str] = schema.chain.c.session
) -> ColumnElement[bool]:
    """Return the condition that leaves out doctor's canaries, except one that was not blocked."""
    is_passed = and_(entry.c.verdict.is_not(None), entry.c.verdict != VerdictKind.BLOCK)
    return or_(session != CANARY_SESSION, is_passed)


def _needs_entries(query: SearchQuery) -> bool:
    """Return whether sessions cannot be selected by their own row alone."""
    return bool(query.words or query.codes or query.entries or query.patterns.keys() & {"guard", "tool", "effect"})


def _count_verdicts(query: SearchQuery) -> list[ColumnElement[bool]]:
    """Return what the counts of a session say beforehand: one without a block has no entry that is one."""
    counts = {int(VerdictKind.ASK): schema.chain.c.asks, int(VerdictKind.BLOCK): schema.chain.c.blocks}
    wanted = query.codes.get("verdict", ())
    return [or_(*(counts[code] > 0 for code in wanted))] if wanted and set(wanted) <= counts.keys() else []


def _build_chain_conditions(query: SearchQuery) -> list[ColumnElement[bool]]:
    """Return the conditions of a query that concern the session as a whole."""
    chain = schema.chain
    conditions: list[ColumnElement[bool]] = []
    columns = {"session": chain.c.session, "project": chain.c.directory, "host": chain.c.host}
    machine_columns = {"machine": schema.machine.c.name, "team": schema.machine.c.team}
    for key, patterns in query.patterns.items():
        if key in columns:
            conditions.append(or_(*(_match(columns[key], pattern, key) for pattern in patterns)))
        elif key in machine_columns:
            matching = or_(*(_match(machine_columns[key], pattern, key) for pattern in patterns))
            conditions.append(chain.c.machine.in_(select(schema.machine.c.id).where(matching)))
    if query.is_rewritten:
        conditions.append(chain.c.id.in_(select(schema.fork.c.chain)))
    if query.since is not None:
        conditions.append(chain.c.last_ts >= query.since)
    if query.until is not None:
        conditions.append(chain.c.first_ts <= query.until)
    return conditions


def _build_conditions(organisation: int, query: SearchQuery, entry: Table) -> list[ColumnElement[bool]]:
    """Return the conditions on entries, those of their session included."""
    chain = schema.chain
    conditions: list[ColumnElement[bool]] = [entry.c.organisation == organisation]
    conditions += [entry.c[name].in_(codes) for name, codes in query.codes.items()]
    for name in ("guard", "tool", "effect"):
        if name in query.patterns:
            texts = schema.word.c.text
            matching = or_(*(_match(texts, pattern, name) for pattern in query.patterns[name]))
            conditions.append(entry.c[name].in_(select(schema.word.c.id).where(matching)))
    conditions += [entry.c.summary.ilike(f"%{escape_like(word)}%", escape="\\") for word in query.words]
    if query.entries:
        conditions.append(tuple_(entry.c.chain, entry.c.seq).in_(query.entries))
    if query.since is not None:
        conditions.append(entry.c.ts >= query.since)
    if query.until is not None:
        conditions.append(entry.c.ts <= query.until)
    if by_session := _build_chain_conditions(SearchQuery(patterns=query.patterns, is_rewritten=query.is_rewritten)):
        conditions.append(
            entry.c.chain.in_(select(chain.c.id).where(chain.c.organisation == organisation, *by_session))
        )
    return conditions


def _match(column: ColumnElement[str], pattern: str, key: str) -> ColumnElement[bool]:
    """Return a condition for a pattern with `*`; the beginning of a session and the end of a project are enough."""
    like = to_like_pattern(pattern)
    if key == "session":
        like += "%"
    elif key == "project":
        like = f"%{like}"
    return column.like(like, escape="\\")


def _to_record(row: Any) -> dict[str, Any]:
    """Return an entry as the API shows it."""
    return {
        "chain": row["chain"],
        "seq": row["seq"],
        "ts": row["ts"],
        "kind": _KINDS.get(row["kind"], ""),
        "verdict": _VERDICTS.get(row["verdict"], ""),
        "class": _CLASSES.get(row["class"], ""),
        "guard": row["guard"],
        "tool": row["tool"],
        "effect": row["effect"],
        "host": row["host"],
        "session": row["session"],
        "machine": row["machine"],
        "hash": bytes(row["hash"]).hex(),
        "shape": bytes(row["shape"]).hex(),
        "summary": row["summary"],
    }


def session_to_record(row: Any) -> dict[str, Any]:
    """Return a session as the API shows it."""
    names = (
        "session",
        "generation",
        "seq",
        "signed_seq",
        "first_ts",
        "last_ts",
        "received",
        "host",
        "directory",
        "title",
    )
    return {
        "chain": row["id"],
        "machine": row["machine_name"],
        "hash": bytes(row["hash"]).hex(),
        **{name: row[name] for name in (*names, "decisions", "asks", "blocks", "claims", "proofs", "forked")},
    }
