"""The policies that a person has accepted: what each layer's file said, per project and for the user's own files.

`accepted.json` in the data directory names the accepted layers by digest; `accepted/<digest>.json` holds what they say.
Both are checked when they are read: a damaged record is an error, never the absence of a record.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.errors import CanonicalError, LedgerError, PolicyError
from verdikt.ledger.data_directory import get_policy_path, make_private_directory, sync_directory
from verdikt.model.canonical_json import encode_canonical, hash_canonical, parse_json, sha256_hex
from verdikt.observe.atomic_file import write_atomically
from verdikt.observe.policy_files import (
    find_main_work_tree,
    find_session_directory,
    is_out_of_reach,
    is_own_place,
    is_project_layer,
    list_home_directories,
)

if TYPE_CHECKING:
    from verdikt.observe.policy_files import PolicyFile

INDEX_NAME = "accepted.json"
DIRECTORY = "accepted"
INDEX_FORMAT = 1

REPAIR = "a person can repair it with `verdikt policy accept` in each project"

LayerDigests = tuple[tuple[str, str], ...]
"""Name and digest of layers, the highest first."""


class AcceptedIndex(NamedTuple):
    """What is accepted: the user's layers (None: never recorded) and, by project root, the project's layers."""

    user: LayerDigests | None = None
    projects: Mapping[str, LayerDigests] = MappingProxyType({})

    def find_project_root(self, top: str, directory: str, excluded: Sequence[str] = ()) -> str:
        """Return the project whose acceptance counts at a directory; empty when there is none.

        It is `top`, where the project's files were found, or else the nearest accepted project around the directory:
        deleting a policy or a repository, or making a new one below, does not escape what is accepted. A home directory
        does not count as a project around what is below it; `excluded` names those.
        """
        if not self.projects:
            return ""
        if top in self.projects:
            return top
        while True:
            if directory in self.projects and directory not in excluded:
                return directory
            parent = os.path.dirname(directory)
            if parent == directory:
                return ""
            directory = parent

    def find_project_layers(self, root: str, directory: str) -> LayerDigests:
        """Return the accepted layers of a project that are in force at a directory."""
        return tuple(
            (layer, digest) for layer, digest in self.projects.get(root, ()) if is_in_force(layer, root, directory)
        )

    def accept(self, root: str, directory: str, user: LayerDigests, project: LayerDigests) -> AcceptedIndex:
        """Return the index after the layers in force at a directory were accepted; other directories' layers stay."""
        others = [layer for layer in self.projects.get(root, ()) if not is_in_force(layer[0], root, directory)]
        projects = {**self.projects, root: (*project, *others)} if root else self.projects
        return AcceptedIndex(user, projects)

    def dump(self) -> dict[str, Any]:
        """Return the index as plain data with a checksum."""
        body = {
            "v": INDEX_FORMAT,
            "user": None if self.user is None else [list(layer) for layer in self.user],
            "projects": {root: [list(layer) for layer in layers] for root, layers in self.projects.items()},
        }
        return {**body, "sha256": hash_canonical(body)}


def is_in_force(layer: str, root: str, directory: str) -> bool:
    """Return whether a layer of a project is in force at a directory: the project's own, and those on the way down."""
    _, _, subdirectory = layer.partition(" ")
    if not subdirectory:
        return True
    place = f"{root.rstrip('/')}/{subdirectory}"
    return directory == place or directory.startswith(f"{place}/")


class Acceptance(NamedTuple):
    """What is accepted at one directory; `user` is None where the user's own layers were never recorded."""

    home: str
    root: str = ""
    directory: str = ""
    user: LayerDigests | None = None
    project: LayerDigests = ()

    def covers(self, files: Sequence[PolicyFile], digests: LayerDigests) -> bool:
        """Return whether these files, with these digests, are exactly what is accepted."""
        # Not before the user's layers are recorded, which needs their text, unless there is no place to record them.
        if self.user is None and os.path.isdir(self.home):
            return False
        user, project = split_layers(files, digests)
        return user == self.accepted_user(files, digests) and project == self.project

    def accepted_user(self, files: Sequence[PolicyFile], digests: LayerDigests) -> LayerDigests:
        """Return the accepted layers of the user: those on record or, where there is no record, those first seen.

        Only the user's own place counts as first seen: a variable, which may come from a project's settings, could
        name any other.
        """
        if self.user is not None:
            return self.user
        own_files = [(file, layer) for file, layer in zip(files, digests, strict=False) if is_own_place(file.path)]
        return split_layers([file for file, _ in own_files], tuple(layer for _, layer in own_files))[0]


def split_layers(files: Sequence[PolicyFile], digests: LayerDigests) -> tuple[LayerDigests, LayerDigests]:
    """Return the user's and the project's layers among those of files, without what needs no acceptance."""
    layers = [
        layer
        for file, layer in zip(files, digests, strict=False)  # without files, the digests are those of the default
        if not is_out_of_reach(file.path)
    ]
    user = tuple(layer for layer in layers if not is_project_layer(layer[0]))
    return user, tuple(layer for layer in layers if is_project_layer(layer[0]))


