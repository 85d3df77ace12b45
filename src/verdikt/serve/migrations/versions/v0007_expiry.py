"""Approvals whose time is over are found without reading all that were ever asked."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the index."""
    op.create_index("approval_by_expiry", "approval", ["state", "expires"])
