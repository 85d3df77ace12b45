"""Patterns of users. They are google-re2, whose matching time is linear, so that no pattern can hang the hook."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from verdikt.errors import PolicyError


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """Return the compiled pattern, or raise a `PolicyError` that says what is wrong with it."""
    re2 = _load_re2()
    try:
        return re2.compile(pattern, _make_options())
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PolicyError(
            f"expected a re2 pattern, found `{pattern}`: {reason} (look-around and back-references are not supported)"
        ) from error
    except UnicodeEncodeError as error:
        raise PolicyError("expected a re2 pattern, found a lone surrogate") from error


def _load_re2() -> Any:
    import re2  # a native library of several milliseconds; only policies with patterns need it

    return re2


@lru_cache(maxsize=1)
def _make_options() -> Any:
    options = _load_re2().Options()
    # re2 would log to stderr, which belongs to the host's protocol.
    options.log_errors = False
    # The default of 8 MiB is too small for a set of many patterns.
    options.max_mem = 64 << 20
    return options


def replace_surrogates(text: str) -> str:
    """Return the text with `?` for lone surrogates, which re2 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def has_match(pattern: str, text: str) -> bool:
    """Return whether the pattern occurs anywhere in the text."""
    return compile_pattern(pattern).search(replace_surrogates(text)) is not None


class PatternSet:
    """Many patterns that are searched in one pass."""

    __slots__ = ("_set", "patterns")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self._set: Any = None  # compiled at the first search

    def _compile_set(self) -> Any:
        pattern_set = _load_re2().Set.SearchSet(_make_options())
        for pattern in self.patterns:
            compile_pattern(pattern)
            pattern_set.Add(pattern)
        # The empty pattern occurs in every text. If it is missing from a result, the automaton ran out of memory.
        pattern_set.Add("")
        pattern_set.Compile()
        return pattern_set

    def search(self, text: str) -> list[int]:
        """Return the numbers of the patterns that occur in the text, in no order."""
        text = replace_surrogates(text)
        if self._set is None:
            self._set = self._compile_set()
        hits: list[int] = self._set.Match(text)
        empty_pattern = len(self.patterns)
        if empty_pattern in hits:
            return [hit for hit in hits if hit != empty_pattern]
        return [number for number, pattern in enumerate(self.patterns) if has_match(pattern, text)]
