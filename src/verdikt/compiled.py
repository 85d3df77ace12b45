"""The policy in force, from what was kept of an earlier reading when nothing has changed since, and otherwise from its files.

What is kept depends on the files, on the shipped profiles and on the code that files rules: each change of any of them
makes another key. It is data and nothing else, and a file that is not as it was written counts as absent.
"""

from __future__ import annotations

import os
import sys
from functools import partial

from verdikt import __version__
from verdikt.errors import LedgerError
from verdikt.graph.compiled import compile_policy, revive_policy
from verdikt.ledger.home import data_home
from verdikt.ledger.sealed import Sealed
from verdikt.observe.policy import MANAGED, read_policy_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdikt.graph.policy import Policy
    from verdikt.observe.policy import PolicyFile

DIRECTORY = "compiled"

_PARTS = (
    "profiles/relaxed.yaml",
    "profiles/standard.yaml",
    "profiles/strict.yaml",
    "graph/compiled.py",
    "graph/globindex.py",
    "graph/index.py",
    "graph/match.py",
    "graph/prefix.py",
    "graph/rule.py",
)
"""What goes into a compiled policy beside the files of the policy."""


def policy_in_force(start: str, environ: Mapping[str, str], *, managed: str = MANAGED) -> Policy:
    """The policy that `verdikt.policy.load_policy` gives, at less cost."""
    files = tuple(read_policy_files(start or os.getcwd(), environ, managed=managed))
    try:
        kept = Sealed(os.fspath(data_home(environ)), DIRECTORY, f"{__version__} {sys.implementation.cache_tag}")
    except LedgerError:
        return _read(files, environ)
    source = _source(files)
    found = revive_policy(kept.get(source), partial(_read, files, environ))
    if found is not None:
        return found
    policy = _read(files, environ)
    compiled = compile_policy(policy)
    if compiled is not None:
        kept.put(source, compiled)
    return policy


def _read(files: Sequence[PolicyFile], environ: Mapping[str, str]) -> Policy:
    from verdikt.policy import build_policy, kept_documents

    return build_policy(files, kept=kept_documents(environ))


def _source(files: Sequence[PolicyFile]) -> bytes:
    """Everything that the compiled policy is made from, or how it can be told apart."""
    here = os.path.dirname(__file__)
    parts = []
    for name in _PARTS:
        status = os.stat(f"{here}/{name}")
        # As Python tells whether bytecode is that of its source, and by the time of the last change of any kind.
        parts.append(f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n".encode())
    for file in files:
        layer = file.layer.encode("utf-8", "surrogateescape")
        parts.append(b"%d %d\n%s" % (len(layer), len(file.data), layer))
        parts.append(file.data)
    return b"".join(parts)
