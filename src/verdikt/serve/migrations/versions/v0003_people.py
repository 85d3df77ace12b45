"""People from an identity provider, tokens, device codes, jobs; row-level security in PostgreSQL."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

READER = "verdikt_reader"
INGEST = "verdikt_ingest"
BY_ORGANISATION = ("machine", "chain", "entry", "tally", "person", "token", "enrolment", "audit_event", "job")
BY_CHAIN = ("segment", "fork")
ORGANISATION = "current_setting('verdikt.organisation')::int"


def upgrade() -> None:
    """Create the tables, and let each organisation read its own rows only."""
    serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    with op.batch_alter_table("person") as person:
        person.add_column(sa.Column("email", sa.Text, nullable=False, server_default=""))
        person.add_column(sa.Column("groups", sa.Text, nullable=False, server_default=""))
        person.add_column(sa.Column("seen", sa.BigInteger))
    if op.get_bind().dialect.name == "sqlite":
        # Alembic would make the table again for a reference, which SQLite refuses while chains refer to machines.
        op.execute("ALTER TABLE machine ADD COLUMN person BIGINT REFERENCES person (id)")
    else:
        op.add_column("machine", sa.Column("person", sa.BigInteger, sa.ForeignKey("person.id"), nullable=True))
    op.add_column("machine", sa.Column("team", sa.Text, nullable=False, server_default=""))
    op.add_column("machine", sa.Column("status", sa.Text, nullable=False, server_default="{}"))
    with op.batch_alter_table("enrolment") as enrolment:
        enrolment.add_column(sa.Column("team", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "sign_in_flow",
        sa.Column("state_sha256", sa.Text, primary_key=True),
        sa.Column("nonce", sa.Text, nullable=False),
        sa.Column("verifier", sa.Text, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "token",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("person", sa.BigInteger, sa.ForeignKey("person.id"), nullable=False),
        sa.Column("kid", sa.Text, nullable=False, unique=True),
        sa.Column("secret_sha256", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger),
        sa.Column("revoked", sa.BigInteger),
    )
    op.create_table(
        "device_code",
        sa.Column("secret_sha256", sa.Text, primary_key=True),
        sa.Column("code", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("machine", sa.BigInteger, sa.ForeignKey("machine.id")),
    )
    op.create_table(
        "job",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("run_at", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
        sa.Column("locked_until", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("problem", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("job_by_time", "job", ["run_at"])
    if op.get_bind().dialect.name == "postgresql":
        _secure_rows()


def _secure_rows() -> None:
    """Create the two roles that transactions take, and what each may see.

    `verdikt_reader` sees the rows of the organisation that the transaction names; naming none is an error.
    `verdikt_ingest` writes for all organisations and cannot read what was sent; it needs BYPASSRLS, because COPY
    does not work under row-level security, and only a superuser can give that. Without it, ingest runs as the owner.
    """
    for role, attributes in ((READER, "NOLOGIN"), (INGEST, "NOLOGIN BYPASSRLS")):
        op.execute(
            f"""
            DO $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
                    CREATE ROLE {role} {attributes};
                END IF;
                IF NOT pg_has_role(current_user, '{role}', 'MEMBER') THEN
                    EXECUTE format('GRANT {role} TO %I', current_user);
                END IF;
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN NULL;
                WHEN insufficient_privilege THEN
                    IF '{role}' = '{READER}' THEN
                        RAISE EXCEPTION 'let a superuser run: CREATE ROLE {READER} NOLOGIN; GRANT {READER} TO %',
                            current_user;
                    END IF;
            END $$
            """
        )
    for table in (*BY_ORGANISATION, *BY_CHAIN):
        condition = (
            f"organisation = {ORGANISATION}"
            if table in BY_ORGANISATION
            else f"EXISTS (SELECT FROM chain WHERE chain.id = {table}.chain AND chain.organisation = {ORGANISATION})"
        )
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY organisation ON {table} FOR SELECT TO {READER} USING ({condition})")
    op.execute(f"GRANT SELECT ON {', '.join((*BY_ORGANISATION, *BY_CHAIN))}, word TO {READER}")
    if op.get_bind().execute(sa.text(f"SELECT 1 FROM pg_roles WHERE rolname = '{INGEST}'")).scalar():
        op.execute(f"GRANT INSERT ON entry, segment, fork TO {INGEST}")
        # A repeated entry is recognised by its hash.
        op.execute(f"GRANT SELECT (chain, seq, hash) ON entry TO {INGEST}")
        op.execute(f"GRANT SELECT, INSERT, UPDATE ON chain, tally TO {INGEST}")
        op.execute(f"GRANT SELECT, INSERT ON word TO {INGEST}")
        op.execute(f"GRANT USAGE ON SEQUENCE chain_id_seq, entry_n_seq, word_id_seq TO {INGEST}")
