"""The ratchet: what tightens a policy takes effect at once, what loosens it when a person accepts it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from verdikt.errors import LedgerError, PolicyError
from verdikt.graph.pending_policy import PENDING_NOTE, PendingPolicy
from verdikt.graph.policy import Policy
from verdikt.graph.policy_restriction import restrict_document
from verdikt.ledger.acceptance_log import read_logged_index
from verdikt.ledger.accepted_policies import (
    Acceptance,
    AcceptedIndex,
    LayerDigests,
    find_acceptance,
    read_accepted_document,
    read_index,
    record_acceptance,
    record_user_layers,
    split_layers,
)
from verdikt.ledger.backed_acceptance import find_backed_acceptance
from verdikt.ledger.content_cache import DocumentCache
from verdikt.ledger.data_directory import find_data_directory
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.yaml_document import YamlDocument, to_plain
from verdikt.observe.policy_files import (
    MANAGED_POLICY_PATH,
    PolicyFile,
    find_session_directory,
    is_out_of_reach,
    is_project_layer,
    list_policy_places,
    read_policy_places,
)
from verdikt.policy import LayerDocuments, build_from_documents, read_documents


def settle_policy(files: Sequence[PolicyFile], acceptance: Acceptance, cache: DocumentCache | None = None) -> Policy:
    """Return the policy in force: that of the files if it is accepted, or else that of both.

    Raises `PolicyError` when a file is broken, and when the accepted policy cannot be read: an agent must not be able
    to get rid of an accepted policy by damaging either.
    """
    documents = read_documents(files, cache)
    if any(document.errors for _, document in documents):
        return build_from_documents(_restrict(documents, []), cache=cache)  # raises every fault
    digests = hash_layers([(layer, _to_text(document)) for layer, document in documents])
    user, project = split_layers(files, digests)
    accepted_user = acceptance.accepted_user(files, digests)
    if acceptance.user is None:
        # First seen: what the person has set up before the first session.
        texts = [(layer, _to_text(document)) for layer, document in _select_user(files, documents)]
        record_user_layers(acceptance.home, [pair for pair in texts if hash_layers([pair])[0] in accepted_user])
    if user == accepted_user and project == acceptance.project:
        return build_from_documents(documents, cache=cache)
    accepted = [
        *_select_fixed(files, documents),
        *_select_accepted_user(files, documents, acceptance, accepted_user),
        *_read_layers(acceptance, acceptance.project),
    ]
    changed = build_from_documents(_restrict(documents, accepted), cache=cache)
    return PendingPolicy(build_from_documents(accepted, cache=cache), changed)


@dataclass(frozen=True, slots=True)
class LayerChange:
    """A layer whose file does not say what is accepted. None stands for no file, or for none accepted."""

    layer: str
    file: str
    accepted: Mapping[str, Any] | None
    changed: Mapping[str, Any] | None

    @property
    def kind(self) -> str:
        """`new`, `removed` or `changed`."""
        return "new" if self.accepted is None else "removed" if self.changed is None else "changed"


@dataclass(frozen=True, slots=True)
class PolicySnapshot:
    """The policy files in force at a directory beside what is accepted there."""

    root: str
    directory: str
    acceptance: Acceptance
    files: tuple[PolicyFile, ...]
    documents: LayerDocuments
    damage: PolicyError | None = None
    """Why the record of what is accepted cannot be used; accepting replaces it."""
    index: AcceptedIndex = field(default_factory=AcceptedIndex)
    """What is accepted in all projects."""

    @classmethod
    def read(cls, start: str, environ: Mapping[str, str], *, managed: str = MANAGED_POLICY_PATH) -> Self:
        """Read the files and the acceptance; a damaged record counts as none, because accepting repairs it."""
        damage = None
        places = list_policy_places(start, environ, managed=managed)
        files = tuple(read_policy_places(places))
        home = find_data_directory(environ)
        try:
            index = read_index(home)
            acceptance = find_backed_acceptance(home, index, start, environ, places)
        except PolicyError as error:
            # What the signed entries say is what is compared with, and what accepting goes on from.
            index, damage = _read_intact_log(home), error
            acceptance = find_acceptance(home, index, start, environ, places)
        # A project is accepted at its own top, even if the acceptance of one around it counts until then.
        root = next((os.path.dirname(path) for layer, path in places if layer == "project"), acceptance.root)
        directory = find_session_directory(start, environ)
        return cls(root, directory, acceptance, files, read_documents(files), damage, index)

    def build_policy(self) -> Policy:
        """Return the policy of the files by itself; raise `PolicyError` when one is broken."""
        return build_from_documents(self.documents)

    @property
    def user_layers(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Name and text of the user's own layers, which are accepted for all projects together."""
        return [(layer, _to_text(document)) for layer, document in _select_user(self.files, self.documents)]

    @property
    def project_layers(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Name and text of the project's layers."""
        return [(layer, _to_text(document)) for layer, document in self.documents if is_project_layer(layer)]

    def list_changes(self) -> list[LayerChange]:
        """Return the layers that wait for acceptance; empty when none do."""
        digests = hash_layers([(layer, _to_text(document)) for layer, document in self.documents])
        accepted_user = self.acceptance.accepted_user(self.files, digests)
        paths = {layer: file.path for file, (layer, _) in zip(self.files, self.documents, strict=True)}
        changes = []
        for accepted, current in (
            (accepted_user, self.user_layers),
            (self.acceptance.project, self.project_layers),
        ):
            changes += self._compare_layers(accepted, current, paths)
        return changes

    def find_damage(self) -> PolicyError | None:
        """Return why the accepted policy cannot be used as it is stored; None when it can."""
        try:
            for _, digest in (*(self.acceptance.user or ()), *self.acceptance.project):
                read_accepted_document(self.acceptance.home, digest)
        except PolicyError as error:
            return self.damage or error
        return self.damage

    def _compare_layers(
        self, accepted: LayerDigests, current: list[tuple[str, Mapping[str, Any]]], paths: Mapping[str, str]
    ) -> list[LayerChange]:
        # Several files may have one layer name; those that are equal are not shown.
        remaining = list(accepted)
        changed: list[tuple[str, Mapping[str, Any] | None]] = []
        for pair, hashed in zip(current, hash_layers(current), strict=True):
            if hashed in remaining:
                remaining.remove(hashed)
            else:
                changed.append(pair)
        changes = []
        for layer, digest in remaining:
            counterpart = next((pair for pair in changed if pair[0] == layer), (layer, None))
            if counterpart in changed:
                changed.remove(counterpart)
            try:
                text = read_accepted_document(self.acceptance.home, digest)
            except PolicyError:
                text = None  # the copy is damaged, which accepting again repairs
            changes.append(LayerChange(layer, paths.get(layer, ""), text, counterpart[1]))
        return changes + [LayerChange(layer, paths.get(layer, ""), None, text) for layer, text in changed]

    def accept(self) -> Policy:
        """Record the files as accepted and return their policy; raise `PolicyError` when one is broken."""
        policy = self.build_policy()
        record_acceptance(
            self.acceptance.home,
            self.root,
            self.directory,
            user=self.user_layers,
            project=self.project_layers,
            replaced_index=self.index if self.damage else None,
        )
        return policy


def describe_pending(start: str, environ: Mapping[str, str]) -> str:
    """Return in one sentence what waits for acceptance, or what is wrong with it; empty when nothing is."""
    try:
        snapshot = PolicySnapshot.read(start, environ)
        if damage := snapshot.find_damage():
            return str(damage)
        changes = snapshot.list_changes()
    except PolicyError as error:
        return str(error)
    layers = ", ".join(f"{change.layer} ({change.kind})" for change in changes)
    return f"{PENDING_NOTE}; {layers}" if changes else ""


def _read_intact_log(home: str) -> AcceptedIndex:
    try:
        return read_logged_index(home)
    except (LedgerError, OSError):
        return AcceptedIndex()


def hash_layers(layers: Sequence[tuple[str, Mapping[str, Any]]]) -> LayerDigests:
    """Return name and digest of each layer."""
    return tuple((layer, hash_canonical(text)) for layer, text in layers)


def _select_accepted_user(
    files: Sequence[PolicyFile], documents: LayerDocuments, acceptance: Acceptance, accepted: LayerDigests
) -> list[tuple[str, YamlDocument]]:
    """Return the accepted layers of the user, from the disk where they are unchanged, and else from their copies."""
    # Not always from the copies: there may be none, where nothing can be recorded.
    current = [
        pair for pair in _select_user(files, documents) if hash_layers([(pair[0], _to_text(pair[1]))])[0] in accepted
    ]
    return current if len(current) == len(accepted) else _read_layers(acceptance, accepted)


def _to_text(document: YamlDocument) -> Any:
    """Return what a document says as plain data; an empty file says as much as an empty mapping."""
    return to_plain({} if document.value is None else document.value)


def _select_user(files: Sequence[PolicyFile], documents: LayerDocuments) -> list[tuple[str, YamlDocument]]:
    return [
        (layer, document)
        for file, (layer, document) in zip(files, documents, strict=True)
        if not is_project_layer(layer) and not is_out_of_reach(file.path)
    ]


def _select_fixed(files: Sequence[PolicyFile], documents: LayerDocuments) -> list[tuple[str, YamlDocument]]:
    """Return the layers that need no acceptance, because only the administrator can change them."""
    return [pair for file, pair in zip(files, documents, strict=True) if is_out_of_reach(file.path)]


def _read_layers(acceptance: Acceptance, layers: Sequence[tuple[str, str]]) -> list[tuple[str, YamlDocument]]:
    return [
        (layer, YamlDocument(f"accepted {layer} policy", read_accepted_document(acceptance.home, digest)))
        for layer, digest in layers
    ]


def _restrict(documents: LayerDocuments, accepted: LayerDocuments) -> list[tuple[str, YamlDocument]]:
    """Return the documents without what takes effect only after acceptance."""
    accepted_values = [document.value for _, document in accepted if isinstance(document.value, Mapping)]
    restricted = []
    for layer, document in documents:
        value = document.value
        if isinstance(value, Mapping):
            value = restrict_document(value, accepted_values)
        restricted.append(
            (layer, YamlDocument(document.file, value, document.value_marks, document.key_marks, document.errors))
        )
    return restricted
