"""Resolve words of a command line to targets: the absolute path, its zone, and its state in git.

The predicates at the end say which zone a path belongs to; the tables that they use are in `zone_tables.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING

from verdikt.effects import zone_tables
from verdikt.effects.secret_patterns import find_matched_secret
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Word

_SYSTEM_NAMES = (
    "bin|boot|dev|etc|home|lib(?:32|64)?|media|mnt|opt|proc|root|run|sbin|srv|sys|usr|var"
    "|Users|Library|System|Applications"
)
"""What lies directly below the root directory."""
_WILDCARD = compile_lazily(r"[*?\[]")
# A named path below $TMPDIR or the directory of caches, or a pattern that no system directory matches (`build-*`); not
# `$TMPDIR/*` or `$TMPDIR/home`, which are `/*` and `/home` where the variable is empty.
_TMPDIR_PATH = compile_lazily(
    r"^(?!.*/\.\.(?:[/\"]|$))\$(?:(?:TMPDIR|XDG_CACHE_HOME)\b|\{(?:TMPDIR|XDG_CACHE_HOME)(?:%%?/|:?[-=?][^}]*)?\})\"?/"
    rf"(?!(?:{_SYSTEM_NAMES})(?:[/\"]|$))"
    r"(?:(?:\$\{?\w+\}?[-_.])?[\w.-]*\w[^*?]*|[A-Za-z]\w*[-_.][^/]*|\*\.\w+)/?$"
)
_CATCH_ALL_GLOBS = frozenset(("*", ".*", ".", "..", "{*,.*}", "*.*", "**", ".[!.]*", ".??*", "?*", "[!.]*"))
_QUOTES = frozenset("'\"$\\")
_TEMPORARY_DIRECTORIES = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/dev/shm")
_TEMPORARY_BEGINNINGS = tuple(f"{directory}/" for directory in _TEMPORARY_DIRECTORIES)
_GUESSED_NAMES = (".ssh", ".aws", ".gnupg", ".bashrc", ".zshrc", ".netrc", ".claude")
_GUESSED_SECRETS = (".env", ".env.local", "id_rsa", "id_ed25519", ".netrc", ".pgpass")
_GUESSED_BEGINNINGS = tuple(name[:3] for name in _GUESSED_SECRETS)
# Builds a named tuple from all its fields at once; a classification makes dozens, and keyword handling is measurable.
_make_row = tuple.__new__


@lru_cache(maxsize=64)
def _normalize_roots(home: str, project_root: str) -> tuple[str, str, str]:
    """Return the home, the root of the project, and the prefix of paths below that root."""
    home = home.rstrip("/") or "/"
    root = project_root.rstrip("/") or "/"
    # A home directory or a whole disk is no project: work there must not count as disposable.
    root = "" if root in ("/", home) or home.startswith(root + "/") else root
    return home, root, root + "/" if root else "\0"


@lru_cache(maxsize=64)
def _list_temporary_prefixes(directories: tuple[str, ...]) -> tuple[str, ...]:
    """Return how paths of temporary files begin."""
    return tuple(f"{place}/" for place in (*directories, *_TEMPORARY_DIRECTORIES))


class TargetResolver:
    """Resolves the words of one action. Asks the disk and git only when a path's state is requested."""

    __slots__ = ("_cwd", "_guarded_prefixes", "_home", "_project_prefix", "_project_root", "facts")

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        """What is known of the world; every answer comes from here."""
        self._cwd = facts.cwd
        self._home = ""
        self._project_root = ""
        self._project_prefix = ""
        self._guarded_prefixes: tuple[str, ...] = ()

    def _locate_project(self) -> None:
        """Determine the project and the home; deferred until the first path, because most commands name none."""
        self._home, self._project_root, self._project_prefix = _normalize_roots(
            self.facts.home, self.facts.project_root
        )
        self._guarded_prefixes = self.facts.guarded_prefixes

    @property
    def project_root(self) -> str:
        """The root of the project, or an empty string if there is none."""
        if not self._project_prefix:
            self._locate_project()
        return self._project_root

    def to_absolute(self, text: str, cwd: Word | None = None) -> str:
        """Return the absolute, normalised path of constant text; empty if the directory it starts from is unknown."""
        if text[:1] == "~" and (text == "~" or text[1] == "/"):
            text = (self.facts.home.rstrip("/") or "/") + text[1:]
        return self._to_normal_path(text, cwd)

    def _to_normal_path(self, text: str, cwd: Word | None) -> str:
        """Return the same of text in which a tilde means nothing."""
        if text[:1] != "/":
            base = self._cwd
            if cwd is not None:
                base = cwd.text
                if UNKNOWN in base:
                    return ""
                if not base.startswith("/"):
                    base = f"{self._cwd}/{base}"
            text = base if text == "." else f"{base}/{text}"
        if "/." not in text and "//" not in text:
            return text if text[-1] != "/" else text[:-1] or "/"  # already normal
        path = normpath(text)
        return path[1:] if path.startswith("//") else path

    def resolve_path(
        self, word: Word, cwd: Word | None = None, *, with_state: bool = False, git: bool = True
    ) -> Target:
        """Return the target that a word names as a path.

        `with_state` follows symbolic links and fills in the state; `git` allows asking git for it.
        """
        text = word.text
        if UNKNOWN in text:
            return self._resolve_partial(word, cwd)
        # The shell analysis has already replaced a tilde that stands for the home directory. A tilde that comes out of
        # a variable stays a plain name in most shells, but its author meant the home, so it is treated as the home.
        is_home = text[:1] == "~" and _means_home(word.raw)
        path = self.to_absolute(text, cwd) if is_home else self._to_normal_path(text, cwd)
        if not path:
            is_temporary = cwd is not None and cwd.text.startswith(_TEMPORARY_BEGINNINGS) and ".." not in text
            # `cd "$(mktemp -d)"`: which directory it is does not matter.
            if is_temporary:
                return Target(text, "path", "/tmp/…", Zone.TEMP)
            return Target(text, "path", "", Zone.PROJECT, "ignored") if _is_cache_name(text) else Target(text)
        if word.glob:
            return self._resolve_glob(word, path, with_state=with_state and git)
        if not with_state:
            return _make_row(Target, (text or path, "path", path, self.find_zone(path), ""))
        return self.resolve_absolute(path, text, with_state=True, git=git)

    def resolve_link(self, word: Word, cwd: Word | None) -> Target | None:
        """Return the link of the project that a word names; None for anything else, and for what lies behind one.

        `link/` and `link/.` name what the link leads to.
        """
        name = word.text.rpartition("/")[2]
        if word.glob or UNKNOWN in word.text or name in ("", ".", ".."):
            return None
        path = self._to_normal_path(word.text, cwd)
        parent = path.rpartition("/")[0]
        if not parent or self.find_zone(path) is not Zone.PROJECT:
            return None
        is_link = self.facts.path(path, git=False).real != path and self.facts.path(parent, git=False).real == parent
        return (
            Target(word.text, "path", path, Zone.PROJECT, self._find_state(path, Zone.PROJECT, "file", git=True))
            if is_link
            else None
        )

    def resolve_absolute(self, path: str, text: str = "", *, with_state: bool = False, git: bool = True) -> Target:
        """Return the target at an absolute path; `git` allows asking git for its state."""
        zone = self.find_zone(path)
        if not with_state:
            return Target(text or path, "path", path, zone)
        if zone is Zone.SYSTEM:
            return Target(text or path, "path", path, zone)
        fact = self.facts.path(path, git=False)
        if fact.real != path:
            real_zone = self.find_zone(fact.real)
            # A link inside the project does not make what it leads to part of the project, nor of its build output.
            if real_zone is not zone or zone is Zone.PROJECT:
                path, zone = fact.real, real_zone
        return Target(text or path, "path", path, zone, self._find_state(path, zone, fact.kind, git=git))

    def find_zone(self, path: str) -> Zone:
        """Return the zone of an absolute path."""
        if not self._project_prefix:
            self._locate_project()
        if path.startswith(self._guarded_prefixes) and self.facts.is_guarded_path(path):
            return Zone.GUARD
        inside = path.startswith(self._project_prefix)
        if is_ordinary(path):
            if inside:
                return Zone.PROJECT
            short = abbreviate_home(path, self._home)
        else:
            short = abbreviate_home(path, self._home)
            if is_guard_path(short) or is_git_hook(short):
                return Zone.GUARD
            if is_persistence(short):
                return Zone.PERSIST
            if is_secret(short) or self._is_copied_secret(path.lower()):
                return Zone.SECRET
        if inside or path == self._project_root:
            return Zone.PROJECT
        return self._find_outer_zone(path, short)

    def _is_copied_secret(self, path: str) -> bool:
        """Return whether the path is a secret of a home that lies elsewhere: `backup/.aws/credentials`."""
        # What stands at the root of a project is its own: `.bundle/config`.
        root = self._project_root.lower()
        return path.endswith(_NESTED_SECRETS) and not (root and path.removeprefix(root) in _NESTED_SECRETS)

    def _find_outer_zone(self, path: str, short: str) -> Zone:
        """Return the zone of a path outside the project that no table lists; `short` has its home written as `~`."""
        temporary_prefixes = _list_temporary_prefixes(self.facts.temp)
        own = path == self._home or path.startswith(self._home + "/")
        # A home below a temporary directory, as containers and tests have it, is still a home.
        if path.startswith(temporary_prefixes) and not (own and self._home.startswith(temporary_prefixes)):
            return Zone.TEMP
        if short.startswith("~"):
            return Zone.HOME if own else Zone.SYSTEM
        return Zone.SYSTEM if is_system(path) else Zone.OUTSIDE

    def _find_state(self, path: str, zone: Zone, kind: str, *, git: bool) -> str:
        """Return the state of a path; empty if the world does not know.

        One of tracked, modified, untracked, own (untracked, made in this session), ignored, absent.
        """
        if zone is Zone.PROJECT:
            if is_build_output(path[len(self._project_root) + 1 :]):
                return "ignored"
        elif zone is Zone.HOME and (is_cache(path) or "/node_modules" in path or "/__pycache__" in path):
            return "ignored"
        if kind in ("absent", "unknown"):
            return "absent" if kind == "absent" else ""
        if not git or zone not in (Zone.PROJECT, Zone.SECRET):
            return ""
        state = self.facts.path(path).git or "untracked"
        return "own" if state == "untracked" and self.facts.is_created_in_session(path) else state

    def _resolve_glob(self, word: Word, path: str, *, with_state: bool) -> Target:
        """Resolve a known word with wildcards by its constant directory; `dir/*` counts as `dir` itself."""
        if not with_state and (secret := find_matched_secret(path, self.facts.home.rstrip("/"), self._is_present)):
            return Target(word.text, "path", secret, self.find_zone(secret))
        wildcard = _WILDCARD.search(path)
        slash = path.rfind("/", 0, wildcard.start() if wildcard else len(path))
        parent, name = path[:slash] or "/", path[slash + 1 :].partition("/")[0]
        whole = name in _CATCH_ALL_GLOBS
        zone = self.find_zone(path if not whole else "/" if parent == "/" else f"{parent}/x")
        remainder = path[slash + 1 + len(name) :]
        if (
            whole
            and remainder
            and not with_state
            and self.find_zone(f"{parent.rstrip('/')}/x{remainder}") is Zone.SECRET
        ):
            # `/home/*/.ssh/id_rsa`: what follows the pattern tells what is read there.
            zone = Zone.SECRET
        if not with_state and _may_match_secret(path[path.rfind("/") + 1 :]):
            zone = Zone.SECRET
        if zone is Zone.HOME and not whole:
            # `~/.ss*` may well be `~/.ssh`.
            zone = self._guess_zone(parent, name, zone)
        if not with_state or zone is not Zone.PROJECT:
            state = "ignored" if zone is Zone.HOME and is_cache(path) else ""
            return _make_row(Target, (word.text, "path", path, zone, state))
        real_parent = self.facts.path(parent, git=False).real
        if real_parent != parent:
            return self._resolve_glob(word, real_parent.rstrip("/") + path[slash:], with_state=True)
        if is_build_output(path[len(self._project_root) + 1 :]):
            return Target(word.text, "path", path, zone, "ignored")
        fact = self.facts.path(parent)
        state = {"absent": "absent", "unknown": ""}.get(fact.kind, fact.git or "untracked")
        return Target(word.text, "path", path, zone, state)

    def _is_present(self, path: str) -> bool:
        return self.facts.path(path, git=False).exists

    def _guess_zone(self, parent: str, pattern: str, zone: Zone) -> Zone:
        """Return the most sensitive zone that a pattern in a home directory may match."""
        for name in _GUESSED_NAMES:
            if pattern.startswith(name[:2]) and fnmatchcase(name, pattern):
                matched_zone = self.find_zone(f"{parent}/{name}")
                if matched_zone is not Zone.HOME:
                    return matched_zone
        return zone

    def _resolve_partial(self, word: Word, cwd: Word | None) -> Target:
        """Resolve a word that is known in part by its constant beginning, if that says anything."""
        prefix = word.constant_prefix
        if _TMPDIR_PATH.match(word.raw.lstrip('"')):
            return Target(word.display_text, "path", "/tmp/…", Zone.TEMP)
        if "/" not in prefix:
            name = word.text.rsplit("/", 1)[-1]
            # `$HOME_OR_NOT/.ssh/id_rsa`: the end of a path can name a secret too.
            if UNKNOWN not in name and name and is_secret("/" + word.text.rsplit(UNKNOWN, 1)[-1].lstrip("/")):
                return Target(word.display_text, "path", "", Zone.SECRET)
            if not prefix or prefix.startswith("-") or word.text.startswith(UNKNOWN):
                return Target(word.display_text)
            directory = self.to_absolute(".", cwd)
        else:
            directory = self.to_absolute(prefix[: prefix.rindex("/") + 1], cwd)
        if not directory:
            return Target(word.display_text)
        tail = word.text[len(prefix) :].replace(UNKNOWN, "x")
        zone = self.find_zone(f"{directory.rstrip('/')}/{prefix.rsplit('/', 1)[-1]}{tail}")
        return Target(word.display_text, "path", "", zone)


