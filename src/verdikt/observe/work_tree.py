"""A fingerprint of a project: contents of its files and the state of its repository. Bounded; never raises."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from verdikt.model.canonical_json import git_blob_id, sha256_hex
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import GitState, WorkTree, can_make_checks_stale
from verdikt.observe.git_repository import run_git
from verdikt.observe.held_databases import open_unheld
from verdikt.observe.small_file import read_small_text
from verdikt.observe.world import find_project_root

T = TypeVar("T")

MAX_FILES = 5_000
"""Number of files that are read; a project with more files that git does not know has no fingerprint."""

MAX_ENTRIES = 50_000
LARGE_FILE_BYTES = 1024 * 1024
"""Size from which a file is identified by size and time instead of its contents."""

MAX_REFS = 300
"""Number of references that are read, the newest first."""

MAX_SUBMODULES = 20

_SUBMODULE_MODE = "160000"
_SKIPPED_DIRECTORIES = frozenset(
    (
        "node_modules bower_components venv env virtualenv site-packages __pycache__ target build dist out"
        " coverage htmlcov vendor tmp"
    ).split()
)
_REMOTE = compile_lazily(r'^\s*\[remote "([^"\n]{1,100})"\]', re.MULTILINE)
_OPERATION_FILES = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)
"""File in the git directory → the operation that is under way while it exists."""


def find_tree_root(cwd: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the project around a directory that may be fingerprinted; empty when there is none."""
    home = env.get("HOME", "")
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        return ""
    root = find_project_root(os.path.realpath(cwd), home)
    # A stray marker file in a shared directory does not make all of it one project.
    if root in ("/", home, "/tmp", "/var/tmp"):
        root = os.path.realpath(cwd)
    return "" if root in ("/", home) else root


def read_work_tree(cwd: str, env: Mapping[str, str] = os.environ) -> WorkTree | None:
    """Return the files of the project around a directory; None when they cannot be fingerprinted cheaply."""
    root = find_tree_root(cwd, env)
    if not root:
        return None
    try:
        if os.path.lexists(os.path.join(root, ".git")):
            return _read_repository(root, env)
        return _read_directory(root)
    except (OSError, ValueError):
        return None


