"""The directory of a person's own programs, and whether a program of the project may be put there unseen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.knowledge import find_record
from verdikt.model.effect import Zone

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Word

_PROGRAM_DIRECTORIES = ("/.local/bin", "/bin")
"""Below a home."""
_SYSTEM_DIRECTORIES = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin")


def is_program_directory(path: str, facts: Facts) -> bool:
    """Return whether a path is the directory in which a person keeps programs of their own."""
    return bool(facts.home) and path in tuple(facts.home.rstrip("/") + name for name in _PROGRAM_DIRECTORIES)


def is_own_program(call: Invocation, sources: Sequence[Word], landing: Word) -> bool:
    """Return whether one file of the project goes among the person's own programs, under a name that no other has.

    A name that this machine or the knowledge base has already would stand for the other program from then on.
    """
    if call.command.host or len(sources) != 1 or any(not w.is_known or w.glob for w in (*sources, landing)):
        return False
    facts = call.facts
    path = call.resolver.to_absolute(landing.text, call.command.cwd)
    directory, _, name = path.rpartition("/")
    if not is_program_directory(directory, facts) or find_record(name) is not None:
        return False
    if call.resolve_path(sources[0]).zone is not Zone.PROJECT:
        return False
    if any(facts.path(f"{place}/{name}", git=False).exists for place in _SYSTEM_DIRECTORIES):
        return False
    present = facts.path(path, git=False)
    # A link into the project is an earlier version of the same.
    is_earlier = present.symlink and present.real.startswith(f"{call.resolver.project_root}/")
    return not present.exists or is_earlier or facts.is_created_in_session(path)
