"""From a word on a command line to what it names: absolute path, zone, and what git knows of it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING

from verdikt.effects import zone as places
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Word

_WILDCARD = compile_lazily(r"[*?\[]")
_TMPDIR_PATH = compile_lazily(r"^\$(?:TMPDIR|\{TMPDIR[^}]*\})\"?/[\w.-]*\w[^*?]*$")
"""Below where every system puts what is temporary; not the whole of it, and not where the variable may be empty."""
_CATCH_ALL_GLOBS = frozenset(("*", ".*", ".", "..", "{*,.*}", "*.*", "**", ".[!.]*", ".??*", "?*", "[!.]*"))


_QUOTES = frozenset("'\"$\\")
_TEMPORARY_DIRECTORIES = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/dev/shm")


@lru_cache(maxsize=64)
def _normalize_roots(home: str, project_root: str) -> tuple[str, str, str]:
    """The home, the top of the project, and how paths below it begin."""
    home = home.rstrip("/") or "/"
    root = project_root.rstrip("/") or "/"
    # A home directory or a whole disk is nobody's project: work there is outside of one.
    root = "" if root in ("/", home) or home.startswith(root + "/") else root
    return home, root, root + "/" if root else "\0"


class TargetResolver:
    """Resolves words of one action. Looks at the disk and at git only when asked for a path's state."""

    __slots__ = ("_cwd", "_home", "_project_prefix", "_project_root", "_temporary_prefixes", "facts")

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        """What the answers rest on."""
        self._cwd = facts.cwd
        self._home = ""
        self._project_root = ""
        self._project_prefix = ""
        self._temporary_prefixes: tuple[str, ...] = ()

    def _locate_project(self) -> None:
        """Finds out where the project and the home are, when the first path is asked for."""
        self._home, self._project_root, self._project_prefix = _normalize_roots(
            self.facts.home, self.facts.project_root
        )

    @property
    def project_root(self) -> str:
        """The top of the project, or an empty string where there is none."""
        if not self._project_prefix:
            self._locate_project()
        return self._project_root

    def to_absolute(self, text: str, cwd: Word | None = None, *, expand_home: bool = True) -> str:
        """The absolute, normalised path of constant text; empty when the directory it starts from is unknown."""
        if expand_home and text.startswith("~") and (text == "~" or text[1] == "/"):
            text = (self.facts.home.rstrip("/") or "/") + text[1:]
        if text[:1] != "/":
            base = self._cwd
            if cwd is not None:
                base = cwd.text
                if UNKNOWN in base:
                    return ""
                if not base.startswith("/"):
                    base = f"{self._cwd}/{base}"
            text = f"{base}/{text}"
        if "/." not in text and "//" not in text:
            return text if text[-1] != "/" else text[:-1] or "/"  # already normal
        path = normpath(text)
        return path[1:] if path.startswith("//") else path

    def resolve_path(
        self, word: Word, cwd: Word | None = None, *, with_state: bool = False, git: bool = True
    ) -> Target:
        """The target that a word names as a path; with `look`, symbolic links are followed and the state is told."""
        text, raw, glob = word
        if UNKNOWN in text:
            return self._resolve_partial(word, cwd)
        # The shell has put the home directory in the place of a tilde that stands for it. One that comes out of a
        # variable is a name like any other to most shells, but whoever put it there means the home.
        path = self.to_absolute(text, cwd, expand_home=text[:1] == "~" and _means_home(raw))
        if not path:
            return Target(text)
        if glob:
            return self._resolve_glob(word, path, with_state=with_state and git)
        if not with_state:
            return _make_row(Target, (text or path, "path", path, self.find_zone(path), ""))
        return self.resolve_absolute(path, text, with_state=True, git=git)

    def resolve_absolute(self, path: str, text: str = "", *, with_state: bool = False, git: bool = True) -> Target:
        """The target at an absolute path; `git` says whether git may be asked about its state."""
        zone = self.find_zone(path)
        if not with_state:
            return Target(text or path, "path", path, zone)
        if zone is Zone.SYSTEM:
            return Target(text or path, "path", path, zone)
        fact = self.facts.path(path, git=False)
        if fact.real != path:
            real = self.find_zone(fact.real)
            # A link inside the project does not make what it leads to part of the project.
            if real is not zone:
                path, zone = fact.real, real
        return Target(text or path, "path", path, zone, self._find_state(path, zone, fact.kind, git=git))

    def find_zone(self, path: str) -> Zone:
        """Where an absolute path lies."""
        if not self._project_prefix:
            self._locate_project()
        if self.facts.is_guarded_path(path):
            return Zone.GUARD
        inside = path.startswith(self._project_prefix)
        if places.is_ordinary(path):
            if inside:
                return Zone.PROJECT
            short = places.abbreviate_home(path, self._home)
        else:
            short = places.abbreviate_home(path, self._home)
            if places.is_guard_path(short) or places.is_git_hook(short):
                return Zone.GUARD
            if places.is_persistence(short):
                return Zone.PERSIST
            if places.is_secret(short):
                return Zone.SECRET
        if inside or path == self._project_root:
            return Zone.PROJECT
        if not self._temporary_prefixes:
            self._temporary_prefixes = tuple([f"{place}/" for place in (*self.facts.temp, *_TEMPORARY_DIRECTORIES)])
        own = path == self._home or path.startswith(self._home + "/")
        # A home that was put among temporary things is a home all the same.
        if path.startswith(self._temporary_prefixes) and not (own and self._home.startswith(self._temporary_prefixes)):
            return Zone.TEMP
        if short.startswith("~"):
            return Zone.HOME if own else Zone.SYSTEM
        return Zone.SYSTEM if places.is_system(path) else Zone.OUTSIDE

    def _find_state(self, path: str, zone: Zone, kind: str, *, git: bool) -> str:
        """tracked, modified, untracked, own (untracked, made in this session), ignored, absent; empty when the world does not know."""
        if zone is Zone.PROJECT:
            if places.is_build_output(path[len(self._project_root) + 1 :]):
                return "ignored"
        elif zone is Zone.HOME and (places.is_cache(path) or "/node_modules" in path or "/__pycache__" in path):
            return "ignored"
        if kind in ("absent", "unknown"):
            return "absent" if kind == "absent" else ""
        if not git or zone not in (Zone.PROJECT, Zone.SECRET):
            return ""
        state = self.facts.path(path).git or "untracked"
        return "own" if state == "untracked" and self.facts.is_created_in_session(path) else state

    def _resolve_glob(self, word: Word, path: str, *, with_state: bool) -> Target:
        """A word with wildcards: it lies where its constant directory lies; `dir/*` is as much as `dir` itself."""
        wild = _WILDCARD.search(path)
        slash = path.rfind("/", 0, wild.start() if wild else len(path))
        parent, name = path[:slash] or "/", path[slash + 1 :].partition("/")[0]
        whole = name in _CATCH_ALL_GLOBS
        zone = self.find_zone(path if not whole else "/" if parent == "/" else f"{parent}/x")
        if zone is Zone.HOME and not whole:
            # `~/.ss*` may well be `~/.ssh`
            zone = self._guess_zone(parent, name, zone)
        if not with_state or zone is not Zone.PROJECT:
            state = "ignored" if zone is Zone.HOME and places.is_cache(path) else ""
            return Target(word.display_text, "path", path, zone, state)
        if places.is_build_output(path[len(self._project_root) + 1 :]):
            return Target(word.display_text, "path", path, zone, "ignored")
        fact = self.facts.path(parent)
        state = {"absent": "absent", "unknown": ""}.get(fact.kind, fact.git or "untracked")
        return Target(word.display_text, "path", path, zone, state)

    def _guess_zone(self, parent: str, pattern: str, zone: Zone) -> Zone:
        for name in (".ssh", ".aws", ".gnupg", ".bashrc", ".zshrc", ".netrc", ".claude"):
            if pattern.startswith(name[:2]) and fnmatchcase(name, pattern):
                found = self.find_zone(f"{parent}/{name}")
                if found is not Zone.HOME:
                    return found
        return zone

    def _resolve_partial(self, word: Word, cwd: Word | None) -> Target:
        """A word that is known in part: it lies where its constant beginning lies, if that says anything."""
        prefix = word.constant_prefix
        if _TMPDIR_PATH.match(word.raw.lstrip('"')):
            return Target(word.display_text, "path", "/tmp/…", Zone.TEMP)
        if "/" not in prefix:
            name = word.text.rsplit("/", 1)[-1]
            # `$HOME_OR_NOT/.ssh/id_rsa`: the end of a path can tell a secret too.
            if UNKNOWN not in name and name and places.is_secret("/" + word.text.rsplit(UNKNOWN, 1)[-1].lstrip("/")):
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


_make_row = tuple.__new__  # of all fields at once, because there are so many of these


def _means_home(raw: str) -> bool:
    return raw[:1] not in _QUOTES or (raw[:1] == "$" and raw[1:2] not in ("'", '"'))


def is_recoverable(target: Target) -> bool:
    """Whether what is lost at a path target can be had again: temporary, built, in git, or not there at all."""
    if target.zone is Zone.TEMP:
        return True
    if target.zone is Zone.PROJECT:
        return target.state in ("ignored", "absent", "tracked", "own")
    # Elsewhere the text is judged, not what happens to lie there: it may be another machine tomorrow.
    return target.state == "ignored" or (target.state == "tracked" and target.zone is Zone.SECRET)
