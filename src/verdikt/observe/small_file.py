"""Read a small text file. Bounded; never raises, never blocks."""

from verdikt.observe.regular_file import read_regular_file

MAX_BYTES = 2_000_000
"""Size up to which a file is read."""


def read_small_text(path: str) -> str | None:
    """Return the text of a regular file; None when it is too large, not text or not readable."""
    content = read_regular_file(path, MAX_BYTES)
    try:
        return None if content is None else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
