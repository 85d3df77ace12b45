"""Regular expressions that are compiled when they are first used: compiling all of ours costs more than a decision."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any


class _Waiting:
    """A pattern that becomes real at the first question; what was asked once is an attribute from then on."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        import re  # not before it is needed

        # `re` keeps what it compiled, so that the second question does not compile again.
        found = getattr(re.compile(self._source, self._flags), name)
        self.__dict__[name] = found
        return found


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, for patterns of our own that are known to compile: methods and attributes, not the type."""
    return _Waiting(source, int(flags))  # type: ignore[return-value]
