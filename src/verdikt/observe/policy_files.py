"""Where policy files lie, and reading them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from verdikt.errors import PolicyError
from verdikt.model.yaml_document import MAX_BYTES
from verdikt.observe.guarded_paths import find_host_project

POLICY_FILENAME = "governance.yaml"
MANAGED_POLICY_PATH = "/etc/verdikt/" + POLICY_FILENAME


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy file as it was read; `layer` says who wrote it."""

    layer: str  # managed, user, project, or the directory below the project that it is for
    path: str
    data: bytes


def read_policy_file(path: str) -> bytes | None:
    """The bytes of a policy file; None when there is none. What is there and cannot be read is a `PolicyError`."""
    try:
        # Not blocking, because a pipe in its place would make every hook wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise PolicyError("expected a file, found a link that leads nowhere", where=path) from None
        return None
    except (OSError, ValueError) as error:
        raise PolicyError(f"expected a file that can be read, found: {_describe_error(error)}", where=path) from error
    try:
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PolicyError("expected a file, found something else in its place", where=path)

            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"expected a file that can be read, found: {_describe_error(error)}", where=path) from error


def _describe_error(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def find_user_policy(environ: Mapping[str, str]) -> str:
    """`$XDG_CONFIG_HOME/verdikt/governance.yaml`, by default below `~/.config`."""
    return _join_policy_path(environ.get("XDG_CONFIG_HOME") or "", environ.get("HOME") or os.path.expanduser("~"))


@lru_cache(maxsize=64)
def _join_policy_path(config: str, home: str) -> str:
    return os.path.join(config or os.path.join(home, ".config"), "verdikt", POLICY_FILENAME)


def resolve_directory(directory: str) -> str:
    """A directory without links in its path. Asked of the system where it tells: that is one look instead of one for each part."""
    try:
        descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (AttributeError, OSError, ValueError):
        return os.path.realpath(directory)
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(directory)
    finally:
        os.close(descriptor)
    # What was taken away meanwhile, or lies outside of what this process can see, has no such name.
    return found if found.startswith("/") and not found.endswith(" (deleted)") else os.path.realpath(directory)


def list_project_policies(start: str, environ: Mapping[str, str]) -> list[str]:
    """Where policy files of a project may lie, the outermost first: from the top of the repository down to `start`.

    The outermost one comes first because it is the higher layer: a file that an agent puts into a directory below it,
    to work from there, can only tighten. A host that names the project it was started in keeps that project's policy in
    force wherever the agent goes: a directory of its own making, with a repository of its own, is no way out.
    """
    anchor, here = find_host_project(environ), resolve_directory(start)
    if not anchor:
        return _list_ancestor_policies(here, environ)
    top = here if anchor == start else resolve_directory(anchor)
    return [*_list_ancestor_policies(top, environ), *([] if here == top else _list_nested_policies(top, here))]


def _list_ancestor_policies(here: str, environ: Mapping[str, str]) -> list[str]:
    """Policy files from the top of the repository down to a directory without links in its path."""
    home = ""
    found: list[str] = []
    while True:
        inside = here if here[-1:] == "/" else f"{here}/"
        found.append(inside + POLICY_FILENAME)
        try:
            os.lstat(f"{inside}.git")
            break
        except (OSError, ValueError):
            pass
        above, home = os.path.dirname(here), home or resolve_directory(environ.get("HOME") or os.path.expanduser("~"))
        if above in (here, home) or here == home:
            # Outside a repository only the directory itself speaks: what lies around it is not this project's.
            readable = [path for path in found if os.path.lexists(path)]
            return readable[:1]
        here = above
    return found[::-1]


def _list_nested_policies(top: str, here: str) -> list[str]:
    """Policy files below `top` on the way down to `here`."""
    found = []
    while here.startswith(top.rstrip("/") + "/"):
        found.append(os.path.join(here, POLICY_FILENAME))
        here = os.path.dirname(here)
    return found[::-1]


def list_policy_places(
    start: str, environ: Mapping[str, str], *, managed: str = MANAGED_POLICY_PATH
) -> tuple[tuple[str, str], ...]:
    """Where a policy file would be in force at `start`, as layer and path, the highest layer first; few of them exist."""
    more = environ.get("VERDIKT_MANAGED_POLICY", "")
    return _assign_layers(managed, more, find_user_policy(environ), tuple(list_project_policies(start, environ)))


@lru_cache(maxsize=256)
def _assign_layers(managed: str, more: str, user: str, project: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    places = [("managed", managed)]
    if more:
        # It comes beside the system's own file and never in its place, or a variable could switch that off.
        places.append(("managed", more))
    places.append(("user", user))
    top = os.path.dirname(project[0]) if project else ""
    for path in project:
        below = os.path.dirname(path)[len(top) :].strip("/")  # they all lie at the top or below it
        places.append((f"project {below}" if below else "project", path))
    return tuple(places)


def read_policy_files(
    start: str, environ: Mapping[str, str], *, managed: str = MANAGED_POLICY_PATH
) -> list[PolicyFile]:
    """Every policy file that is in force at `start`, the highest layer first."""
    return read_policy_places(list_policy_places(start, environ, managed=managed))


def read_policy_places(places: Iterable[tuple[str, str]]) -> list[PolicyFile]:
    """The policy files that are there; a `PolicyError` holds every fault of reading them."""
    found: list[PolicyFile] = []
    faults: list[PolicyError] = []
    for layer, path in places:
        try:
            data = read_policy_file(path)
        except PolicyError as error:
            faults += error.faults
            continue
        if data is not None and all(path != other.path for other in found):
            found.append(PolicyFile(layer, path, data))
    if faults:
        raise PolicyError.from_faults(faults)
    return found
