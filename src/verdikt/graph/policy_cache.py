"""The policy in force, from what was kept of an earlier reading when nothing has changed since, and otherwise from its files.

What is kept depends on the files, on the shipped profiles and on the code that files rules: each change of any of them
makes another key. It is data and nothing else, and a file that is not as it was written counts as absent.
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
from verdikt.policy import build_policy, open_document_cache

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
)
"""What goes into a compiled policy beside the files of the policy."""


def load_cached_policy(start: str, environ: Mapping[str, str], *, managed: str = MANAGED_POLICY_PATH) -> Policy:
    """The policy that `verdikt.policy.load_policy` gives, at less cost."""
    files = tuple(read_policy_files(start or os.getcwd(), environ, managed=managed))
    try:
        kept = ContentCache(
            os.fspath(get_data_directory(environ)), DIRECTORY, f"{__version__} {sys.implementation.cache_tag}"
        )
    except LedgerError:
        return _build_from_files(files, environ)
    source = _build_cache_source(files)
    found = load_compiled_policy(kept.get(source), partial(_build_from_files, files, environ))
    if found is not None:
        return found
    policy = _build_from_files(files, environ)
    compiled = compile_policy(policy)
    if compiled is not None:
        kept.put(source, compiled)
    return policy


def _build_from_files(files: Sequence[PolicyFile], environ: Mapping[str, str]) -> Policy:
    return build_policy(files, cache=open_document_cache(environ))


def _build_cache_source(files: Sequence[PolicyFile]) -> bytes:
    """Everything that the compiled policy is made from, or how it can be told apart."""
    here = os.path.dirname(os.path.dirname(__file__))
    parts = []
    for name in _SOURCE_FILES:
        status = os.stat(f"{here}/{name}")
        # As Python tells whether bytecode is that of its source, and by the time of the last change of any kind.
        parts.append(f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n".encode())
    for file in files:
        layer = file.layer.encode("utf-8", "surrogateescape")
        parts.append(b"%d %d\n%s" % (len(layer), len(file.data), layer))
        parts.append(file.data)
    return b"".join(parts)
