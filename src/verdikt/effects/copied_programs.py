"""Programs that the session copied or linked under another name: `/tmp/tidy -rf …` after `cp /bin/rm /tmp/tidy`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Any

from verdikt.model.session_state import value_key
from verdikt.shell.file_writers import PROGRAM_DIRECTORIES

if TYPE_CHECKING:
    from verdikt.model.effect import Effects
    from verdikt.model.facts import Facts

COPIED_PROGRAMS_KEY = value_key("trail", "programs")
"""Path of a copy → path of the program."""
_MAX_COPIES = 12
_PLACING_EFFECTS = ("fs.write", "fs.overwrite", "fs.link", "fs.link.out", "fs.install")


def note_copied_programs(effects: Effects, facts: Facts) -> dict[str, Any]:
    """Return what the memory keeps of programs that this action puts somewhere else, and of copies that it replaces."""
    before = facts.recall(COPIED_PROGRAMS_KEY)
    copies: dict[str, str] = dict(before) if isinstance(before, Mapping) else {}
    for effect in effects.items:
        paths = [target.path.rstrip("/") for target in effect.targets] if effect.what in _PLACING_EFFECTS else []
        program = _find_program([word for word in effect.by.split()[1:] if word not in paths], copies) if paths else ""
        for path in filter(None, paths):
            copies.pop(path, None)
            if program:
                copies |= {path: program, f"{path}/{basename(program)}": program}
    copies = dict(list(copies.items())[-_MAX_COPIES:])
    return {COPIED_PROGRAMS_KEY: copies or None} if copies != (before or {}) else {}


def _find_program(words: Iterable[str], copies: Mapping[str, str]) -> str:
    return next(
        (copies.get(word, word) for word in words if word in copies or word.startswith(PROGRAM_DIRECTORIES)), ""
    )


def list_program_aliases(copies: Mapping[str, str], directory: str) -> dict[str, str]:
    """Return the words by which a command in a directory may call copied programs, each with its program."""
    return {word: program for path, program in copies.items() for word in _iter_words(path, directory)}


def _iter_words(path: str, directory: str) -> Iterator[str]:
    yield path
    if path.startswith(directory + "/"):
        inside = path[len(directory) + 1 :]
        yield f"./{inside}"
        if "/" in inside:
            yield inside
    if basename(dirname(path)) == "bin":  # may be searched for programs
        yield basename(path)
