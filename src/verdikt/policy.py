"""Load a policy: read files, bind names to guards and sections, combine layers."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from verdikt import __version__
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.errors import LedgerError, PolicyError
from verdikt.graph.layer_reader import ReadProfile, read_layer
from verdikt.graph.policy import NO_PROFILE, Policy, PolicyLayer, has_only_exceptions
from verdikt.graph.policy_registry import PolicyRegistry
from verdikt.guards import GUARDS
from verdikt.ledger.content_cache import DocumentCache
from verdikt.ledger.data_directory import get_data_directory
from verdikt.model.schema_type import Section, any_type
from verdikt.model.yaml_document import MAX_BYTES, YamlDocument, parse_document
from verdikt.model.yaml_node import suggest_name
from verdikt.observe.policy_files import (
    MANAGED_POLICY_PATH,
    PolicyFile,
    is_project_layer,
    open_policy_file,
    read_policy_file,
    read_policy_files,
)

DEFAULT_PROFILE = "standard"

NAMED_FILE_LAYER = "file"
"""The layer name of a policy file that was given explicitly, not found in the project."""

SECTIONS: dict[str, str | Section] = {
    "tool_policies": "verdikt.guidance.section:TOOL_POLICIES",
    "feedback": "verdikt.guidance.section:FEEDBACK",
    "completion": "verdikt.guidance.section:COMPLETION",
    "evidence": "verdikt.evidence.section:SECTION",
    "councils": "verdikt.council.config:SECTION",
    "ledger": Section(any_type("mapping"), "how the log is kept"),
    "manifest": "verdikt.effects.section:SECTION",
    "raise_posture": "verdikt.graph.posture_moves:SECTION",
    "knowledge": "verdikt.effects.program_layer:SECTION",
    "flow": "verdikt.graph.flow_rules:SECTION",
}
"""Section → its `Section`, or `module:NAME` of one, loaded when a policy has the section."""


class _LazySections(Mapping[str, Section]):
    """The table `SECTIONS`, with each section imported when it is first used."""

    def __getitem__(self, name: str) -> Section:
        definition = SECTIONS[name]
        section: Section = load_object(definition) if isinstance(definition, str) else definition
        return section

    def __contains__(self, name: object) -> bool:
        return name in SECTIONS  # without importing the section, unlike the inherited method

    def __iter__(self) -> Iterator[str]:
        return iter(SECTIONS)

    def __len__(self) -> int:
        return len(SECTIONS)


@lru_cache(maxsize=1)
def get_registry() -> PolicyRegistry:
    """Return everything that a policy file may name."""
    guards = {name: f"verdikt.guards.{name}:{class_name}" for name, class_name in GUARDS.items()}
    meanings = {name: entry.meaning for name, entry in EFFECT_CATALOG.items()}
    return PolicyRegistry(
        guards=guards, sections=_LazySections(), effects=EFFECT_CATALOG, meanings=meanings, load=load_object
    )


def load_object(path: str) -> Any:
    """Import and return what `package.module:Name` names, never from the working directory."""
    module_name, _, name = path.partition(":")
    original_path = sys.path[:]
    working_directory = os.path.realpath(os.curdir)
    # An agent can write to the working directory: a module there could replace a guard.
    sys.path[:] = [entry for entry in original_path if entry and os.path.realpath(entry) != working_directory]
    try:
        module = import_module(module_name)
    finally:
        sys.path[:] = original_path
    try:
        return getattr(module, name)
    except AttributeError:
        raise ImportError(f"`{module_name}` has no `{name}`{suggest_name(name, dir(module))}") from None


def read_profile(name: str, cache: DocumentCache | None = None) -> YamlDocument:
    """Return a shipped profile."""
    # Not through importlib.resources, whose import takes longer than reading the profile.
    data = read_policy_file(os.path.join(os.path.dirname(__file__), "profiles", f"{name}.yaml"))
    if data is None:
        raise PolicyError(f"expected the profile `{name}` to be installed, found none: install verdikt again")
    return read_document(data, f"profiles/{name}.yaml", cache)


def open_document_cache(environ: Mapping[str, str]) -> DocumentCache | None:
    """Return the cache of parsed policy files; None when there is no data directory."""
    try:
        return DocumentCache(get_data_directory(environ), __version__)
    except LedgerError:
        return None


def read_document(data: bytes, file: str, cache: DocumentCache | None = None) -> YamlDocument:
    """Return the document in a file's bytes, from the cache or, when it is not there, parsed and put there."""
    if cache is None or len(data) > MAX_BYTES:
        return parse_document(data, file)
    document = YamlDocument.load(file, cache.get(data))
    if document is None:
        document = parse_document(data, file)
        cache.put(data, document.dump())
    return document


def load_policy(
    start: str = "", *, environ: Mapping[str, str] | None = None, managed: str = MANAGED_POLICY_PATH
) -> Policy:
    """Return the policy in force at a directory, from its managed, user and project layers.

    The profile is `standard` when the highest layer names none. A `PolicyError` lists every fault of every file.
    """
    environ = os.environ if environ is None else environ
    files = read_policy_files(start or os.getcwd(), environ, managed=managed)
    return build_policy(files, cache=open_document_cache(environ))


def load_file(path: str) -> Policy:
    """Return the policy of one file by itself, without the layers in force."""
    data = read_policy_file(path)
    if data is None:
        raise PolicyError("expected a policy file, found none", where=path)
    return build_policy([open_policy_file(NAMED_FILE_LAYER, path, data)])