def _may_match_secret(pattern: str) -> bool:
    """Return whether the name of a file is a pattern that was written with secrets in mind: `.env*`, `id_*`."""
    # The first letters must be written out: `*` matches secrets too, and nearly everything else.
    return pattern.startswith(_GUESSED_BEGINNINGS) and any(
        pattern.startswith(name[:3]) and fnmatchcase(name, pattern) for name in _GUESSED_SECRETS
    )


def _is_cache_name(text: str) -> bool:
    """Return whether a name means what programs make again wherever it lies: `__pycache__`, `.mypy_cache`."""
    hidden = text.rstrip("/").startswith((".", "__", "node_modules"))
    return hidden and "/" not in text.rstrip("/") and is_build_output(text.rstrip("/"))


def _means_home(raw: str) -> bool:
    return raw[:1] not in _QUOTES or (raw[:1] == "$" and raw[1:2] not in ("'", '"'))


def is_recoverable(target: Target) -> bool:
    """Return whether what is lost at a path can be had again: temporary, built, in git, or absent."""
    if target.zone is Zone.TEMP:
        return True
    if target.zone is Zone.PROJECT:
        return target.state in ("ignored", "absent", "tracked", "own")
    # Outside the project the verdict must not depend on what happens to lie there today: the same command may run on
    # another machine tomorrow.
    return target.state == "ignored" or (target.state == "tracked" and target.zone is Zone.SECRET)