def find_acceptance(
    home: str, index: AcceptedIndex, start: str, environ: Mapping[str, str], places: Sequence[tuple[str, str]]
) -> Acceptance:
    """Return what is accepted at a directory whose policy files may be at these places."""
    top = next((os.path.dirname(path) for layer, path in places if layer == "project"), "")
    layers = index.projects.get(top, ())
    # The ordinary case: one accepted file at the top of the project, and nothing to look up on the disk.
    if layers and all(layer == "project" for layer, _ in layers):
        return Acceptance(home, top, "", index.user, layers)
    if not index.projects:
        return Acceptance(home, "", "", index.user)
    directory = find_session_directory(start, environ)
    root = index.find_project_root(top, directory, list_home_directories(environ))
    if root != top and (main_tree := find_main_work_tree(top)) in index.projects:
        root = main_tree  # every work tree of a repository has what its main one has accepted
        directory = main_tree + directory.removeprefix(top)
    return Acceptance(home, root, directory, index.user, index.find_project_layers(root, directory))


def get_index_path(home: str) -> str:
    """Return the path of the index, whose change means that something was accepted."""
    return f"{home}/{INDEX_NAME}"


def read_index(home: str) -> AcceptedIndex:
    """Return what is accepted; raise `PolicyError` when the record is there and cannot be trusted."""
    if not home:
        return AcceptedIndex()  # without a data directory nothing can be accepted
    path = get_index_path(home)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        # Copies without an index: something was accepted, and deleting the index must not undo it.
        if os.path.isdir(f"{home}/{DIRECTORY}"):
            raise PolicyError(f"the record of accepted policies is gone; {REPAIR}", where=path) from None
        return AcceptedIndex()
    except OSError as error:
        raise PolicyError(
            f"the record of accepted policies cannot be read: {error.strerror}; {REPAIR}", where=path
        ) from error
    index = parse_index(data)
    if index is None:
        raise PolicyError(f"the record of accepted policies is damaged; {REPAIR}", where=path)
    return index


def parse_index(data: bytes) -> AcceptedIndex | None:
    """Return the index in a file's bytes; None when they are not what `AcceptedIndex.dump` returned, as JSON."""
    try:
        body = json.loads(data)
        checksum = body.pop("sha256")
        if body["v"] != INDEX_FORMAT or checksum != hash_canonical(body):
            return None
        user = body["user"]
        return AcceptedIndex(
            None if user is None else _to_digests(user),
            {root: _to_digests(layers) for root, layers in body["projects"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, CanonicalError):
        return None


def _to_digests(layers: Any) -> LayerDigests:
    return tuple((str(name), str(digest)) for name, digest in layers)


def read_accepted_document(home: str, digest: str) -> Any:
    """Return what an accepted layer says; raise `PolicyError` when its copy is missing or was changed."""
    path = _get_document_path(home, digest)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise PolicyError(
            f"the copy of the accepted policy cannot be read: {error.strerror}; {REPAIR}", where=path
        ) from error
    try:
        if sha256_hex(data) == digest:
            return parse_json(data)
    except CanonicalError:
        pass
    raise PolicyError(f"the copy of the accepted policy is damaged; {REPAIR}", where=path)


def _get_document_path(home: str, digest: str) -> str:
    # The digest comes from a file: anything else could name one outside the directory.
    return f"{home}/{DIRECTORY}/{os.path.basename(get_policy_path(home, digest))}"


Layers = Sequence[tuple[str, Mapping[str, Any]]]
"""Name and document of layers, the highest first."""


def record_user_layers(home: str, layers: Layers) -> None:
    """Record the user's own layers as first seen, unless some are recorded; a failure to write is ignored.

    The person who sets verdikt up writes them before the first session. From then on a change has to be accepted.
    """
    # Not the first thing to create a data directory: commands that only read use this too.
    if not os.path.isdir(home):
        return
    try:
        with _lock_index(home):
            index = read_index(home)
            if index.user is None:
                _write_index(home, AcceptedIndex(_store_documents(home, layers), index.projects))
    except (OSError, LedgerError, PolicyError):
        return  # a data directory that cannot be written blocks the action by itself


def record_acceptance(
    home: str,
    root: str,
    directory: str,
    *,
    user: Layers,
    project: Layers,
    replaced_index: AcceptedIndex | None = None,
) -> AcceptedIndex:
    """Record the layers in force at a directory as accepted; layers of other directories stay as they were.

    A record that was damaged is replaced, because this is how a person repairs it; `replaced_index` stands for it.
    """
    make_private_directory(Path(home))
    try:
        with _lock_index(home):
            index = read_index(home) if replaced_index is None else replaced_index
            index = index.accept(root, directory, _store_documents(home, user), _store_documents(home, project))
            _write_index(home, index)
            return index
    except OSError as error:
        raise LedgerError(f"cannot record the acceptance in `{home}`: {error.strerror}") from error


@contextmanager
def _lock_index(home: str) -> Iterator[None]:
    descriptor = os.open(f"{home}/{INDEX_NAME}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _store_documents(home: str, layers: Layers) -> LayerDigests:
    directory = make_private_directory(Path(home) / DIRECTORY)
    digests = []
    for name, document in layers:
        data = encode_canonical(document)
        digest = sha256_hex(data)
        # Written even if it is there: a damaged copy is repaired by accepting again.
        write_atomically(_get_document_path(home, digest), data)
        digests.append((name, digest))
    sync_directory(directory)
    return tuple(digests)


def _write_index(home: str, index: AcceptedIndex) -> None:
    write_atomically(get_index_path(home), json.dumps(index.dump(), indent=1).encode())
    sync_directory(Path(home))
