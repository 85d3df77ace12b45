"""A cheap fingerprint of a project's source files: git's blob ids, or a bounded walk. Never raises."""

import os
import stat
from collections.abc import Iterator, Mapping

from verdikt.model.canonical_json import git_blob_id, hash_canonical
from verdikt.model.source_tree import DOC_SUFFIXES, SourceTree, is_source_file
from verdikt.observe.git_repository import run_git
from verdikt.observe.world import find_project_root

MAX_FILES = 5_000
"""Number of files that are read; a project with more files that git does not know has no fingerprint."""

MAX_ENTRIES = 50_000
LARGE_FILE_BYTES = 1024 * 1024
"""Size from which a file is identified by size and time instead of its contents."""

_SKIPPED_DIRECTORIES = frozenset(
    (
        "node_modules bower_components venv env virtualenv site-packages __pycache__ target build dist out"
        " coverage htmlcov vendor tmp"
    ).split()
)


def read_source_tree(cwd: str, env: Mapping[str, str] = os.environ) -> SourceTree | None:
    """Return the sources of the project around a directory; None when they cannot be fingerprinted cheaply."""
    home = env.get("HOME", "")
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        return None
    root = find_project_root(os.path.realpath(cwd), home)
    # A stray marker file in a shared directory does not make all of it one project.
    if root in ("/", home, "/tmp", "/var/tmp"):
        root = os.path.realpath(cwd)
    if root in ("/", home):
        return None
    try:
        stamps = _stamp_by_git(root, env) if os.path.lexists(os.path.join(root, ".git")) else _stamp_by_walk(root)
    except (OSError, ValueError):
        return None
    if stamps is None:
        return None
    files, modification_times = stamps
    return SourceTree(root, hash_canonical(files), files, modification_times)


FileStamps = tuple[dict[str, str], dict[str, float]]


def _stamp_by_git(root: str, env: Mapping[str, str]) -> FileStamps | None:
    """Stamp committed and staged files by their blob id, changed and new ones by the id they would get."""
    exclusions = [f"--exclude={name}/" for name in sorted(_SKIPPED_DIRECTORIES)]
    listing = run_git(root, env, "ls-files", "-z", "-s", "-v", "-c", "-m", "-o", "--exclude-standard", *exclusions)
    if listing is None:
        return None
    files: dict[str, str] = {}
    files_to_read: set[str] = set()
    for record in filter(None, listing.split("\0")):
        tag, description = record[0], record[2:]
        if tag == "?":
            if is_source_file(description) and not any(part.startswith(".") for part in description.split("/")):
                files_to_read.add(description)
            continue
        mode_and_blob, _, path = description.partition("\t")
        if path.lower().endswith(DOC_SUFFIXES):
            continue
        files.setdefault(path, mode_and_blob.split(" ")[1] if " " in mode_and_blob else "")
        if tag != "H":  # in lower case where git was told not to look: we do
            files_to_read.add(path)
    if len(files_to_read) > MAX_FILES:
        return None
    # SHA-1 or SHA-256 repositories: new files are hashed like the known ones.
    size = len(next((blob for blob in files.values() if blob), ""))
    modification_times: dict[str, float] = {}
    for path in files_to_read:
        stamp, when = _stamp_file(os.path.join(root, path), size)
        if stamp:
            files[path], modification_times[path] = stamp, when
        else:
            files.pop(path, None)
    return _escape_names(files), modification_times


def _stamp_by_walk(root: str) -> FileStamps | None:
    files: dict[str, str] = {}
    modification_times: dict[str, float] = {}
    for count, path in enumerate(_walk_files(root)):
        if count > MAX_ENTRIES or len(files) > MAX_FILES:
            return None
        if path and is_source_file(path):
            stamp, when = _stamp_file(os.path.join(root, path), 40)
            if stamp:
                files[path], modification_times[path] = stamp, when
    return _escape_names(files), modification_times


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
                if entry.name not in _SKIPPED_DIRECTORIES and not entry.name.startswith("."):
                    pending_directories.append(f"{name}/")
                yield ""
            else:
                yield name if entry.is_file(follow_symlinks=False) else ""


def _stamp_file(path: str, size: int) -> tuple[str, float]:
    """Return a stamp of a file's contents and its modification time; empty when it is not a file."""
    try:
        # A link is stamped as a link: following it could leave the project or block on a pipe.
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
    """Return the stamps with names that are valid UTF-8."""
    return {path.encode("utf-8", "backslashreplace").decode(): stamp for path, stamp in files.items()}
