"""Regular expressions that are compiled when they are first used: compiling all of ours costs more than a decision."""

from __future__ import annotations

import re
from typing import Any


class _LazyPattern:
    """A pattern that becomes real at the first question; what was asked once is an attribute from then on."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        # `re` keeps what it compiled, so that the second question does not compile again.
        found = getattr(re.compile(self._source, self._flags), name)
        self.__dict__[name] = found
        return found


def compile_lazily(source: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, for patterns of our own that are known to compile: methods and attributes, not the type."""
    return _LazyPattern(source, int(flags))  # type: ignore[return-value]