class _GlobTable:
    """A set of globs, sorted so that a set, a prefix or a suffix answers most of them and few need a regex."""

    __slots__ = ("_exact", "_globs", "_infixes", "_prefix_width", "_prefixes", "_regex", "_suffixes")

    def __init__(self, table: str) -> None:
        exact, prefixes, suffixes, infixes, globs = set(), [], [], [], []
        for glob in table.split():
            anchored = glob.startswith(("~", "/"))
            trunk = glob.removesuffix("**")
            if trunk[:2] == "/*" and trunk[2:] and not {"*", "?"} & set(trunk[2:]):
                suffixes.append(trunk[2:])  # in a table of names, each of which stands behind a slash
            elif "*" in trunk or "?" in trunk:
                globs.append(glob)
            elif anchored:
                exact.add(glob) if trunk == glob else prefixes.append(trunk)
            else:
                suffixes.append("/" + glob) if trunk == glob else infixes.append("/" + trunk)
        self._exact, self._globs = frozenset(exact), globs
        self._regex: re.Pattern[str] | None = None
        self._prefix_width = min(map(len, prefixes), default=0)
        self._prefixes = zone_tables.group_prefixes(prefixes, width=self._prefix_width)
        self._suffixes, self._infixes = zone_tables.group_suffixes(suffixes), tuple(infixes)

    def __contains__(self, path: str) -> bool:
        if path in self._exact or path.startswith(self._prefixes.get(path[: self._prefix_width], ())):
            return True
        if path.endswith(self._suffixes.get(path[-1:], ())):
            return True
        if any(map(path.__contains__, self._infixes)):
            return True
        # Compiled on first use: a process that answers one hook call rarely gets here.
        if self._regex is None:
            bodies = (translate(glob.replace("**", "*")) for glob in self._globs)
            self._regex = re.compile("|".join(f"(?:{body})" for body in bodies) or r"(?!)")
        return self._regex.match(path) is not None


