"""What a text makes itself: a directory that is not there now, and comes and goes with the text, is nobody's to lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.model.effect import EffectClass
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.effect import Effect, Target
    from verdikt.shell.command import Command, Word

DELETE_EFFECTS = frozenset(("fs.delete", "fs.delete.tree", "fs.shred"))
"""Effects that `keep` looks at."""
_WRITE_EFFECTS = ("fs.write", "fs.append", "fs.overwrite")
_CREATOR_PROGRAMS: dict[str, str] = {
    **dict.fromkeys(("mkdir", "virtualenv", "sphinx-quickstart", "initdb"), "every"),
    **dict.fromkeys(("cp", "rsync", "degit", "tiged"), "last"),
    **dict.fromkeys(("tar", "bsdtar"), "-C --directory"),
    "unzip": "-d",
    "cmake": "-B",
    **dict.fromkeys(("wget", "curl"), "-o -O -P --output --directory-prefix --output-dir"),
}
"""Programs that make directories or files: which of their words name them, or the options after which they stand."""
_CREATE_VERBS = frozenset(
    "new create init venv clone startproject startapp scaffold generate worktree create-project create-app".split()
)
"""Words with which a program is told to make what it is given the name of."""


def mark_own_deletes(
    commands: Sequence[Command], effects_by_command: list[list[Effect]], resolver: TargetResolver
) -> None:
    """Tells deletions of what is not there, and what this very text makes, from those of something that nobody can look at."""
    if not any(_deletes_absent_path(effect) for effects in effects_by_command for effect in effects):
        return
    made = {*_find_written_paths(effects_by_command), *_find_created_paths(commands, resolver)}
    for effects in effects_by_command:
        for place, effect in enumerate(effects):
            if _deletes_absent_path(effect):
                targets = tuple(_mark_own(target) if _is_created(target, made) else target for target in effect.targets)
                effects[place] = effect._replace(targets=targets)


REF_DELETE_EFFECTS = frozenset(("git.branch.delete", "git.tag.delete"))
"""Effects that `shed` looks at."""
_CREATES_REF = compile_lazily(
    r"^git\s(?:.*\s)?(?:(?:checkout|switch)\s+(?:-\w+\s+)*-[bcC]\s+|branch\s+|tag\s+(?:-[as]\s+)*)([\w./-]+)"
)


def downgrade_own_ref_deletes(commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
    """A branch or a tag that the text itself makes is its own to delete."""
    made: set[str] = set()
    for command, effects in zip(commands, effects_by_command, strict=True):
        for place, effect in enumerate(effects):
            if (
                effect.what in REF_DELETE_EFFECTS
                and effect.targets
                and all(target.text in made for target in effect.targets)
            ):
                effects[place] = effect._replace(what="git.write", cls=EffectClass.WRITE, recoverable=True)
        if command.name == "git" and (name := _CREATES_REF.match(" ".join(word.text for word in command.argv))):
            made.add(name[1])


def downgrade_conditional_writes(
    text: str, commands: Sequence[Command], effects_by_command: list[list[Effect]], resolver: TargetResolver
) -> None:
    """What is written only where nothing is yet, as in `[ -f x ] || cp y x`, replaces nothing."""
    if "-" not in text or not _EXISTENCE_TEST.search(text):
        return
    source = text.encode("utf-8", "surrogatepass")
    for index, command in enumerate(commands):
        if not command.conditional or not any(effect.what in REPLACE_EFFECTS for effect in effects_by_command[index]):
            continue
        before = source[max(0, command.span[0] - _MAX_LOOKBEHIND) : command.span[0]].decode("utf-8", "replace")
        tested = _MISSING_FILE_TEST.search(before)
        path = resolver.to_absolute(tested[1] or tested[2], command.cwd) if tested else ""
        if path:
            effects_by_command[index] = [
                e for e in (_downgrade_write(effect, path) for effect in effects_by_command[index]) if e is not None
            ]


_MAX_LOOKBEHIND = 300
_EXISTENCE_TEST = compile_lazily(r"(?:\[|\btest)\s+(?:!\s+)?-[efs]\s")
_PATH_PATTERN = r"""["']?([^\s"'$`;|&\]]+)["']?"""
_MISSING_FILE_TEST = compile_lazily(
    rf"(?:\[\[?|\btest)\s+(?:-[efs]\s+{_PATH_PATTERN}\s*(?:\]\]?)?\s*\|\||!\s+-[efs]\s+{_PATH_PATTERN}\s*(?:\]\]?)?\s*(?:&&|;?\s*then\b))\s*[{{(]?\s*$"
)
REPLACE_EFFECTS = frozenset(("fs.overwrite", "cred.write"))
"""Effects that `spare` looks at."""


def _downgrade_write(effect: Effect, path: str) -> Effect | None:
    if effect.what not in REPLACE_EFFECTS or any(target.path != path for target in effect.targets):
        return effect
    if effect.what == "cred.write":
        return None
    return effect._replace(
        what="fs.write", recoverable=True, targets=tuple(t._replace(state="absent") for t in effect.targets)
    )


def _deletes_absent_path(effect: Effect) -> bool:
    return effect.what in DELETE_EFFECTS and any(target.state == "absent" for target in effect.targets)


def _mark_own(target: Target) -> Target:
    return target._replace(state="own") if target.state == "absent" else target


def _is_created(target: Target, created_paths: set[str]) -> bool:
    return target.path in created_paths or any(target.path.startswith(place + "/") for place in created_paths)


def _find_written_paths(effects_by_command: list[list[Effect]]) -> Iterator[str]:
    for effects in effects_by_command:
        for effect in effects:
            if effect.what in _WRITE_EFFECTS:
                for target in effect.targets:
                    if target.path and target.state in ("", "absent"):
                        yield target.path.rstrip("/")


def _find_created_paths(commands: Sequence[Command], resolver: TargetResolver) -> Iterator[str]:
    """The paths that a command names which is there to make something: `git clone url dir`, `cargo new dir`."""
    for command in commands:
        words = command.argv[1:]
        if not words:
            continue
        way = _CREATOR_PROGRAMS.get(
            command.name, "every" if any(_is_create_verb(word.text) for word in words[:3]) else ""
        )
        for word in _select_words(words, way) if way else ():
            text = word.text
            if "://" in text or (text.endswith(".git") and text != ".git"):
                text = text.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1]  # what a clone is called
            if word.is_known and not word.glob and text and (path := resolver.to_absolute(text, command.cwd)):
                yield path


def _select_words(words: Sequence[Word], selector: str) -> list[Word]:
    if selector == "last":
        return [words[-1]] if len(words) > 1 else []
    if selector == "every":
        return [word for word in words if word.text[:1] != "-"]
    options = selector.split()
    return [following for word, following in pairwise(words) if word.text in options]


def _is_create_verb(text: str) -> bool:
    return text in _CREATE_VERBS or text.startswith(("create-", "@vue/create"))
