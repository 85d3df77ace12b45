"""Codes by which machines enrol."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "enrolment",
        sa.Column("code_sha256", sa.Text, primary_key=True),
        sa.Column("organisation", sa.Integer, sa.ForeignKey("organisation.id"), nullable=False),
        sa.Column("uses_left", sa.Integer, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
