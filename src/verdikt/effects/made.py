"""What a text makes itself: a directory that is not there now, and comes and goes with the text, is nobody's to lose."""

from __future__ import annotations

from itertools import pairwise

from verdikt.model.effect import EffectClass
from verdikt.model.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdikt.effects.target import Resolver
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command, Word

LOSES = frozenset(("fs.delete", "fs.delete.tree", "fs.shred"))
"""Effects that `keep` looks at."""
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


SHEDS = frozenset(("git.branch.delete", "git.tag.delete"))
"""Effects that `shed` looks at."""
_MAKES = regex(
    r"^git\s(?:.*\s)?(?:(?:checkout|switch)\s+(?:-\w+\s+)*-[bcC]\s+|branch\s+|tag\s+(?:-[as]\s+)*)([\w./-]+)"
)


def shed(commands: Sequence[Command], found: list[list[Effect]]) -> None:
    """A branch or a tag that the text itself makes is its own to delete."""
    made: set[str] = set()
    for command, effects in zip(commands, found, strict=True):
        for place, effect in enumerate(effects):
            if effect.what in SHEDS and effect.targets and all(target.text in made for target in effect.targets):
                effects[place] = effect._replace(what="git.write", cls=EffectClass.WRITE, recoverable=True)
        if command.name == "git" and (name := _MAKES.match(" ".join(word.text for word in command.argv))):
            made.add(name[1])


def spare(text: str, commands: Sequence[Command], found: list[list[Effect]], resolver: Resolver) -> None:
    """What is written only where nothing is yet, as in `[ -f x ] || cp y x`, replaces nothing."""
    if "-" not in text or not _TESTED.search(text):
        return
    source = text.encode("utf-8", "surrogatepass")
    for index, command in enumerate(commands):
        if not command.conditional or not any(effect.what in REPLACES for effect in found[index]):
            continue
        before = source[max(0, command.span[0] - _NEAR) : command.span[0]].decode("utf-8", "replace")
        tested = _MISSING.search(before)
        path = resolver.absolute(tested[1] or tested[2], command.cwd) if tested else ""
        if path:
            found[index] = [e for e in (_put(effect, path) for effect in found[index]) if e is not None]


_NEAR = 300
_TESTED = regex(r"(?:\[|\btest)\s+(?:!\s+)?-[efs]\s")
_PATH = r"""["']?([^\s"'$`;|&\]]+)["']?"""
_MISSING = regex(
    rf"(?:\[\[?|\btest)\s+(?:-[efs]\s+{_PATH}\s*(?:\]\]?)?\s*\|\||!\s+-[efs]\s+{_PATH}\s*(?:\]\]?)?\s*(?:&&|;?\s*then\b))\s*[{{(]?\s*$"
)
REPLACES = frozenset(("fs.overwrite", "cred.write"))
"""Effects that `spare` looks at."""


def _put(effect: Effect, path: str) -> Effect | None:
    if effect.what not in REPLACES or any(target.path != path for target in effect.targets):
        return effect
    if effect.what == "cred.write":
        return None
    return effect._replace(
        what="fs.write", recoverable=True, targets=tuple(t._replace(state="absent") for t in effect.targets)
    )


def _is_unseen(effect: Effect) -> bool:
    return effect.what in LOSES and any(target.state == "absent" for target in effect.targets)


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
