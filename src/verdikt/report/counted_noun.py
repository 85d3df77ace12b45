"""A number with its noun, in words for people."""


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 call`, `2,000 calls`, `2 entries` where the plural is given."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
