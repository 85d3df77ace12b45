"""Refspecs of git: which branch at the remote they name, and whether a listing makes deletions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_MADE_DELETION = compile_lazily(r"(?:^|[/|,='\"{])\^?:(?:refs/|\$|%|&|\{|[/|,'\"])")
"""Text before a pipe that puts a colon in front of names: `--format=':refs/…'`, `sed 's/^/:/'`."""


def find_remote_branch(spec: str) -> str:
    """Return the branch at the remote that a refspec names."""
    name = spec.lstrip("+").rpartition(":")[2] or spec.lstrip("+:")
    if name.endswith("*"):
        return "everything"
    return name.removeprefix("refs/heads/").removeprefix("refs/tags/")


def reaches_other_branch(refspec: str, remote_branch: str, branch: str) -> bool:
    """Return whether a branch is published under the name of another: `HEAD:main` on a branch for a feature."""
    source, _, destination = refspec.partition(":")
    source = branch if source in ("HEAD", "@") else source.removeprefix("refs/heads/")
    is_branch = not destination.startswith("refs/") or destination.startswith("refs/heads/")
    return bool(source and destination) and is_branch and source != remote_branch


def lists_deletions(call: Invocation) -> bool:
    """Return whether the commands before a push make refspecs without a source, which delete branches."""
    return any(_MADE_DELETION.search(word.text) for command in call.iter_sources() for word in command.argv[1:])
