"""Patterns from users: google-re2, because a pattern must not be able to hang the hook."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from verdikt.errors import PolicyError


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """The compiled pattern, or a `PolicyError` that says what is wrong with it."""
    import re2  # costs about as much as everything else together: only policies with patterns pay

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


@lru_cache(maxsize=1)
def _make_options() -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return options


def replace_surrogates(text: str) -> str:
    """The text as re2 takes it: lone surrogates cannot be encoded and become `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def has_match(pattern: str, text: str) -> bool:
    """Whether the pattern occurs anywhere in the text."""
    return compile_pattern(pattern).search(replace_surrogates(text)) is not None


class PatternSet:
    """Many patterns searched in one pass; `search` gives the numbers of those that occur."""

    __slots__ = ("_set", "patterns")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self._set: Any = None  # until something is searched

    def _compile_set(self) -> Any:
        import re2

        found = re2.Set.SearchSet(_make_options())
        for pattern in self.patterns:
            compile_pattern(pattern)
            found.Add(pattern)
        # Found in every text: when it is missing from an answer, the automaton ran out of memory and knows nothing.
        found.Add("")
        found.Compile()
        return found

    def search(self, text: str) -> list[int]:
        """The numbers of the patterns that occur in the text, in no order."""
        text = replace_surrogates(text)
        if self._set is None:
            self._set = self._compile_set()
        hits: list[int] = self._set.Match(text)
        witness = len(self.patterns)
        if witness in hits:
            return [hit for hit in hits if hit != witness]
        return [number for number, pattern in enumerate(self.patterns) if has_match(pattern, text)]
