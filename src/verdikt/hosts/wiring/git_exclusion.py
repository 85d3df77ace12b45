"""Keeps wiring that is particular to one machine out of commits: git is told to ignore it, in a file of its own."""

import os
import re
from collections.abc import Iterable

from verdikt.errors import WiringError
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.hosts.wiring.installation import Installation
from verdikt.observe.git_index import GitIndex
from verdikt.observe.git_repository import find_work_tree

_COMMENT = "# verdikt: wiring of this machine only"
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")


def plan_exclusion(installation: Installation, changes: Iterable[FileChange]) -> list[FileChange]:
    """Return the change of `.git/info/exclude` that hides what these changes write into the project.

    Raises `WiringError` if one of the files is committed already and would get paths of this machine.
    """
    if not find_work_tree(installation.project):
        return []
    index = GitIndex(installation.project, installation.env)
    names = {
        os.path.relpath(change.path, index.root): change
        for change in changes
        if change.after is not None and change.path.startswith(os.path.join(index.root, ""))
    }
    tracked = index.list_files()
    for name in names.keys() & tracked.keys():
        if installation.data_directory.encode() in (names[name].after or b""):
            raise WiringError(
                f"`{name}` is committed, and hooks for you alone would put paths of this machine into it; choose "
                "--scope project, which writes none, or --scope user"
            )
    path = os.path.join(index.find_common_directory(), "info", "exclude")
    before = read_file(path)
    lines = (before or b"").decode(errors="surrogateescape").splitlines()
    new_lines = [line for name in sorted(names) if name not in tracked and (line := _to_pattern(name)) not in lines]
    if not new_lines:
        return []
    heading = [] if _COMMENT in lines else [_COMMENT]
    after = "\n".join([*lines, *heading, *new_lines, ""]).encode(errors="surrogateescape")
    description = f"git ignores {len(new_lines)} files of this machine"
    return [
        FileChange(
            path=path, before=before, after=after, host="", description=description, project=installation.project
        )
    ]


def _to_pattern(name: str) -> str:
    """Return the line that makes git ignore exactly this file."""
    return "/" + _SPECIAL.sub(r"\\\1", name)