def list_changes_between(
    root: str, env: Mapping[str, str], first: str, second: str
) -> dict[str, tuple[str, str]] | None:
    """Return path → (content in the first commit, in the second) of files that differ; None when git cannot tell."""
    if first == second:
        return {}
    if not first or not second:
        # Before the first commit everything is new; `dirty` of that moment has all files already.
        listing = run_git(root, env, "ls-tree", "-r", "-z", first or second)
        if listing is None:
            return None
        blobs = _parse_tree_listing(listing)
        return {path: (blob, "") if first else ("", blob) for path, blob in blobs.items()}
    listing = run_git(root, env, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", first, second)
    return None if listing is None else _parse_raw_diff(listing)


def _parse_tree_listing(listing: str) -> dict[str, str]:
    blobs = {}
    for record in filter(None, listing.split("\0")):
        head, _, path = record.partition("\t")
        blobs[_escape_name(path)] = head.split(" ")[2]
    return blobs


def _parse_raw_diff(listing: str) -> dict[str, tuple[str, str]]:
    fields = iter(listing.split("\0"))
    changes: dict[str, tuple[str, str]] = {}
    for head in fields:
        if not head.startswith(":"):
            continue
        _, _, old, new, _ = head.split(" ")
        # git writes an id of zeros for a file that does not exist.
        changes[_escape_name(next(fields, ""))] = (old if old.strip("0") else "", new if new.strip("0") else "")
    return changes


def _read_repository(root: str, env: Mapping[str, str]) -> WorkTree | None:
    """Identify committed and staged files by their blob id, changed and new ones by the id they would get."""
    exclusions = [f"--exclude={name}/" for name in sorted(_SKIPPED_DIRECTORIES)]
    listing = run_git(root, env, "ls-files", "-z", "-s", "-v", "-c", "-m", "-o", "--exclude-standard", *exclusions)
    if listing is None:
        return None
    listed = _parse_listing(listing, root)
    tracked = listed.tracked
    if len(listed.unknown) + len(listed.changed) > MAX_FILES:
        return None
    git = _read_git_state(root, env)
    staged = _read_staged(root, env, git.head, tracked)
    if staged is None:
        return None
    files, dirty, times = dict(tracked), {}, {}
    # SHA-1 or SHA-256 repositories: new files are hashed like the known ones.
    size = len(next((blob for blob in tracked.values() if blob), git.head))
    # git does not list a submodule in which only files were edited.
    for path in {*listed.unknown, *listed.changed, *staged, *sorted(listed.submodules)[:MAX_SUBMODULES]}:
        if path in listed.submodules:
            stamp, when = _stamp_submodule(os.path.join(root, path), env), 0.0
        elif path in listed.unknown or path in listed.changed:
            stamp, when = _stamp_file(os.path.join(root, path), size)
        else:
            stamp, when = tracked.get(path, ""), 0.0
        base = staged.get(path, "" if path in listed.unknown else tracked.get(path, ""))
        if stamp:
            files[path] = stamp
        else:
            files.pop(path, None)
        if stamp != base:
            dirty[path] = (base, stamp)
            times[path] = when
    return _build_tree(root, files, dirty, times, tracked=frozenset(tracked), git=git)


class _Listing(NamedTuple):
    """The files that git lists: those it tracks with their content, and which of them have to be read."""

    tracked: dict[str, str]
    unknown: set[str]
    changed: set[str]
    submodules: set[str]


def _parse_listing(listing: str, root: str) -> _Listing:
    listed = _Listing({}, set(), set(), set())
    tracked = listed.tracked
    # By position, because a large repository has hundreds of thousands of these: `H 100644 <id> 0<tab>path`.
    for record in filter(None, listing.split("\0")):
        tag = record[0]
        if tag == "?":
            listed.unknown.add(record[2:])
            continue
        tab = record.index("\t")
        path = record[tab + 1 :]
        tracked.setdefault(path, record[9 : tab - 2])
        if record.startswith(_SUBMODULE_MODE, 2):
            listed.submodules.add(path)
        # In lower case where git was told not to look: we do. `S` is a file that a sparse checkout leaves out, unless
        # it lies there all the same.
        if tag != "H" and (tag != "S" or os.path.lexists(f"{root}/{path}")):
            listed.changed.add(path)
    return listed


def _read_staged(root: str, env: Mapping[str, str], head: str, tracked: Mapping[str, str]) -> dict[str, str] | None:
    """Return staged path → its content in the last commit, empty for a new file; None when git cannot tell."""
    if not head:
        return dict.fromkeys(tracked, "")
    listing = run_git(root, env, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", head, "--")
    if listing is None:
        return None
    fields = iter(listing.split("\0"))
    staged: dict[str, str] = {}
    for description in fields:
        if description.startswith(":"):
            old = description.split(" ")[2]
            staged[next(fields, "")] = old if old.strip("0") else ""
    return staged


def _read_git_state(root: str, env: Mapping[str, str]) -> GitState:
    head = (run_git(root, env, "rev-parse", "--verify", "-q", "HEAD^{commit}") or "").strip()
    branch = (run_git(root, env, "symbolic-ref", "--short", "-q", "HEAD") or "").strip()
    refs = _read_refs(root, env)
    pushed: bool | None = None
    is_tracking = any(name.startswith("refs/remotes/") for name in refs)
    if head and is_tracking:
        listing = run_git(root, env, "for-each-ref", "--count=1", f"--contains={head}", "refs/remotes")
        pushed = None if listing is None else bool(listing.strip())
    elif head:
        pushed = False
    directories = run_git(root, env, "rev-parse", "--absolute-git-dir", "--git-common-dir") or ""
    git_directory, _, common_directory = directories.strip().partition("\n")
    # Work trees beside each other share one file of settings.
    settings = (read_small_text(os.path.join(root, common_directory, "config")) or "") if git_directory else ""
    operation = next(
        (
            name
            for file, name in _OPERATION_FILES
            if git_directory and os.path.lexists(os.path.join(git_directory, file))
        ),
        "",
    )
    remotes = tuple(_REMOTE.findall(settings))
    return GitState(head, branch, refs, pushed, operation, sha256_hex(settings.encode())[:16], remotes)


def _read_refs(root: str, env: Mapping[str, str]) -> dict[str, str]:
    # Tags by the commit they name: an annotated tag is an object of its own.
    form = "--format=%(refname) %(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)"
    places = ("refs/heads", "refs/tags", "refs/remotes", "refs/stash")
    listing = run_git(root, env, "for-each-ref", "--sort=-creatordate", f"--count={MAX_REFS}", form, *places)
    pairs = (line.rpartition(" ") for line in (listing or "").splitlines())
    return {name: id for name, _, id in pairs if name}


def _stamp_submodule(directory: str, env: Mapping[str, str]) -> str:
    head = (run_git(directory, env, "rev-parse", "--verify", "-q", "HEAD") or "").strip()
    status = run_git(directory, env, "status", "--porcelain", "-z") or ""
    return f"{head}+{sha256_hex(status.encode('utf-8', 'replace'))[:12]}" if status else head


def _read_directory(root: str) -> WorkTree | None:
    files: dict[str, str] = {}
    times: dict[str, float] = {}
    for count, path in enumerate(_walk_files(root)):
        if count > MAX_ENTRIES or len(files) > MAX_FILES:
            return None
        if path:
            stamp, when = _stamp_file(os.path.join(root, path), 40)
            if stamp:
                files[path], times[path] = stamp, when
    dirty = {path: ("", stamp) for path, stamp in files.items()}
    return _build_tree(root, files, dirty, times, tracked=frozenset(), git=None)


def _build_tree(
    root: str,
    files: Mapping[str, str],
    dirty: Mapping[str, tuple[str, str]],
    times: Mapping[str, float],
    *,
    tracked: frozenset[str],
    git: GitState | None,
) -> WorkTree:
    # A line for each source: hashing the canonical JSON of 200,000 files would take seconds.
    lines = [f"{path}\0{stamp}" for path, stamp in files.items() if _can_make_stale(path, path in tracked)]
    digest = sha256_hex("\n".join(sorted(lines)).encode("utf-8", "backslashreplace"))
    return WorkTree(root, digest, _escape_names(files), _escape_names(dirty), _escape_names(times), git)


def _can_make_stale(path: str, is_tracked: bool) -> bool:
    """Return what `can_make_checks_stale` does; ordinary tracked files are answered once for each suffix."""
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2]
    if not is_tracked or path.startswith(".") or suffix == name or name.startswith("."):
        return can_make_checks_stale(path, tracked=is_tracked)
    return _can_suffix_make_stale(suffix)


@lru_cache(maxsize=512)
def _can_suffix_make_stale(suffix: str) -> bool:
    return can_make_checks_stale(f"x.{suffix}", tracked=True)


def _escape_names(values: Mapping[str, T]) -> Mapping[str, T]:
    """Return the values with names that are valid UTF-8."""
    if all(map(str.isascii, values)):
        return values
    return {_escape_name(path): value for path, value in values.items()}


def _walk_files(root: str) -> Iterator[str]:
    """Yield the files below a directory; an empty name for everything else, so that the caller can bound the walk."""
    pending_directories = [""]
    while pending_directories:
        directory = pending_directories.pop()
        try:
            entries = sorted(os.scandir(os.path.join(root, directory)), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name = f"{directory}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_DIRECTORIES and not _is_hidden_cache(entry.name):
                    pending_directories.append(f"{name}/")
                yield ""
            else:
                yield name if entry.is_file(follow_symlinks=False) else ""


def _stamp_file(path: str, size: int) -> tuple[str, float]:
    """Return a stamp of a file's contents and its modification time; empty when it is not a file."""
    try:
        # A link is stamped as a link: following it could leave the project or block on a pipe.
        fd = open_unheld(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return _stamp_link(path)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return "", 0.0
        if status.st_size > LARGE_FILE_BYTES:
            return f"{status.st_size}:{status.st_mtime_ns}", status.st_mtime
        with open(fd, "rb", closefd=False) as file:
            return git_blob_id(file.read(LARGE_FILE_BYTES + 1), size), status.st_mtime
    finally:
        os.close(fd)


def _stamp_link(path: str) -> tuple[str, float]:
    try:
        return f"link:{os.readlink(path)}", os.lstat(path).st_mtime
    except OSError:
        return "", 0.0


def _is_hidden_cache(name: str) -> bool:
    # Hidden directories hold caches and environments, except those in which people configure their CI.
    return name.startswith(".") and name not in (".github", ".circleci", ".gitlab", ".vscode")


def _escape_name(path: str) -> str:
    """Return a path that is valid UTF-8."""
    return path.encode("utf-8", "backslashreplace").decode()
