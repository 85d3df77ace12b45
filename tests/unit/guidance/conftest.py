"""Close the stores that tests open, when they end."""

from tests.open_stores import close_stores

__all__ = ["close_stores"]
