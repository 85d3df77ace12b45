"""The first version: organisations, machines, chains with their entries and lines, people and their logins."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "organisation",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "machine",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("enrolled", sa.BigInteger, nullable=False),
        sa.Column("revoked", sa.BigInteger),
        sa.Column("seen", sa.BigInteger),
        sa.Column("version", sa.Text, nullable=False, server_default=""),
        sa.UniqueConstraint("organisation", "name"),
    )
    op.create_table(
        "chain",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("machine", sa.BigInteger, sa.ForeignKey("machine.id"), nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("signed_seq", sa.BigInteger, nullable=False),
        sa.Column("first_ts", sa.BigInteger, nullable=False),
        sa.Column("last_ts", sa.BigInteger, nullable=False),
        sa.Column("received", sa.BigInteger, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("directory", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("decisions", sa.Integer, nullable=False),
        sa.Column("asks", sa.Integer, nullable=False),
        sa.Column("blocks", sa.Integer, nullable=False),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("proofs", sa.Integer, nullable=False),
        sa.Column("forked", sa.Boolean, nullable=False),
        sa.UniqueConstraint("machine", "session", "generation"),
    )
    op.create_index("chain_by_time", "chain", ["organisation", "last_ts", "id"])
    op.create_table(
        "word",
        sa.Column("id", serial, primary_key=True),
        sa.Column("text", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "entry",
        sa.Column("n", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, nullable=False),
        sa.Column("chain", sa.BigInteger, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("ts", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("verdict", sa.SmallInteger),
        sa.Column("guard", sa.Integer, nullable=False),
        sa.Column("class", sa.SmallInteger, nullable=False),
        sa.Column("tool", sa.Integer, nullable=False),
        sa.Column("effect", sa.Integer, nullable=False),
        sa.Column("host", sa.Integer, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("shape", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("entry_by_chain", "entry", ["chain", "seq"], unique=True)
    op.create_index("entry_by_time", "entry", ["organisation", "ts", "n"])
    op.create_table(
        "segment",
        sa.Column("chain", sa.BigInteger, primary_key=True),
        sa.Column("first", sa.BigInteger, primary_key=True),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("received", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "fork",
        sa.Column("chain", sa.BigInteger, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("received", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "tally",
        sa.Column("organisation", sa.Integer, primary_key=True),
        sa.Column("hour", sa.Integer, primary_key=True),
        sa.Column("verdict", sa.SmallInteger, primary_key=True),
        sa.Column("guard", sa.Integer, primary_key=True),
        sa.Column("shard", sa.SmallInteger, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "person",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("roles", sa.Text, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.UniqueConstraint("organisation", "subject"),
    )
    op.create_table(
        "login",
        sa.Column("secret_sha256", sa.Text, primary_key=True),
        sa.Column("person", sa.BigInteger, sa.ForeignKey("person.id"), nullable=False),
        sa.Column("is_link", sa.Boolean, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "audit_event",
        sa.Column("n", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("verb", sa.Text, nullable=False),
        sa.Column("object", sa.Text, nullable=False),
        sa.Column("prev", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        # The feed reads rows of finished transactions only: a smaller number may be committed after a larger one.
        op.execute("ALTER TABLE entry ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id()")
        op.execute("CREATE INDEX entry_by_transaction ON entry (organisation, xid, n)")
        # Only head columns change, in place, while the page has room.
        op.execute("ALTER TABLE chain SET (fillfactor = 50)")
        op.execute("ALTER TABLE segment ALTER COLUMN body SET STORAGE EXTERNAL")
