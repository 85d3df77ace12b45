"""The expression of a `find`: the directories it searches, the names it asks for, and whether it leaves files out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.effects.arguments import word_set
from verdikt.model.effect import Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdikt.model.effect import Target
    from verdikt.shell.command import Command

_TESTS = word_set(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -mtime -mmin -atime -amin -ctime -cmin -newer "
    "-anewer -cnewer -size -user -group -perm -inum -links -uid -gid -fstype -used -samefile -lname"
)
_NAME_TESTS = word_set("-name -iname -path -ipath -wholename -iwholename -regex -iregex")
_NEGATIONS = ("!", "-not")
_LEFTOVER_ENDINGS = (".pyc", ".pyo", ".tmp", ".log", ".bak", ".swp", ".orig", ".rej", ".part", ".DS_Store", "~", "*")
"""Endings of names that a program leaves behind, or that say nothing."""
_EXEC_ACTIONS = ("-exec", "-execdir", "-ok", "-okdir")


def strip_actions(command: Command) -> Command:
    """Return a `find` without the words of the commands that it runs: `-exec echo -delete ;` deletes nothing."""
    words: list[Word] = []
    argv = command.argv
    at = 0
    while at < len(argv):
        if argv[at].text in _EXEC_ACTIONS:
            at = next((end for end in range(at + 1, len(argv)) if _ends_action(argv, end)), at)
        else:
            words.append(argv[at])
        at += 1
    return command if len(words) == len(argv) else command._replace(argv=tuple(words))


def _ends_action(argv: tuple[Word, ...], index: int) -> bool:
    return argv[index].text == ";" or (argv[index].text == "+" and argv[index - 1].text == "{}")


def list_roots(command: Command) -> list[Word]:
    """Return the directories in which a `find` looks."""
    roots = []
    for word in command.argv[1:]:
        text = word.text
        if text in ("-H", "-L", "-P") or text.startswith(("-O", "-D")):
            continue
        if text.startswith(("-", "(", "!", ",")):
            break
        roots.append(word)
    return roots or [Word(".")]


def list_depths(command: Command) -> list[Word]:
    """Return the options about how deep a `find` looks, with their values; they count wherever they stand."""
    return [part for pair in pairwise(command.argv) if pair[0].text in ("-maxdepth", "-mindepth") for part in pair]


def list_names(command: Command, tests: tuple[str, ...] = ("-name", "-iname")) -> list[str]:
    """Return the names that a `find` asks for by these tests, without those that it excludes."""
    texts = [word.text for word in command.argv]
    return [
        texts[i + 1] for i, text in enumerate(texts[:-1]) if text in tests and texts[max(i - 1, 0)] not in _NEGATIONS
    ]


def _is_shallow(command: Command) -> bool:
    """Return whether a `find` looks at what lies directly in its directories, and no deeper."""
    texts = [word.text for word in command.argv]
    return any(text == "-maxdepth" and value == "1" for text, value in pairwise(texts))


def list_matches(command: Command) -> list[Word]:
    """Return what a `find` matches, as words: the directories themselves, or narrowed by the name asked for."""
    names = list_names(command)
    matches = []
    for root in list_roots(command):
        base = root.text.rstrip("/") or "/"
        # Without the quotes, an empty variable means the current directory.
        is_quoted = root.raw[:1] == '"'
        below = base if _is_shallow(command) else f"{base}/**"
        matches += [
            Word(f"{below}/{name}", f"{root.raw}/{name}" if is_quoted else root.raw, True) for name in names
        ] or [root]
    return matches


def may_spare(command: Command, resolve: Callable[[Word], Target]) -> bool:
    """Return whether a `find` may leave out what matters. In a home, a pattern of names is what it is to `rm`."""
    if not has_filter(command):
        return False
    tests = [word.text for word in command.argv if word.text in _TESTS]
    names = list_names(command)
    is_by_name = len(names) == len(tests) and not any(name.endswith(_LEFTOVER_ENDINGS) for name in names)
    return not (is_by_name and "-empty" not in [word.text for word in command.argv]) or any(
        resolve(root).zone is not Zone.HOME for root in list_roots(command)
    )


def has_filter(command: Command) -> bool:
    """Return whether a `find` has a test that leaves much out, so that what it matches is not all there is.

    A name that is spared (`! -name keep`) leaves the rest to lose, and with `-maxdepth 1` a name is what a glob is
    to a shell; only `-delete` keeps to files.
    """
    texts = [word.text for word in command.argv]
    ignored = _NAME_TESTS if _is_shallow(command) and "-delete" not in texts else frozenset()
    values = [
        texts[i + 1 : i + 2]
        for i, text in enumerate(texts)
        if text in _TESTS and text not in ignored and not (text in _NAME_TESTS and texts[max(i - 1, 0)] in _NEGATIONS)
    ]
    return any(value != ["*"] for value in values) or "-empty" in texts
