"""Tell text that only PowerShell understands by its beginning."""

from __future__ import annotations

from verdikt.model.lazy_regex import compile_lazily

_POWERSHELL_START = compile_lazily(
    r"\s*(?:(?:\$\w+\s*=\s*|\(|&\s*\{\s*)?[A-Z][a-z]+-[A-Z]\w+\b|\[[A-Za-z.]+\]::|(?:irm|iwr)\s|ri\s[^|;]*-(?:r|fo))"
)
"""The beginning of text that only PowerShell understands."""
_FIRST_CHARACTERS = (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ$(&[", "irm", "iwr", "ri")
"""One of these begins such a text, and few others: a test that is cheaper than the pattern."""


def is_powershell(text: str) -> bool:
    """Return whether a text begins like PowerShell."""
    return text.lstrip().startswith(_FIRST_CHARACTERS) and _POWERSHELL_START.match(text) is not None
