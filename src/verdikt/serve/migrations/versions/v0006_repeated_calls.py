"""How often a call was made while it waited for its approval."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the count; what waited before was asked for at least once."""
    op.add_column("approval", sa.Column("calls", sa.Integer, nullable=False, server_default="1"))
