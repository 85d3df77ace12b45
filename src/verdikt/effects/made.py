"""What a text makes itself: a directory that is not there now, and comes and goes with the text, is nobody's to lose."""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdikt.effects.target import Resolver
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command, Word

_DELETES = ("fs.delete", "fs.shred")
_PUTS = ("fs.write", "fs.append", "fs.overwrite")
_MAKERS: dict[str, str] = {
    **dict.fromkeys(("mkdir", "virtualenv", "sphinx-quickstart", "initdb"), "every"),
    **dict.fromkeys(("cp", "rsync", "degit", "tiged"), "last"),
    **dict.fromkeys(("tar", "bsdtar"), "-C --directory"),
    "unzip": "-d",
    "cmake": "-B",
    **dict.fromkeys(("wget", "curl"), "-o -O -P --output --directory-prefix --output-dir"),
}
"""Programs that make directories or files: which of their words name them, or the options after which they stand."""
_VERBS = frozenset(
    "new create init venv clone startproject startapp scaffold generate worktree create-project create-app".split()
)
"""Words with which a program is told to make what it is given the name of."""


def keep(commands: Sequence[Command], found: list[list[Effect]], resolver: Resolver) -> None:
    """Tells deletions of what is not there, and what this very text makes, from those of something that nobody can look at."""
    if not any(_is_unseen(effect) for effects in found for effect in effects):
        return
    made = {*_written(found), *_made(commands, resolver)}
    for effects in found:
        for place, effect in enumerate(effects):
            if _is_unseen(effect):
                targets = tuple(_own(target) if _is_below(target, made) else target for target in effect.targets)
                effects[place] = effect._replace(targets=targets)


def _is_unseen(effect: Effect) -> bool:
    return effect.what.startswith(_DELETES) and any(target.state == "absent" for target in effect.targets)


def _own(target: Target) -> Target:
    return target._replace(state="own") if target.state == "absent" else target


def _is_below(target: Target, made: set[str]) -> bool:
    return target.path in made or any(target.path.startswith(place + "/") for place in made)


def _written(found: list[list[Effect]]) -> Iterator[str]:
    for effects in found:
        for effect in effects:
            if effect.what in _PUTS:
                for target in effect.targets:
                    if target.path and target.state in ("", "absent"):
                        yield target.path.rstrip("/")


def _made(commands: Sequence[Command], resolver: Resolver) -> Iterator[str]:
    """The paths that a command names which is there to make something: `git clone url dir`, `cargo new dir`."""
    for command in commands:
        words = command.argv[1:]
        if not words:
            continue
        way = _MAKERS.get(command.name, "every" if any(_is_told(word.text) for word in words[:3]) else "")
        for word in _picked(words, way) if way else ():
            text = word.text
            if "://" in text or (text.endswith(".git") and text != ".git"):
                text = text.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1]  # what a clone is called
            if word.known and not word.glob and text and (path := resolver.absolute(text, command.cwd)):
                yield path


def _picked(words: Sequence[Word], way: str) -> list[Word]:
    if way == "last":
        return [words[-1]] if len(words) > 1 else []
    if way == "every":
        return [word for word in words if word.text[:1] != "-"]
    options = way.split()
    return [following for word, following in pairwise(words) if word.text in options]


def _is_told(text: str) -> bool:
    return text in _VERBS or text.startswith(("create-", "@vue/create"))
