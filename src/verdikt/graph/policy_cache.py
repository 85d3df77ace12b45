"""Loading of the policy in force, from a cache when nothing has changed, and otherwise from its files.

The cache key covers the policy files, the shipped profiles and the code that compiles rules. The cached content is
data only, and a file whose checksum is wrong counts as absent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from verdikt import __version__
from verdikt.errors import LedgerError
from verdikt.graph.compiled_policy import compile_policy, load_compiled_policy
from verdikt.ledger.accepted_policies import Acceptance, read_index
from verdikt.ledger.backed_acceptance import find_backed_acceptance
from verdikt.ledger.content_cache import ContentCache
from verdikt.ledger.data_directory import get_data_directory
from verdikt.observe.policy_files import MANAGED_POLICY_PATH, list_policy_places, read_policy_places

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.observe.policy_files import PolicyFile

DIRECTORY = "compiled"

_SOURCE_FILES = (
    "profiles/relaxed.yaml",
    "profiles/standard.yaml",
    "profiles/strict.yaml",
    "graph/compiled_policy.py",
    "graph/glob_index.py",
    "graph/rule_index.py",
    "graph/matcher.py",
    "graph/prefix_table.py",
    "graph/rule.py",
    "graph/rule_exception.py",
)
"""Files of this package on which a compiled policy depends."""


def load_cached_policy(start: str, environ: Mapping[str, str], *, managed: str = MANAGED_POLICY_PATH) -> Policy:
    """Return the policy in force at a directory: that of the files, or while it is pending also the accepted one."""
    start = start or os.getcwd()
    places = list_policy_places(start, environ, managed=managed)
    files = tuple(read_policy_places(places))
    try:
        home = os.fspath(get_data_directory(environ))
    except LedgerError:
        # No usable data directory: nothing is accepted, and the policy is in force without a cache.
        return _settle(files, Acceptance(""), environ)
    acceptance = find_backed_acceptance(home, read_index(home), start, environ, places)
    cache = ContentCache(home, DIRECTORY, f"{__version__} {sys.implementation.cache_tag}")
    source = _build_cache_source(files)
    cached = load_compiled_policy(cache.get(source), partial(_build_from_files, files, environ))
    if cached is not None and acceptance.covers(files, cached.layer_digests):
        return cached
    policy = _settle(files, acceptance, environ)
    # Only a policy that is accepted as a whole: the changed one of two is restricted until then.
    compiled = compile_policy(policy) if len(policy.parts) == 1 else None
    if compiled is not None:
        cache.put(source, compiled)
    return policy


def _settle(files: Sequence[PolicyFile], acceptance: Acceptance, environ: Mapping[str, str]) -> Policy:
    # The readers of YAML, sections and guards are not needed while the cached policy is in force.
    from verdikt.policy import open_document_cache
    from verdikt.ratchet import settle_policy

    return settle_policy(files, acceptance, open_document_cache(environ))


def _build_from_files(files: Sequence[PolicyFile], environ: Mapping[str, str]) -> Policy:
    from verdikt.policy import build_policy, open_document_cache

    return build_policy(files, cache=open_document_cache(environ))


def _build_cache_source(files: Sequence[PolicyFile]) -> bytes:
    """Return the content of the policy files and a fingerprint of the package's files."""
    package = os.path.dirname(os.path.dirname(__file__))
    parts = []
    for name in _SOURCE_FILES:
        status = os.stat(f"{package}/{name}")
        # Size and mtime as Python uses them for bytecode, and ctime, which a program that changes a file cannot set.
        parts.append(f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n".encode())
    for file in files:
        layer = file.layer.encode("utf-8", "surrogateescape")
        parts.append(b"%d %d\n%s" % (len(layer), len(file.data), layer))
        parts.append(file.data)
        for name, data in file.included:
            parts.append(b"%d %d\n%s" % (len(os.fsencode(name)), len(data), os.fsencode(name)))
            parts.append(data)
    return b"".join(parts)