def parse_policy(text: str | bytes, file: str = "governance.yaml") -> Policy:
    """Return the policy in a YAML text."""
    return build_policy(
        [PolicyFile(NAMED_FILE_LAYER, file, text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)]
    )


def build_policy(
    files: Iterable[PolicyFile],
    registry: PolicyRegistry | None = None,
    read_profile_document: ReadProfile | None = None,
    cache: DocumentCache | None = None,
) -> Policy:
    """Return the policy of these files, the highest layer first."""
    return build_from_documents(read_documents(files, cache), registry, read_profile_document, cache)


LayerDocuments = Sequence[tuple[str, YamlDocument]]
"""Layer and document of policy files, the highest first."""


def read_documents(files: Iterable[PolicyFile], cache: DocumentCache | None = None) -> list[tuple[str, YamlDocument]]:
    """Return layer and document of each file; one that is no YAML is an empty document with its errors."""
    documents: list[tuple[str, YamlDocument]] = []
    for file in files:
        try:
            document = read_document(file.data, file.path, cache)
        except PolicyError as error:
            document = YamlDocument(file.path, errors=list(error.faults))
        if file.included:
            document = _insert_records(document, file)
        documents.append((file.layer, document))
    return documents


def _insert_records(document: YamlDocument, file: PolicyFile) -> YamlDocument:
    """Return the document with the records of the files that it names under `knowledge` in their place.

    What is digested, accepted and replayed is then the records, and not a name.
    """
    insert: Callable[[YamlDocument, Mapping[str, bytes]], YamlDocument] = load_object(
        "verdikt.effects.program_layer:insert_records"
    )
    return insert(document, dict(file.included))


def build_from_documents(
    documents: LayerDocuments,
    registry: PolicyRegistry | None = None,
    read_profile_document: ReadProfile | None = None,
    cache: DocumentCache | None = None,
) -> Policy:
    """Return the policy of these documents; raise one `PolicyError` with every fault of every one."""
    registry = registry or get_registry()
    read_profile_document = read_profile_document or partial(read_profile, cache=cache)
    layers: list[PolicyLayer] = []
    faults: list[PolicyError] = []
    # The highest layer gets a profile when it names none, and no lower layer can remove it: forgetting a line must not
    # leave a machine unprotected.
    default = DEFAULT_PROFILE
    if not documents:
        documents = [("default", YamlDocument(f"profile {DEFAULT_PROFILE}"))]
    for index, (name, document) in enumerate(documents):
        # A file with nothing but exceptions says nothing about the profile, which is then the next layer's to choose.
        is_silent = has_only_exceptions(document.value) and index + 1 < len(documents)
        layer_default = NO_PROFILE if is_silent else default
        layer = read_layer(
            name,
            document,
            registry,
            read_profile_document,
            trusted=not is_project_layer(name),
            default=layer_default,
            # A file given explicitly means what it says; where an agent is governed, verdikt's own red lines hold too.
            red_lines=NO_PROFILE if name == NAMED_FILE_LAYER else layer_default,
        )
        default = default if is_silent else NO_PROFILE
        faults += document.errors
        if layer is not None:
            layers.append(layer)
    if faults:
        raise PolicyError.from_faults(faults)
    return Policy(layers=tuple(layers), section_definitions=registry.sections)


# A layer's name decides whether it is trusted, here as in `build_policy`: a document must restore to the same policy.
def restore_policy(document: Mapping[str, Any]) -> Policy:
    """Return the policy of a stored `document`, profiles included, independent of the files of today."""
    registry = get_registry()
    layers: list[PolicyLayer] = []
    for stored in document["layers"]:
        own, base = YamlDocument(file=stored["layer"], value=stored["policy"]), stored["profile"]
        layer = read_layer(
            stored["layer"],
            own,
            registry,
            _StoredProfiles(base),
            trusted=not is_project_layer(stored["layer"]),
            default=NO_PROFILE if base is None else DEFAULT_PROFILE,
            red_lines=NO_PROFILE if base is None else DEFAULT_PROFILE,
        )
        own.raise_errors()
        layers += [layer] if layer else []
    return Policy(layers=tuple(layers), section_definitions=registry.sections)


class _StoredProfiles:
    """The profiles of one stored layer, as a `ReadProfile`: the layer's own first, then those it builds on."""

    def __init__(self, profile: Mapping[str, Any] | None) -> None:
        self._next: Mapping[str, Any] | None = profile

    def __call__(self, name: str) -> YamlDocument:
        profile = dict(self._next or {})
        # A stored profile has the document it builds on where its file has a name; the reader expects a name.
        inner = profile.get("profile")
        self._next = inner if isinstance(inner, Mapping) else None
        if self._next is not None:
            profile["profile"] = DEFAULT_PROFILE
        return YamlDocument(file=f"profile {name}", value=profile)


def add_tool_policies(policy: Policy, tool_policies: Iterable[Any]) -> Policy:
    """Return the policy with tool policies of a program added as its lowest layer.

    A `ToolPolicyGuard` restricts one to an audience. The layer has a document like one from a file, so decisions by it
    can be replayed.
    """
    from verdikt.guidance.section import describe_policy, merge_policies
    from verdikt.guidance.tool_policy import ToolPolicyGuard

    guards = merge_policies(
        [[item if isinstance(item, ToolPolicyGuard) else ToolPolicyGuard(item) for item in tool_policies]]
    )
    if not guards:
        return policy
    layer = PolicyLayer(
        name="program",
        file="program",
        document={"tool_policies": [describe_policy(guard) for guard in guards]},
        sections={"tool_policies": guards},
    )
    return Policy(
        layers=(*policy.layers, layer), section_definitions=policy.section_definitions or get_registry().sections
    )
