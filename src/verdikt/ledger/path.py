"""Paths that are only texts until more is asked of them: `pathlib` takes longer to load than a decision to make."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path as DataPath
else:

    class DataPath:
        """A path: it can be joined, opened and shown; everything else `pathlib.Path` does for it."""

        __slots__ = ("_text",)

        def __init__(self, text):
            self._text = os.fspath(text)

        def __fspath__(self):
            return self._text

        __str__ = __fspath__

        def __truediv__(self, name):
            return DataPath(os.path.join(self._text, os.fspath(name)))

        def exists(self):
            """Whether there is something."""
            return os.path.exists(self._text)

        @property
        def name(self):
            """The last part."""
            return os.path.basename(self._text)

        @property
        def parent(self):
            """What it lies in."""
            return DataPath(os.path.dirname(self._text))

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return getattr(_path(self), name)

        def __repr__(self):
            return repr(_path(self))

        def __eq__(self, other):
            return _path(self) == _path(other) if isinstance(other, os.PathLike) else NotImplemented

        def __lt__(self, other):
            return _path(self) < _path(other)

        def __hash__(self):
            return hash(_path(self))

    def _path(place):
        from pathlib import Path

        return Path(place)


__all__ = ["DataPath"]
