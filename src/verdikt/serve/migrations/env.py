"""The environment in which Alembic runs a migration: a connection that `migration.py` hands over."""

from alembic import context

from verdikt.serve.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