_SPECIAL_DIRECTORIES, _SPECIAL_PREFIXES = zone_tables.SPECIAL_DIRECTORIES, zone_tables.SPECIAL_PREFIXES
_SPECIAL_SUFFIXES = zone_tables.SPECIAL_SUFFIXES
_GUARD_PATHS = _GlobTable(zone_tables.GUARD_GLOBS)
_EXTENSION_PATHS = _GlobTable(zone_tables.EXTENSION_GLOBS)
_HOOK_PATHS = _GlobTable(zone_tables.HOOK_GLOBS)
_PERSISTENCE_PATHS = _GlobTable(zone_tables.PERSISTENCE_GLOBS)
# In lower case: on some file systems `.SSH/ID_RSA` is the same file.
_SECRET_PATHS = _GlobTable(zone_tables.SECRET_GLOBS.lower())
_NESTED_SECRETS = tuple(
    pattern[1:]
    for pattern in zone_tables.SECRET_GLOBS.lower().split()
    if pattern.startswith("~/.") and pattern.count("/") > 1 and not {"*", "?"} & set(pattern)
)
"""Secrets of a home that lie in a directory of their own: `/.kube/config`."""
_SECRET_NAMES = _GlobTable(" ".join("/" + name for name in zone_tables.SECRET_NAME_GLOBS.lower().split()))


