"""Starting cheaply: a hook lives for a few milliseconds, so nothing is made ready that this one call may not need."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Site:
    """Finds what lies elsewhere than verdikt and the standard library, where `site` says: asked last, so mostly never."""

    def __init__(self) -> None:
        self._places: list[str] | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The module where `site` would have let it be found; the directories are looked up at the first question."""
        if path is not None or name.partition(".")[0] in sys.stdlib_module_names:
            return None
        if self._places is None:
            import site

            self._places, before = [], set(sys.path)
            site.main()
            self._places += [place for place in sys.path if place not in before]
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, self._places)


def spare() -> None:
    """Makes this process start fast and otherwise do the same: for processes of our own only, before anything is loaded."""
    import gc

    if sys.flags.no_site and "site" not in sys.modules:
        sys.meta_path.append(_Site())
    # A collection costs, and what one decision leaves behind ends with the process; a hostile input still gets collected.
    gc.set_threshold(100_000, 50, 100)
    if "hashlib" not in sys.modules:
        # Python's own SHA-256 is as good for a few kilobytes as OpenSSL's, which takes longer to load than to use.
        sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]
