"""The port through which a decision sees the world, and worlds that answer from another one or from a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from verdikt.model.path_set import PathSet
from verdikt.model.redaction import escape_forged_tokens, redact_text, redact_value

COMMITTED_PREFIX = "git:"
"""Before a path in a question about content: what git has, not the disk. No absolute path begins so."""

SOURCES_PREFIX = "tree:"
"""Before a directory in a question about content: all sources of its project, as the evidence gate compares them."""


class PathFact(NamedTuple):
    """The state of one path on disk and in git. `real` is the path with every symbolic link resolved."""

    real: str
    kind: str = "absent"  # absent, file, dir, other, unknown
    symlink: bool = False
    git: str = ""  # tracked, modified, untracked, ignored, or "" outside a work tree
    size: int = 0
    # Whether an `untracked` directory holds no change of a tracked file: then discarding changes loses nothing.
    only_untracked: bool = False

    @property
    def exists(self) -> bool:
        """Whether a file or directory exists at the path."""
        return self.kind not in ("absent", "unknown")

    def to_record(self) -> dict[str, Any]:
        """Return every field as plain data; `only_untracked` only where it holds, as few decisions depend on it."""
        record = self._asdict()
        if not self.only_untracked:
            del record["only_untracked"]
        return record


class GitFact(NamedTuple):
    """The repository around a directory; all empty where there is none."""

    root: str = ""
    branch: str = ""
    upstream: str = ""  # remote/branch
    remotes: Mapping[str, str] | None = None  # name → address
    aliases: Mapping[str, str] | None = None  # alias → what it stands for
    settings: Mapping[str, str] | None = None  # those that change what a later command does; several values on lines

    def to_record(self) -> dict[str, Any]:
        """Return every field as plain data; `settings` only where there are any, as few repositories have them."""
        record = self._asdict()
        if not self.settings:
            del record["settings"]
        return record


class World(Protocol):
    """The source of facts: the real disk, a fake in tests, a recorded entry in replay."""

    def place(self) -> Mapping[str, Any]:
        """Return where and when the action happens.

        The keys are `now` (seconds), `cwd`, `home`, `project_root`, `user`, `temp` (directories) and `guarded`
        (verdikt's own paths).
        """

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """Return the state of an absolute path; without `git`, that part may be left empty, which is much cheaper."""

    def text(self, path: str) -> str | None:
        """Return a text file, or None when it is too long or cannot be read as text."""

    def git(self, directory: str) -> GitFact:
        """Return the repository around a directory."""

    def content_stamp(self, path: str) -> str:
        """Return a value that changes with a file's content; empty when there is no such file.

        `git:PATH` stands for the content that git would restore, where index and last commit have the same, and
        `tree:DIRECTORY` for the sources of the project around a directory; empty when they cannot be hashed.
        """

    def modification_time(self, path: str) -> float:
        """Return when a file was last written, in seconds since the epoch; 0 when there is no such file."""

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return the guarded paths that a set would change; None when that cannot be told."""


WorldFactory = Callable[[str], World]
"""Return the world as seen from a directory."""


class RecordedWorld:
    """The world at the time of a decision, read back from `Facts.to_record()`.

    `now` is for a policy that asks for the time where the recorded decision did not.
    """

    def __init__(self, record: Mapping[str, Any], *, now: float = 0.0) -> None:
        self._record = record
        self._now = now

    def place(self) -> Mapping[str, Any]:
        """Return the recorded place."""
        return {"now": self._now, **self._record["place"]}

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """Return the recorded state of a path, or `unknown` when the decision did not ask for it."""
        fact = self._record["path"].get(path)
        if not fact:
            return PathFact(real=path, kind="unknown")
        return PathFact(**fact if git else {**fact, "git": "", "only_untracked": False})

    def text(self, path: str) -> str | None:
        """Return the recorded text."""
        text: str | None = self._record["text"].get(path)
        return text

    def git(self, directory: str) -> GitFact:
        """Return the recorded repository."""
        return GitFact(**self._record["git"].get(directory, {}))

    def content_stamp(self, path: str) -> str:
        """Return the recorded stamp."""
        return str(self._record.get("stamp", {}).get(path, ""))

    def modification_time(self, path: str) -> float:
        """Return 0: no decision asks for this."""
        return 0.0

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return the recorded answer."""
        paths = self._record.get("sets", {}).get(path_set.key)
        return None if paths is None else tuple(paths)

    def session_memory(self) -> Mapping[str, Any]:
        """Return the part of the session's memory that the decision read."""
        memory: Mapping[str, Any] = self._record.get("kept", {})
        return memory


class RedactedWorld:
    """A world whose texts and addresses contain no secret and no lone surrogate."""

    def __init__(self, world: World) -> None:
        self._world = world

    def place(self) -> Mapping[str, Any]:
        """Return where and when the action happens."""
        return {
            key: value if type(value) is float else _escape_surrogates(value)
            for key, value in self._world.place().items()
        }

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """Return the state of an absolute path."""
        fact = self._world.path(path, git=git)
        return fact if fact.real.isascii() else fact._replace(real=_escape_surrogates(fact.real))

    def text(self, path: str) -> str | None:
        """Return a text file, its secrets replaced."""
        text = self._world.text(path)
        return None if text is None else redact_text(_escape_surrogates(escape_forged_tokens(text)))[0]

    def content_stamp(self, path: str) -> str:
        """Return a value that changes with a file's content."""
        return self._world.content_stamp(path)

    def modification_time(self, path: str) -> float:
        """Return when a file was last written."""
        return self._world.modification_time(path)

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return the guarded paths that a set would change."""
        paths = self._world.guarded_in(path_set)
        return None if paths is None else _escape_texts(paths)

    def git(self, directory: str) -> GitFact:
        """Return the repository around a directory; the address of a remote may hold a password."""
        fact = self._world.git(directory)
        return GitFact(**{name: redact_value(_escape_surrogates(value))[0] for name, value in fact.to_record().items()})


def _escape_surrogates(value: Any) -> Any:
    """Return a value in which bytes of names that are not Unicode are spelled out."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if type(value) is tuple:
        return _escape_texts(value)
    if isinstance(value, Mapping):
        return {_escape_surrogates(key): _escape_surrogates(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_escape_surrogates(inner) for inner in value]
    return value


@lru_cache(maxsize=64)
def _escape_texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return escaped texts; consecutive calls usually have the same."""
    return tuple([_escape_surrogates(text) for text in texts])
