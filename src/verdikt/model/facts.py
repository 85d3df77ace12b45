"""What is known of the world while one action is decided.

The classifier asks, the world answers each question once, and the answers are recorded. The same questions with the
same answers always give the same decision, so a decision can be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from verdikt.model.canonical_json import CanonicalText, encode_canonical
from verdikt.model.path_set import PathSet
from verdikt.model.redaction import mask_tokens
from verdikt.model.session_edits import edit_mark_key, parse_edit_mark
from verdikt.model.session_state import mark_key, value_key
from verdikt.model.world import COMMITTED_PREFIX, SOURCES_PREFIX, GitFact, PathFact, RecordedWorld, RedactedWorld, World

SECRET_COPIES_KEY = value_key("trail", "copies")
UNTRUSTED_KEY = value_key("trail", "untrusted")
MOVED_WORK_KEY = value_key("trail", "moved")
REMOTES_KEY = value_key("trail", "remotes")
"""Remotes that the session added or changed: directory and name → address."""
NAMED_WORDS_KEY = value_key("trail", "named")


class WorldAnswers(NamedTuple):
    """Questions to the world and their answers, for a comparison at a later time."""

    path: Mapping[str, PathFact]
    text: Mapping[str, str | None]
    git: Mapping[str, GitFact]
    git_paths: frozenset[str]  # the paths for which git was asked too
    own_paths: frozenset[str]
    place_keys: frozenset[str]
    memory: Mapping[str, Any]
    sets: Mapping[PathSet, tuple[str, ...] | None]


_NOTHING: Mapping[str, Any] = {}
_NO_ANSWERS = WorldAnswers({}, {}, {}, frozenset(), frozenset(), frozenset(), {}, {})


class Facts:
    """The answers of the world for one action. Asks each question once, and never returns a secret."""

    __slots__ = (
        "_git",
        "_git_paths",
        "_memory",
        "_memory_reads",
        "_own_paths",
        "_path",
        "_place",
        "_place_keys",
        "_sets",
        "_stamp",
        "_text",
        "_world",
        "cwd",
        "home",
        "project_root",
        "secrets",
        "temp",
        "user",
    )
    cwd: str
    """The directory in which the action would happen."""
    home: str
    """The home directory of the user who runs the agent."""
    project_root: str
    """The top of the project that `cwd` belongs to."""
    user: str
    """The name of the user who runs the agent."""
    temp: tuple[str, ...]
    """Directories for temporary files."""

    def __init__(self, world: World, *, secrets: tuple[str, ...] = (), memory: Mapping[str, Any] | None = None) -> None:
        # A recorded world is redacted already; redacting it again would make its secrets' tokens ineffective.
        self._world: World = world if isinstance(world, RecordedWorld) else RedactedWorld(world)
        self._place = dict(self._world.place())
        self._path: dict[str, PathFact] = {}
        self._git_paths: set[str] = set()  # the paths for which git was asked too
        self._text: dict[str, str | None] = {}
        self._git: dict[str, GitFact] = {}
        self._stamp: dict[str, str] = {}
        self._sets: dict[PathSet, tuple[str, ...] | None] = {}
        # Compared with None: the truth value of a `StoredMemory` is its length, which would load it.
        self._memory = world.session_memory() if isinstance(world, RecordedWorld) else {} if memory is None else memory
        self._memory_reads: dict[str, Any] = {}  # keys that were read, with their values
        self._place_keys: set[str] = set()  # keys of the place that were read
        self._own_paths: set[str] = set()  # paths that turned out to be verdikt's own
        self.secrets = secrets
        """The kinds of secrets that were replaced in the action."""
        place = self._place
        self.cwd = str(place.get("cwd", "/"))
        self.home = str(place.get("home", "/home/user"))
        self.project_root = str(place.get("project_root", self.cwd))
        self.user = str(place.get("user", ""))
        self.temp = tuple(place.get("temp", ("/tmp", "/var/tmp")))

    def copy_without_answers(self) -> Facts:
        """Return the same place and time, with nothing asked yet."""
        facts = Facts.__new__(Facts)
        facts._world, facts._place, facts.secrets = self._world, self._place, self.secrets
        facts._path, facts._text, facts._git = {}, {}, {}
        facts._memory, facts._memory_reads, facts._stamp = self._memory, {}, {}
        facts._git_paths, facts._place_keys, facts._own_paths = set(), set(), set()
        facts._sets = {}
        facts.cwd, facts.home, facts.project_root = self.cwd, self.home, self.project_root
        facts.user, facts.temp = self.user, self.temp
        return facts

    @property
    def place_signature(self) -> tuple[Any, ...]:
        """The place without the time, hashable; the key under which classified effects are cached."""
        place = self._place
        names = (place.get("cwd"), place.get("home"), place.get("project_root"), place.get("user"))
        return (*names, tuple(place.get("temp", ())), tuple(place.get("guarded", ())))

    @property
    def has_no_answers(self) -> bool:
        """Whether nothing has been asked yet."""
        return not (
            self._path
            or self._text
            or self._git
            or self._own_paths
            or self._place_keys
            or self._memory_reads
            or self._stamp
            or self._sets
        )

    def snapshot_answers(self) -> WorldAnswers:
        """Return every question about disk, git and memory so far, with its answer."""
        if self.has_no_answers:
            return _NO_ANSWERS
        return WorldAnswers(
            dict(self._path),
            dict(self._text),
            dict(self._git),
            frozenset(self._git_paths),
            frozenset(self._own_paths),
            frozenset(self._place_keys),
            dict(self._memory_reads),
            dict(self._sets),
        )

    def revalidate_answers(self, answers: WorldAnswers) -> bool:
        """Ask the same questions; return whether the answers are the same. If not, nothing counts as asked."""
        if answers is _NO_ANSWERS:
            return True
        if not (answers.path or answers.text or answers.git or answers.memory):
            return self._revalidate_sets(answers)
        probe = self.copy_without_answers()
        same = (
            all(probe.path(path, git=path in answers.git_paths) == fact for path, fact in answers.path.items())
            and all(probe._read_text(path) == text for path, text in answers.text.items())
            and all(probe.git(directory) == fact for directory, fact in answers.git.items())
            and all(probe.memory_value(key) == value for key, value in answers.memory.items())
            and all(probe._meets_again(path_set, paths) for path_set, paths in answers.sets.items())
        )
        if same:
            self._path, self._text, self._git, self._git_paths = probe._path, probe._text, probe._git, probe._git_paths
            self._memory_reads |= probe._memory_reads
            self._sets = probe._sets
            self._own_paths |= answers.own_paths
            self._place_keys |= answers.place_keys
        return same

    def _revalidate_sets(self, answers: WorldAnswers) -> bool:
        """Do the same where only sets were asked about, as most git commands ask."""
        if not all(self._meets_again(path_set, paths) for path_set, paths in answers.sets.items()):
            self._sets = {}
            self._own_paths.clear()
            return False
        self._own_paths |= answers.own_paths
        self._place_keys |= answers.place_keys
        return True

    def _meets_again(self, path_set: PathSet, paths: tuple[str, ...] | None) -> bool:
        lookup = self.find_guarded if path_set.is_textual else self.guarded_in
        return lookup(path_set) == paths

    @property
    def now(self) -> float:
        """Seconds since the epoch when the facts were collected; recorded only if asked for."""
        self._place_keys.add("now")
        return float(self._place.get("now", 0.0))

    @property
    def guarded_paths(self) -> tuple[str, ...]:
        """Absolute paths of verdikt's own files and directories; recorded only if asked for, because there are many."""
        self._place_keys.add("guarded")
        return tuple(self._place.get("guarded", ()))

    @property
    def guarded_prefixes(self) -> tuple[str, ...]:
        """The beginnings of paths for which `is_guarded_path` has to be asked."""
        return tuple(self._place.get("guarded", ()))

    def is_guarded_path(self, path: str) -> bool:
        """Return whether an absolute path is verdikt's own or lies below one. Only paths that are get recorded."""
        places = self._place.get("guarded", ())
        if not places or not path.startswith(tuple(places)):
            return False
        for place in places:
            if path.startswith(place) and (path == place or path.startswith(place.rstrip("/") + "/")):
                self._own_paths.add(path)
                return True
        return False

    def find_guarded(self, path_set: PathSet) -> tuple[str, ...]:
        """Return the guarded paths that a set of known paths can meet."""
        # A recorded place names only those guarded paths that mattered, so a recorded answer counts.
        paths = self._world.guarded_in(path_set) if isinstance(self._world, RecordedWorld) else None
        if paths is None:
            paths = tuple([place for place in self._place.get("guarded", ()) if path_set.can_meet(place)])
        if paths:
            self._sets[path_set] = paths
            self._own_paths.update(paths)
        return paths

    def has_guarded_below(self, directory: str) -> bool:
        """Return whether a guarded path lies below a directory; much cheaper than `find_guarded`, and not recorded."""
        below = directory if directory[-1:] == "/" else directory + "/"
        return any(place.startswith(below) for place in self._place.get("guarded", ()))

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return the guarded paths that a set would change, which has to be looked up; None when it is not known."""
        paths = self._sets.get(path_set)
        # None is an answer too; it is rare, and asking whether it was given costs a second look-up.
        if paths is None and path_set not in self._sets:
            paths = self._sets[path_set] = self._world.guarded_in(path_set)
        return paths

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """Return the state of an absolute path; without `git`, git is not asked about it."""
        if path not in self._path or (git and path not in self._git_paths):
            self._path[path] = self._world.path(path, git=git)
            if git:
                self._git_paths.add(path)
        return self._path[path]

    def text(self, path: str) -> str | None:
        """Return a text file, secrets masked, or None when it is too long or cannot be read as text."""
        text = self._read_text(path)
        return None if text is None else str(mask_tokens(text))

    def _read_text(self, path: str) -> str | None:
        if path not in self._text:
            self._text[path] = self._world.text(path)
        return self._text[path]

    def git(self, directory: str) -> GitFact:
        """Return the repository around a directory."""
        if directory not in self._git:
            self._git[directory] = self._world.git(directory)
        return self._git[directory]

    def content_stamp(self, path: str) -> str:
        """Return a value that changes with a file's content; empty when there is no such file."""
        if path not in self._stamp:
            self._stamp[path] = self._world.content_stamp(path)
        return self._stamp[path]

    def hash_sources(self, directory: str) -> str:
        """Return the digest of the sources of the project around a directory; empty when they cannot be hashed."""
        return self.content_stamp(SOURCES_PREFIX + directory)

    def modification_time(self, path: str) -> float:
        """Return when a file was last written. Only the check at stop asks for it, and it is not recorded."""
        return self._world.modification_time(path)

    def memory_value(self, key: str) -> Any:
        """Return the value that the session's memory holds under a key, or None."""
        if key not in self._memory_reads:
            self._memory_reads[key] = self._memory.get(key)
        return self._memory_reads[key]

    def recall(self, key: str) -> Any:
        """Return what the session's memory holds under a key; recorded only if there is something.

        Every decision asks what the session remembers, and nearly every session remembers nothing of the kind.
        """
        value = self._memory.get(key)
        if value is not None:
            self._memory_reads[key] = value
        return value

    def _recall_mapping(self, key: str) -> Mapping[str, Any]:
        value = self._memory.get(key)
        if value is None:
            return _NOTHING
        self._memory_reads[key] = value
        return value if isinstance(value, Mapping) else _NOTHING

    @property
    def secret_copies(self) -> Mapping[str, Any]:
        """Files into which this session put a secret: path → seq of the entry in the log."""
        # Asked of every path that is read, and of nearly all sessions the answer is that there is nothing.
        return _NOTHING if self._memory.get(SECRET_COPIES_KEY) is None else self._recall_mapping(SECRET_COPIES_KEY)

    @property
    def moved_work(self) -> Mapping[str, str]:
        """Where this session moved work that git does not have: new path → old path."""
        return _NOTHING if self._memory.get(MOVED_WORK_KEY) is None else self._recall_mapping(MOVED_WORK_KEY)

    @property
    def untrusted_sources(self) -> Mapping[str, Any]:
        """What this session has read from outside: source → name → seq of the entry in the log."""
        return self._recall_mapping(UNTRUSTED_KEY)

    @property
    def named_words(self) -> str:
        """The words that the person named in this session's prompts, by digest."""
        return str(self.recall(NAMED_WORDS_KEY) or "")

    def is_created_in_session(self, path: str) -> bool:
        """Return whether this session created the file or directory at this path."""
        return bool(self.memory_value(mark_key("made", path)))

    def is_changed_by_session_alone(self, path: str) -> bool:
        """Return whether what differs from git in a file is an edit by this session's own tools, and nothing else."""
        base, tip = parse_edit_mark(self.memory_value(edit_mark_key(path)))
        return (
            bool(base and tip)
            and self.content_stamp(path) == tip
            and self.content_stamp(COMMITTED_PREFIX + path) == base
        )

    @property
    def has_content_stamps(self) -> bool:
        """Whether the content of a file was asked for, which `revalidate_answers` does not compare."""
        return bool(self._stamp)

    def to_record(self) -> dict[str, Any]:
        """Return all questions and answers as plain data, from which `RecordedWorld` answers again."""
        return self._build_record(self._place_record())

    def to_canonical_record(self) -> dict[str, Any]:
        """Return the same with the place already encoded, as a receipt holds it."""
        place = self._place_record()
        try:
            return self._build_record(place if "now" in place else _encode_place(tuple(place.items())))
        except TypeError:
            # A world may return lists, which cannot be cached.
            return self._build_record(place)

    def _place_record(self) -> dict[str, Any]:
        place = dict(self._place)
        if "now" not in self._place_keys:
            place.pop("now", None)
        if "guarded" not in self._place_keys:
            place["guarded"] = tuple(sorted(self._own_paths)) if self._own_paths else ()
        return place

    def _build_record(self, place: Any) -> dict[str, Any]:
        return {
            "place": place,
            "path": {path: fact.to_record() for path, fact in self._path.items()},
            "text": dict(self._text),
            "git": {directory: fact.to_record() for directory, fact in self._git.items()},
            "secrets": list(self.secrets),
            # Left out when empty: few policies ask for these, and a receipt is written for every action.
            **({"stamp": self._stamp} if self._stamp else {}),
            **({"kept": self._memory_reads} if self._memory_reads else {}),
            **({"sets": {path_set.key: paths for path_set, paths in self._sets.items()}} if self._sets else {}),
        }


@lru_cache(maxsize=64)
def _encode_place(place: tuple[tuple[str, Any], ...]) -> CanonicalText:
    """Return the encoded place; consecutive calls usually have the same."""
    return CanonicalText(encode_canonical(dict(place)))
