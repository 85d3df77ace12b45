"""The migrations of the service's database, run by Alembic."""
