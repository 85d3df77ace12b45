"""Starting cheaply: a hook lives for a few milliseconds, so nothing is made ready that this one call may not need."""

import sys
from types import ModuleType
from typing import Any

ROOMS = frozenset(["adapters", "effects", "graph", "ledger", "model", "observe", "shell"])
"""Where constructors may be written later too, because nobody asks what they take, as is asked of guards and other nodes."""

NODES = frozenset(f"graph.{name}" for name in ("combinator", "guard", "leaf", "pipeline", "rule"))


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


class _Later(ModuleType):
    """A module that is loaded when something in it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        from importlib import import_module

        return getattr(import_module(self.__name__), name)


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
    if "dataclasses" in sys.modules:
        return
    if "inspect" not in sys.modules:
        # `dataclasses` asks it only about classes without a docstring.
        sys.modules["inspect"] = _Later("inspect")
    import dataclasses

    if hasattr(dataclasses, "_create_fn"):  # gone in Python 3.13, which writes all methods of a class at once
        dataclasses._create_fn = _written_later(dataclasses._create_fn)


def _written_later(write: Any) -> Any:
    """`dataclasses._create_fn`, except that a method is compiled when it is first called: most never are."""

    def create(name: str, *given: Any, **named: Any) -> Any:
        package, _, rest = str((named.get("globals") or {}).get("__name__", "")).partition(".")
        asked = rest in NODES or rest.partition(".")[0] not in ROOMS
        if package != "verdikt" or (asked and name == "__init__"):
            return write(name, *given, **named)
        made: list[Any] = []

        def method(*values: Any, **options: Any) -> Any:
            if not made:
                made.append(write(name, *given, **named))
                for cls in type(values[0]).__mro__:
                    if cls.__dict__.get(name) is method:
                        made[0].__qualname__ = method.__qualname__
                        setattr(cls, name, made[0])
            return made[0](*values, **options)

        method.__name__ = name
        return method

    return create
