"""In PostgreSQL: people see what machines of theirs sent, and what arrived is kept by month."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

READER = "verdikt_reader"
INGEST = "verdikt_ingest"
ORGANISATION = "current_setting('verdikt.organisation')::int"
# In a SELECT of its own it is asked for once in a statement, and not for each row.
MACHINES = "(SELECT visible_machines())"
DAY_SECONDS = 86_400
MICROSECONDS = 1_000_000


def upgrade() -> None:
    """Add the day of arrival to entries; in PostgreSQL also partitions by it, and policies for what machines sent."""
    op.add_column("entry", sa.Column("day", sa.Integer, nullable=False, server_default="0"))
    if op.get_bind().dialect.name == "postgresql":
        end = _find_end_of_month()
        _partition_entries(end // DAY_SECONDS)
        _partition_segments(end * MICROSECONDS)
        _hide_machines()
        _grant()


def _find_end_of_month() -> int:
    """Return when the month ends in which the last lines arrived, or the present one: all of them are one partition."""
    seconds = op.get_bind().execute(
        sa.text(
            "SELECT extract(epoch FROM date_trunc('month', greatest(now(), to_timestamp(max(received) / 1e6))"
            " AT TIME ZONE 'UTC') + interval '1 month') FROM segment"
        )
    )
    return int(seconds.scalar_one())


def _partition_entries(end_day: int) -> None:
    """Make the table of entries the first partition of a table by the day of arrival."""
    for statement in (
        "ALTER TABLE entry RENAME TO entry_first",
        # No statement looks for entries by their number alone.
        "ALTER TABLE entry_first DROP CONSTRAINT entry_pkey",
        "ALTER INDEX entry_by_chain RENAME TO entry_first_by_chain",
        "ALTER INDEX entry_by_time RENAME TO entry_first_by_time",
        "ALTER INDEX entry_by_transaction RENAME TO entry_first_by_transaction",
        # The day stands where its four bytes fill a gap.
        """
        CREATE TABLE entry (
            n bigint NOT NULL DEFAULT nextval('entry_n_seq'),
            organisation integer NOT NULL,
            day integer NOT NULL DEFAULT 0,
            chain bigint NOT NULL,
            seq bigint NOT NULL,
            ts bigint NOT NULL,
            kind smallint NOT NULL,
            verdict smallint,
            guard integer NOT NULL,
            class smallint NOT NULL,
            tool integer NOT NULL,
            effect integer NOT NULL,
            host integer NOT NULL,
            hash bytea NOT NULL,
            summary text NOT NULL,
            shape bytea NOT NULL,
            xid xid8 NOT NULL DEFAULT pg_current_xact_id()
        ) PARTITION BY RANGE (day)
        """,
        "ALTER SEQUENCE entry_n_seq OWNED BY entry.n",
        "CREATE INDEX entry_by_time ON entry (organisation, ts, n)",
        "CREATE INDEX entry_by_transaction ON entry (organisation, xid, n)",
        f"ALTER TABLE entry ATTACH PARTITION entry_first FOR VALUES FROM (MINVALUE) TO ({end_day})",
        "DROP POLICY organisation ON entry_first",
        f"REVOKE ALL ON entry_first FROM {READER}",
        "ALTER TABLE entry ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY organisation ON entry FOR SELECT TO {READER} USING (organisation = {ORGANISATION})",
    ):
        op.execute(statement)


def _partition_segments(end: int) -> None:
    """Make the table of lines the first partition of a table by the time of arrival."""
    for statement in (
        "ALTER TABLE segment RENAME TO segment_first",
        "ALTER INDEX segment_pkey RENAME TO segment_first_by_chain",
        """
        CREATE TABLE segment (
            chain bigint NOT NULL,
            first bigint NOT NULL,
            last bigint NOT NULL,
            received bigint NOT NULL,
            body bytea NOT NULL
        ) PARTITION BY RANGE (received)
        """,
        "ALTER TABLE segment ALTER COLUMN body SET STORAGE EXTERNAL",
        f"ALTER TABLE segment ATTACH PARTITION segment_first FOR VALUES FROM (MINVALUE) TO ({end})",
        "DROP POLICY organisation ON segment_first",
        f"REVOKE ALL ON segment_first FROM {READER}",
        "ALTER TABLE segment ENABLE ROW LEVEL SECURITY",
        # Chains that a person does not see are not there for this condition either.
        f"CREATE POLICY organisation ON segment FOR SELECT TO {READER} USING (EXISTS (SELECT FROM chain"
        f" WHERE chain.id = segment.chain AND chain.organisation = {ORGANISATION}))",
    ):
        op.execute(statement)


def _hide_machines() -> None:
    """Let a transaction for people see what the machines sent that it names, or `*` for all; naming none fails."""
    chain_machine = "(SELECT chain.machine FROM chain WHERE chain.id = entry.chain)"
    for statement in (
        """
        CREATE FUNCTION visible_machines() RETURNS bigint[] LANGUAGE sql STABLE AS $$
            SELECT CASE current_setting('verdikt.machines')
                WHEN '*' THEN NULL
                ELSE current_setting('verdikt.machines')::bigint[]
            END
        $$
        """,
        f"CREATE POLICY machine ON machine AS RESTRICTIVE FOR SELECT TO {READER}"
        f" USING ({MACHINES} IS NULL OR id = ANY ({MACHINES}::bigint[]))",
        f"CREATE POLICY machine ON chain AS RESTRICTIVE FOR SELECT TO {READER}"
        f" USING ({MACHINES} IS NULL OR machine = ANY ({MACHINES}::bigint[]))",
        # As a value and not as EXISTS, which would collect all chains before the first entry of a page is found.
        f"CREATE POLICY machine ON entry AS RESTRICTIVE FOR SELECT TO {READER}"
        f" USING ({MACHINES} IS NULL OR {chain_machine} = ANY ({MACHINES}::bigint[]))",
        # Under row-level security no index of texts is used: their operators might tell of rows that are not shown.
        # The view has the same conditions as plain ones. Statements are ours, so that nothing else can be called.
        f"""
        CREATE VIEW searched_entry AS SELECT entry.*, chain.session, chain.machine
            FROM entry JOIN chain ON chain.id = entry.chain
            WHERE entry.organisation = {ORGANISATION}
            AND ({MACHINES} IS NULL OR chain.machine = ANY ({MACHINES}::bigint[]))
        """,
    ):
        op.execute(statement)


def _grant() -> None:
    """Give both roles on the new tables what they had on the old ones."""
    op.execute(f"GRANT SELECT ON entry, segment, searched_entry TO {READER}")
    if op.get_bind().execute(sa.text(f"SELECT 1 FROM pg_roles WHERE rolname = '{INGEST}'")).scalar():
        op.execute(f"REVOKE ALL ON entry_first, segment_first FROM {INGEST}")
        op.execute(f"GRANT INSERT ON entry, segment TO {INGEST}")
        op.execute(f"GRANT SELECT (chain, seq, hash) ON entry TO {INGEST}")