def abbreviate_home(path: str, home: str) -> str:
    """Return the path with its home directory, this user's or another's, written as `~`."""
    if home != "/" and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return zone_tables.ANY_HOME.sub("~", path, count=1) if path.startswith(zone_tables.HOME_PREFIXES) else path


def lies_in_home(target: Target, home: str) -> bool:
    """Return whether a target is in the home of a person, this one's or another's, and outside the project."""
    is_foreign = target.zone is Zone.SYSTEM and abbreviate_home(target.path, home)[:1] == "~"
    return is_foreign or target.zone in (Zone.HOME, Zone.SECRET)


def is_foreign_home(path: str, own_directories: Iterable[str]) -> bool:
    """Return whether a path is the whole home of another person, or of several: `/home/alice`, `/home/*`, `/Users`.

    A home that one of `own_directories` lies in is no other person's.
    """
    if path in zone_tables.HOME_PARENTS:
        return True
    home = zone_tables.ANY_HOME.match(path)
    return home is not None and home[0] == path and not any(f"{own}/".startswith(f"{path}/") for own in own_directories)


def is_guard_path(path: str) -> bool:
    """Return whether the path (as `abbreviate_home` writes it) holds hooks or settings that guard an agent."""
    return path in _GUARD_PATHS


def is_agent_extension(path: str, home: str) -> bool:
    """Return whether an agent takes commands, skills, other agents or MCP servers from the absolute path."""
    return ("/." in path or path.endswith("/mcp.json")) and abbreviate_home(path, home) in _EXTENSION_PATHS


