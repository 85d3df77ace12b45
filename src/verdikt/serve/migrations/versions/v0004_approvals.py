"""Approvals: questions, votes, security keys, the key of the service, and where people are told."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

READER = "verdikt_reader"
BY_ORGANISATION = ("approval", "vote", "credential", "notifier", "delivery")


def upgrade() -> None:
    """Create the tables, and let each organisation read its own rows only."""
    serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "approval",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("machine", sa.BigInteger, sa.ForeignKey("machine.id"), nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("texts", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("shape", sa.Text, nullable=False),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("risk", sa.SmallInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("asked", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("decided", sa.BigInteger),
        sa.Column("not_after", sa.BigInteger),
        sa.Column("closed", sa.BigInteger),
        sa.UniqueConstraint("machine", "request"),
    )
    op.create_table(
        "vote",
        sa.Column("approval", sa.BigInteger, sa.ForeignKey("approval.id"), primary_key=True),
        sa.Column("person", sa.BigInteger, sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("organisation", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("approved", sa.Boolean, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("is_owner", sa.Boolean, nullable=False),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("assertion", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "credential",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, nullable=False),
        sa.Column("person", sa.BigInteger, sa.ForeignKey("person.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("credential_id", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("sign_count", sa.BigInteger, nullable=False),
        sa.Column("added", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "ceremony",
        sa.Column("person", sa.BigInteger, sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("challenge", sa.LargeBinary, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "service_key",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("private_key", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "notifier",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("person", sa.BigInteger, sa.ForeignKey("person.id")),
        sa.Column("group", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "delivery",
        sa.Column("id", serial, primary_key=True),
        sa.Column("organisation", sa.Integer, nullable=False),
        sa.Column("notifier", sa.BigInteger, sa.ForeignKey("notifier.id", ondelete="CASCADE"), nullable=False),
        sa.Column("approval", sa.BigInteger, sa.ForeignKey("approval.id"), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.UniqueConstraint("notifier", "approval"),
    )
    op.create_index("approval_by_state", "approval", ["organisation", "state", "asked"])
    op.create_index("delivery_by_time", "delivery", ["state", "due"])
    if op.get_bind().dialect.name == "postgresql":
        condition = "organisation = current_setting('verdikt.organisation')::int"
        for table in BY_ORGANISATION:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            op.execute(f"CREATE POLICY organisation ON {table} FOR SELECT TO {READER} USING ({condition})")
        op.execute(f"GRANT SELECT ON {', '.join(BY_ORGANISATION)} TO {READER}")
