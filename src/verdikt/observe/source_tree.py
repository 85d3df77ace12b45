"""The sources around a directory, as one cheap fingerprint: what git knows of them, or a bounded walk. Never raises."""

import os
import stat
from collections.abc import Iterator, Mapping

from verdikt.model.canonical_json import git_blob_id, hash_canonical
from verdikt.model.source_tree import DOC_SUFFIXES, SourceTree, is_source_file
from verdikt.observe.git_repository import run_git
from verdikt.observe.world import find_project_root

MAX_FILES = 5_000
"""Files that are read; a project with more of them that git does not vouch for has no fingerprint."""

MAX_ENTRIES = 50_000
LARGE_FILE_BYTES = 1024 * 1024
"""Bytes from which on a file is known by its size and time instead of its contents."""

_SKIPPED_DIRECTORIES = frozenset(
    "node_modules bower_components venv env virtualenv site-packages __pycache__ target build dist out coverage htmlcov vendor tmp".split()
)


def read_source_tree(cwd: str, env: Mapping[str, str] = os.environ) -> SourceTree | None:
    """The sources of the project around a directory as they are now; None when that cannot be told cheaply."""
    home = env.get("HOME", "")
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        return None
    root = find_project_root(os.path.realpath(cwd), home)
    if root in ("/", home, "/tmp", "/var/tmp"):
        root = os.path.realpath(cwd)
    if root in ("/", home):
        return None
    try:
        found = _stamp_by_git(root, env) if os.path.lexists(os.path.join(root, ".git")) else _stamp_by_walk(root)
    except (OSError, ValueError):
        return None
    if found is None:
        return None
    files, touched = found
    return SourceTree(root, hash_canonical(files), files, touched)


FileStamps = tuple[dict[str, str], dict[str, float]]


def _stamp_by_git(root: str, env: Mapping[str, str]) -> FileStamps | None:
    """What is committed or staged by its blob; what is changed or new by the blob it would be."""
    beside = [f"--exclude={name}/" for name in sorted(_SKIPPED_DIRECTORIES)]
    listing = run_git(root, env, "ls-files", "-z", "-s", "-v", "-c", "-m", "-o", "--exclude-standard", *beside)
    if listing is None:
        return None
    files: dict[str, str] = {}
    looked_at: set[str] = set()
    for record in filter(None, listing.split("\0")):
        tag, rest = record[0], record[2:]
        if tag == "?":
            if is_source_file(rest) and not any(part.startswith(".") for part in rest.split("/")):
                looked_at.add(rest)
            continue
        about, _, path = rest.partition("\t")
        if path.lower().endswith(DOC_SUFFIXES):
            continue
        files.setdefault(path, about.split(" ")[1] if " " in about else "")
        if tag != "H":  # in lower case where git was told not to look: we do
            looked_at.add(path)
    if len(looked_at) > MAX_FILES:
        return None
    size = len(next((blob for blob in files.values() if blob), ""))
    touched: dict[str, float] = {}
    for path in looked_at:
        stamp, when = _stamp_file(os.path.join(root, path), size)
        if stamp:
            files[path], touched[path] = stamp, when
        else:
            files.pop(path, None)
    return _escape_names(files), touched


def _stamp_by_walk(root: str) -> FileStamps | None:
    files: dict[str, str] = {}
    touched: dict[str, float] = {}
    for seen, path in enumerate(_walk_files(root)):
        if seen > MAX_ENTRIES or len(files) > MAX_FILES:
            return None
        if path and is_source_file(path):
            stamp, when = _stamp_file(os.path.join(root, path), 40)
            if stamp:
                files[path], touched[path] = stamp, when
    return _escape_names(files), touched


def _walk_files(root: str) -> Iterator[str]:
    """The files below a directory; an empty name for whatever else was looked at."""
    below = [""]
    while below:
        here = below.pop()
        try:
            entries = sorted(os.scandir(os.path.join(root, here)), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name = f"{here}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_DIRECTORIES and not entry.name.startswith("."):
                    below.append(f"{name}/")
                yield ""
            else:
                yield name if entry.is_file(follow_symlinks=False) else ""


def _stamp_file(path: str, size: int) -> tuple[str, float]:
    """What a file holds, and when it was changed; empty when it is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
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


def _escape_names(files: Mapping[str, str]) -> dict[str, str]:
    """Names that are no text, made one."""
    return {path.encode("utf-8", "backslashreplace").decode(): stamp for path, stamp in files.items()}