def is_git_hook(path: str) -> bool:
    """Return whether git runs the file at this path."""
    return path in _HOOK_PATHS


def is_persistence(path: str) -> bool:
    """Return whether the file at this path runs again by itself, or decides who may log in."""
    return path in _PERSISTENCE_PATHS


def is_secret(path: str) -> bool:
    """Return whether the path holds keys, tokens or passwords."""
    path = path.lower()
    stem = zone_tables.BACKUP_SUFFIX.sub("", path)
    if not (_is_listed_secret(path) or (stem != path and _is_listed_secret(stem))):
        return False
    # `.env.example*` is about examples, too.
    is_public = zone_tables.NOT_SECRET.search
    return is_public(path.rstrip("*")) is None and is_public(stem) is None


def is_key_name(path: str) -> bool:
    """Return whether a file, in lower case, has the name of a private key or of a copy of one."""
    stem = zone_tables.BACKUP_SUFFIX.sub("", path)
    is_key = zone_tables.KEY_NAME.search
    return (is_key(path) or is_key(stem)) is not None and zone_tables.NOT_SECRET.search(stem) is None


def _is_listed_secret(path: str) -> bool:
    return (
        path in _SECRET_PATHS
        or zone_tables.KEY_NAME.search(path) is not None
        or "/" + path.rsplit("/", 1)[-1] in _SECRET_NAMES
        or zone_tables.SECRET_OF_PROGRAM.match(path) is not None
        or zone_tables.ACCOUNT_SETTINGS.match(path) is not None
    )


def is_ordinary(path: str) -> bool:
    """Return True only for a path that is in none of the tables above; False means that the tables decide."""
    if "/." in path or path.startswith(_SPECIAL_DIRECTORIES.get(path[:2], ())) or "/Library/" in path:
        return False
    name = path[path.rfind("/") + 1 :].lower()
    return not (
        name.endswith(_SPECIAL_SUFFIXES.get(name[-1:], ()))
        or name.startswith(_SPECIAL_PREFIXES.get(name[:1], ()))
        or name in zone_tables.SPECIAL_NAMES
        or " " in name
    )


def is_build_output(path: str) -> bool:
    """Return whether a build can make this again (`path` relative to the project)."""
    parts = path.split("/")
    name = parts[-1]
    _, dot, suffix = name.rpartition(".")
    return (
        not zone_tables.BUILD_NAMES.isdisjoint(parts)
        or (dot != "" and suffix in zone_tables.BUILD_SUFFIXES)
        or zone_tables.BUILD_NAME_PATTERN.match(name) is not None
        or (name[-1:] == "~" and name != "~")
    )


def is_scratch_file(path: str) -> bool:
    """Return whether the name of an absent path is that of a single file, or of something made for a trial."""
    return zone_tables.SCRATCH_NAME.search(path.rstrip("/")) is not None


def is_cache(path: str) -> bool:
    """Return whether the path is a cache below a home directory."""
    # What is hidden among the caches is kept there by a program, as its store or its state.
    return "/.cache/." not in path and zone_tables.CACHE_DIRECTORY.search(path) is not None


def is_device(path: str) -> bool:
    """Return whether the path is a disk, a partition or the memory itself."""
    return path.startswith("/dev/") and zone_tables.DISK_DEVICE.match(path) is not None


def is_sink(path: str) -> bool:
    """Return whether writing to the path changes nothing."""
    return path in zone_tables.SINK_DEVICES or path.startswith(("/dev/fd/", "/dev/pts/", "/proc/self/fd/"))


def is_system(path: str) -> bool:
    """Return whether the path belongs to the machine rather than to a person."""
    return path == "/" or path[1:].split("/", 1)[0] in zone_tables.SYSTEM_DIRECTORIES
