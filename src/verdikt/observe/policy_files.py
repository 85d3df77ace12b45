"""Policy files: where they are looked for, and how they are read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from verdikt.errors import PolicyError
from verdikt.observe.git_repository import get_user_id
from verdikt.observe.guarded_paths import find_host_project, find_own_home
from verdikt.observe.held_databases import open_unheld

POLICY_FILENAME = "governance.yaml"
MANAGED_POLICY_PATH = "/etc/verdikt/" + POLICY_FILENAME

# More than the parser accepts, so that it reports the file as too long; bounded, so that a huge file costs little.
_READ_LIMIT_BYTES = 2 << 20
_RECORD_FILE = re.compile(rb"[\w./+-]+\.toml\b")
_MAX_INCLUDED = 32


class PolicyFile(NamedTuple):
    """A policy file as it was read; `layer` says who wrote it."""

    layer: str  # managed, user, project, or the directory below the project that it is for
    path: str
    data: bytes
    included: tuple[tuple[str, bytes], ...] = ()
    """Name, as the policy has it, and content of the files that it may take records of programs from."""


def open_policy_file(layer: str, path: str, data: bytes) -> PolicyFile:
    """Return a policy file together with the files that its text names under `knowledge`."""
    # The name of a file anywhere in the text will do: which of them count is known when the text is parsed.
    if b"knowledge" not in data or b".toml" not in data:
        return PolicyFile(layer, path, data)
    names = dict.fromkeys(os.fsdecode(name) for name in _RECORD_FILE.findall(data))
    files = [(name, read_policy_file(os.path.join(os.path.dirname(path), name))) for name in [*names][:_MAX_INCLUDED]]
    return PolicyFile(layer, path, data, tuple((name, content) for name, content in files if content is not None))


def read_policy_file(path: str) -> bytes | None:
    """Return the bytes of a policy file, None when there is none; raise `PolicyError` when it cannot be read."""
    try:
        # Not blocking, because a pipe in its place would make every hook wait.
        descriptor = open_unheld(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise PolicyError("expected a file, found a link that leads nowhere", where=path) from None
        return None
    except (OSError, ValueError) as error:
        raise PolicyError(f"expected a file that can be read, found: {_describe_error(error)}", where=path) from error
    try:
        # `fdopen` refuses a directory without closing its descriptor, so it is closed below.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PolicyError("expected a file, found something else in its place", where=path)
            return file.read(_READ_LIMIT_BYTES)
    except OSError as error:
        raise PolicyError(f"expected a file that can be read, found: {_describe_error(error)}", where=path) from error
    finally:
        os.close(descriptor)


def _describe_error(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def find_user_policy(environ: Mapping[str, str]) -> str:
    """Return `$XDG_CONFIG_HOME/verdikt/governance.yaml`, by default below `~/.config`."""
    return _join_policy_path(environ.get("XDG_CONFIG_HOME") or "", environ.get("HOME") or os.path.expanduser("~"))


def find_own_policy() -> str:
    """Return the user's policy below the home directory that the system names; empty when it names none.

    The variables of a session may come from the settings of a project, which must not be able to hide this file.
    """
    home = find_own_home(get_user_id())
    return _join_policy_path("", home) if home else ""


@lru_cache(maxsize=64)
def _join_policy_path(config: str, home: str) -> str:
    return os.path.join(config or os.path.join(home, ".config"), "verdikt", POLICY_FILENAME)


def resolve_directory(directory: str) -> str:
    """Return a directory without links in its path."""
    # In this very directory one call tells: the kernel's name of the working directory has no links. A directory that
    # was moved, or replaced by a link, has another one.
    try:
        if os.getcwd() == directory:
            return directory
    except OSError:
        pass  # the working directory was deleted
    try:
        # The kernel resolves the whole path in one call; realpath needs one lstat for each part.
        descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (AttributeError, OSError, ValueError):
        return os.path.realpath(directory)
    try:
        real_path = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(directory)
    finally:
        os.close(descriptor)
    # What was taken away meanwhile, or lies outside of what this process can see, has no such name.
    return (
        real_path if real_path.startswith("/") and not real_path.endswith(" (deleted)") else os.path.realpath(directory)
    )


def list_project_policies(start: str, environ: Mapping[str, str]) -> list[str]:
    """Return where a project's policy files may be, outermost first: from the top of the repository down to `start`.

    The outermost is the higher layer: a file that an agent puts into a directory below it, to work from there, can only
    tighten. A host that names the project it was started in keeps that project's policy in force wherever the agent
    goes, so a new directory with its own repository does not escape it.
    """
    anchor, directory = find_host_project(environ), resolve_directory(start)
    if not anchor:
        return _list_ancestor_policies(directory, environ)
    top = directory if anchor == start else resolve_directory(anchor)
    return [
        *_list_ancestor_policies(top, environ),
        *([] if directory == top else _list_nested_policies(top, directory)),
    ]


def _list_ancestor_policies(directory: str, environ: Mapping[str, str]) -> list[str]:
    """Return policy files from the top of the repository down to a directory without links in its path."""
    home = ""
    paths: list[str] = []
    while True:
        prefix = directory if directory[-1:] == "/" else f"{directory}/"
        paths.append(prefix + POLICY_FILENAME)
        try:
            os.lstat(f"{prefix}.git")
            break
        except (OSError, ValueError):
            pass
        parent, home = (
            os.path.dirname(directory),
            home or resolve_directory(environ.get("HOME") or os.path.expanduser("~")),
        )
        if parent in (directory, home) or directory == home:
            # Outside a repository only the directory itself speaks: what lies around it is not this project's.
            readable = [path for path in paths if os.path.lexists(path)]
            return readable[:1]
        directory = parent
    return paths[::-1]


def _list_nested_policies(top: str, directory: str) -> list[str]:
    """Return policy files below `top` on the way down to `directory`."""
    paths = []
    while directory.startswith(top.rstrip("/") + "/"):
        paths.append(os.path.join(directory, POLICY_FILENAME))
        directory = os.path.dirname(directory)
    return paths[::-1]


def list_policy_places(
    start: str, environ: Mapping[str, str], *, managed: str = MANAGED_POLICY_PATH
) -> tuple[tuple[str, str], ...]:
    """Return layer and path of every place where a policy would be in force at `start`, highest layer first."""
    extra_managed = environ.get("VERDIKT_MANAGED_POLICY", "")
    user = find_user_policy(environ), find_own_policy()
    return _assign_layers(managed, extra_managed, user, tuple(list_project_policies(start, environ)))


@lru_cache(maxsize=256)
def _assign_layers(
    managed: str, extra_managed: str, user: tuple[str, str], project: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    places = [("managed", managed)]
    if extra_managed:
        # It comes beside the system's own file and never in its place, or a variable could switch that off.
        places.append(("managed", extra_managed))
    # Both of the user's files are in force: each can tighten, and neither hides the other.
    places += [("user", path) for path in dict.fromkeys(user) if path]
    top = os.path.dirname(project[0]) if project else ""
    for path in project:
        subdirectory = os.path.dirname(path)[len(top) :].strip("/")  # they all lie at the top or below it
        places.append((f"project {subdirectory}" if subdirectory else "project", path))
    return tuple(places)


def read_policy_files(
    start: str, environ: Mapping[str, str], *, managed: str = MANAGED_POLICY_PATH
) -> list[PolicyFile]:
    """Return every policy file that is in force at `start`, highest layer first."""
    return read_policy_places(list_policy_places(start, environ, managed=managed))


def read_policy_places(places: Iterable[tuple[str, str]]) -> list[PolicyFile]:
    """Return the policy files that exist; raise one `PolicyError` with every fault of reading them."""
    files: list[PolicyFile] = []
    faults: list[PolicyError] = []
    for layer, path in places:
        try:
            data = read_policy_file(path)
        except PolicyError as error:
            faults += error.faults
            continue
        # A managed file may be named twice, by the system and by the environment.
        if data is not None and all(path != other.path for other in files):
            try:
                files.append(open_policy_file(layer, path, data))
            except PolicyError as error:
                faults += error.faults
    if faults:
        raise PolicyError.from_faults(faults)
    return files


def is_project_layer(layer: str) -> bool:
    """Return whether a layer comes with the project, whose author is not the user."""
    return layer.startswith("project")


def is_own_place(path: str) -> bool:
    """Return whether a policy file lies where the system, and no variable of a session, says that it does."""
    return path in (MANAGED_POLICY_PATH, find_own_policy())


def is_out_of_reach(path: str) -> bool:
    """Return whether this user can neither change nor replace a managed file, so that it needs no acceptance."""
    user_id = get_user_id()
    # A file that a variable names is not the system's, and root can change everything.
    if path != MANAGED_POLICY_PATH or user_id == 0:
        return False
    try:
        statuses = [os.stat(place) for place in (path, os.path.dirname(path))]
    except OSError:
        return False
    return all(status.st_uid != user_id and not status.st_mode & 0o022 for status in statuses)


def find_main_work_tree(top: str) -> str:
    """Return the main work tree of the repository to which a linked one belongs; empty when `top` is none."""
    try:
        with open(f"{top}/.git", "rb", opener=open_unheld) as file:
            directory = os.fsdecode(file.read(4096)).partition("gitdir:")[2].strip()
    except (OSError, ValueError):
        return ""
    repository, _, name = os.path.join(top, directory).rpartition("/.git/worktrees/")
    return repository if name and "/" not in name else ""


def find_session_directory(start: str, environ: Mapping[str, str]) -> str:
    """Return the directory whose project governs: `start`, or where the host was started if `start` is elsewhere."""
    directory, anchor = resolve_directory(start), find_host_project(environ)
    if not anchor:
        return directory
    top = resolve_directory(anchor)
    return directory if f"{directory}/".startswith(f"{top.rstrip('/')}/") else top


def list_home_directories(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the user's home directories, by the environment and by the system; they are no projects."""
    own_policy = find_own_policy()
    homes = [environ.get("HOME") or os.path.expanduser("~")]
    if own_policy:
        homes.append(own_policy.removesuffix(f"/.config/verdikt/{POLICY_FILENAME}"))
    return ("/", *homes)
