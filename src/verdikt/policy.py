"""Loading a policy: files are read, names are bound to guards and sections, layers are put together."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from verdikt import __version__
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.errors import LedgerError, PolicyError
from verdikt.graph.layer_reader import ReadProfile, read_layer
from verdikt.graph.policy import NO_PROFILE, Policy, PolicyLayer
from verdikt.graph.policy_registry import PolicyRegistry
from verdikt.guards import GUARDS
from verdikt.guidance.section import describe_policy, merge_policies
from verdikt.guidance.tool_policy import ToolPolicyGuard
from verdikt.ledger.content_cache import DocumentCache
from verdikt.ledger.data_directory import get_data_directory
from verdikt.model.schema_type import Section, any_type
from verdikt.model.yaml_document import MAX_BYTES, YamlDocument, parse_document
from verdikt.model.yaml_node import suggest_name
from verdikt.observe.policy_files import MANAGED_POLICY_PATH, PolicyFile, read_policy_file, read_policy_files

DEFAULT_PROFILE = "standard"

NAMED_FILE_LAYER = "file"
"""The layer of a policy that was named, and not found where an agent works."""

SECTIONS: dict[str, str | Section] = {
    "tool_policies": "verdikt.guidance.section:TOOL_POLICIES",
    "feedback": "verdikt.guidance.section:FEEDBACK",
    "completion": "verdikt.guidance.section:COMPLETION",
    "evidence": "verdikt.evidence.section:SECTION",
    "councils": "verdikt.council.config:SECTION",
    "ledger": Section(any_type("mapping"), "how the log is kept"),
    "manifest": "verdikt.effects.section:SECTION",
}
"""Section → its `Section`, or `module:NAME` of one, loaded when a policy has the section."""


class _LazySections(Mapping[str, Section]):
    """The table above, of which only what is used is loaded."""

    def __getitem__(self, name: str) -> Section:
        found = SECTIONS[name]
        section: Section = load_object(found) if isinstance(found, str) else found
        return section

    def __contains__(self, name: object) -> bool:
        return name in SECTIONS  # without loading it

    def __iter__(self) -> Iterator[str]:
        return iter(SECTIONS)

    def __len__(self) -> int:
        return len(SECTIONS)


@lru_cache(maxsize=1)
def get_registry() -> PolicyRegistry:
    """Everything a policy file may name."""
    guards = {name: f"verdikt.guards.{name}:{made}" for name, made in GUARDS.items()}
    return PolicyRegistry(guards=guards, sections=_LazySections(), effects=EFFECT_CATALOG, load=load_object)


def load_object(path: str) -> Any:
    """What `package.module:Name` names. The working directory is no place to import from: an agent can write there."""
    module, _, name = path.partition(":")
    kept = sys.path[:]
    here = os.path.realpath(os.curdir)
    sys.path[:] = [entry for entry in kept if entry and os.path.realpath(entry) != here]
    try:
        found = import_module(module)
    finally:
        sys.path[:] = kept
    try:
        return getattr(found, name)
    except AttributeError:
        raise ImportError(f"`{module}` has no `{name}`{suggest_name(name, dir(found))}") from None


def read_profile(name: str, cache: DocumentCache | None = None) -> YamlDocument:
    """A shipped profile."""
    # Beside this file rather than through importlib.resources, whose import costs more than reading the profile.
    data = read_policy_file(os.path.join(os.path.dirname(__file__), "profiles", f"{name}.yaml"))
    if data is None:
        raise PolicyError(f"expected the profile `{name}` to be installed, found none: install verdikt again")
    return read_document(data, f"profiles/{name}.yaml", cache)


def open_document_cache(environ: Mapping[str, str]) -> DocumentCache | None:
    """The policy files that were read before; None where verdikt has no place for its data."""
    try:
        return DocumentCache(get_data_directory(environ), __version__)
    except LedgerError:
        return None


def read_document(data: bytes, file: str, cache: DocumentCache | None = None) -> YamlDocument:
    """The document in a file's bytes: the one kept from an earlier reading, or else the YAML, which is then kept."""
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
    """The policy in force at a directory: managed, user and project layers, and `standard` when the highest names no profile.

    A `PolicyError` holds every fault of every file.
    """
    environ = os.environ if environ is None else environ
    kept = open_document_cache(environ)
    return build_policy(read_policy_files(start or os.getcwd(), environ, managed=managed), cache=kept)


def load_file(path: str) -> Policy:
    """The policy of one file by itself, named by whoever runs verdikt."""
    data = read_policy_file(path)
    if data is None:
        raise PolicyError("expected a policy file, found none", where=path)
    return build_policy([PolicyFile(NAMED_FILE_LAYER, path, data)])


def parse_policy(text: str | bytes, file: str = "governance.yaml") -> Policy:
    """The policy that a text describes."""
    return build_policy(
        [PolicyFile(NAMED_FILE_LAYER, file, text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)]
    )


def build_policy(
    files: Iterable[PolicyFile],
    registry: PolicyRegistry | None = None,
    read_profile_document: ReadProfile | None = None,
    cache: DocumentCache | None = None,
) -> Policy:
    """Layers from files, the highest first."""
    registry = registry or get_registry()
    read_profile_document = read_profile_document or partial(read_profile, cache=cache)
    layers: list[PolicyLayer] = []
    faults: list[PolicyError] = []
    # The highest layer gets a profile when it names none, and no lower layer can take that away: nobody is unprotected by
    # forgetting a line.
    default = DEFAULT_PROFILE
    for file in list(files) or [PolicyFile("default", f"profile {DEFAULT_PROFILE}", b"")]:
        try:
            document = read_document(file.data, file.path, cache)
        except PolicyError as error:
            faults += error.faults
            continue
        layer = read_layer(
            file.layer,
            document,
            registry,
            read_profile_document,
            trusted=not file.layer.startswith("project"),
            default=default,
            # A file that a person or a program named is taken at its word; where an agent is governed, verdikt guards itself.
            red_lines=NO_PROFILE if file.layer == NAMED_FILE_LAYER else default,
        )
        default = NO_PROFILE
        faults += document.errors
        if layer is not None:
            layers.append(layer)
    if faults:
        raise PolicyError.from_faults(faults)
    return Policy(layers=tuple(layers), section_definitions=registry.sections)


def restore_policy(document: Mapping[str, Any]) -> Policy:
    """The policy whose `document` this is, profiles included, whatever the files say today."""
    names = get_registry()
    layers: list[PolicyLayer] = []
    for kept in document["layers"]:
        own, base = YamlDocument(file=kept["layer"], value=kept["policy"]), kept["profile"]
        layer = read_layer(
            kept["layer"],
            own,
            names,
            lambda name, base=base: YamlDocument(file=f"profile {name}", value=base or {}),  # type: ignore[misc]
            trusted=not kept["layer"].startswith("project"),
            default=NO_PROFILE if base is None else DEFAULT_PROFILE,
            red_lines=NO_PROFILE if base is None else DEFAULT_PROFILE,
        )
        own.raise_errors()
        layers += [layer] if layer else []
    return Policy(layers=tuple(layers), section_definitions=names.sections)


def add_tool_policies(policy: Policy, tool_policies: Iterable[Any]) -> Policy:
    """The policy with tool policies that a program made; a `ToolPolicyGuard` says for whom one is meant.

    They are a layer like any other, written down as a file would have them, so that decisions can be made again.
    """
    guards = merge_policies(
        [[made if isinstance(made, ToolPolicyGuard) else ToolPolicyGuard(made) for made in tool_policies]]
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
