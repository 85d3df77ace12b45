"""The world without its secrets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from verdikt.model.facts import GitFact, PathFact, World
from verdikt.model.secret import redact, redact_text, unforged


class RedactedWorld:
    """Another world whose texts and addresses hold no secret, and nothing that could not be written down."""

    def __init__(self, world: World) -> None:
        self._world = world

    def place(self) -> Mapping[str, Any]:
        """Where and when."""
        return {key: _writable(value) for key, value in self._world.place().items()}

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """What is at an absolute path."""
        fact = self._world.path(path, git=git)
        return fact if fact.real.isascii() else replace(fact, real=_writable(fact.real))

    def text(self, path: str) -> str | None:
        """The beginning of a text file, its secrets replaced."""
        text = self._world.text(path)
        return None if text is None else redact_text(_writable(unforged(text)))[0]

    def git(self, directory: str) -> GitFact:
        """The repository around a directory; an address may hold a password."""
        fact = self._world.git(directory)
        return GitFact(**{name: redact(_writable(value))[0] for name, value in fact.record().items()})


def _writable(value: Any) -> Any:
    """The same, with bytes of names that are not Unicode spelled out."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_writable(key): _writable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(inner) for inner in value]
    return value
