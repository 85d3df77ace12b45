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
from verdikt.ledger.content_cache import ContentCache
from verdikt.ledger.data_directory import get_data_directory
from verdikt.observe.policy_files import MANAGED_POLICY_PATH, read_policy_files

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
    """Return the policy that `verdikt.policy.load_policy` returns, at less cost."""
    files = tuple(read_policy_files(start or os.getcwd(), environ, managed=managed))
    try:
        cache = ContentCache(
            os.fspath(get_data_directory(environ)), DIRECTORY, f"{__version__} {sys.implementation.cache_tag}"
        )
    except LedgerError:
        # No usable data directory, as with a read-only home: the policy is in force without a cache.
        return _build_from_files(files, environ)
    source = _build_cache_source(files)
    cached = load_compiled_policy(cache.get(source), partial(_build_from_files, files, environ))
    if cached is not None:
        return cached
    policy = _build_from_files(files, environ)
    compiled = compile_policy(policy)
    if compiled is not None:
        cache.put(source, compiled)
    return policy


def _build_from_files(files: Sequence[PolicyFile], environ: Mapping[str, str]) -> Policy:
    # The readers of YAML, sections and guards are not needed while the cached policy is in force.
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
    return b"".join(parts)
