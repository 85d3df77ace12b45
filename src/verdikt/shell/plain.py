"""Lines so plain that every word means itself, run by programs that run no others: they need no analysis.

Whatever is not surely of this kind is left to the walker, which says the same of these lines, only later.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import Redirect, Word
from verdikt.shell.command_draft import CommandDraft
from verdikt.shell.lexer import RESERVED_WORDS
from verdikt.shell.output_prediction import PREDICTABLE_PROGRAMS
from verdikt.shell.subcommand import RUNNERS, SUBCOMMANDS

if TYPE_CHECKING:
    from verdikt.shell.command import Command

_WORD = r"""[A-Za-z0-9_./:@%+,=*?-]+|'[^'\n]*'|"(?:[^"$`\\!\n]|\\[^$`"\\\n])*"|!|\\[()]"""
_MARK = r"\|\|?|&&"
_TOKENS = compile_lazily(rf"2>/dev/null|2>&1|{_WORD}|{_MARK}")
_BARE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,=*?- "
_LONGEST = 400

_HARMLESS = frozenset(
    "ls cat head tail wc nl cut uniq tr grep egrep fgrep ps df du stat diff file mkdir touch rm chmod rmdir pytest cmp comm join paste column realpath readlink which "
    "uname hostname jq md5sum sha1sum sha256sum tac id whoami tree lsof netstat ss lsblk free uptime dig ping tldr nm ldd objdump gofmt black isort flake8 pylint mypy".split()
)
"""Programs that run no other, whatever they are told."""

_CAREFUL = frozenset("find rg sort ruff tsc eslint prettier jest vitest rustc terraform helm".split())
"""Programs that run no other, unless a flag of the next table makes them."""

_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": frozenset(
        "status log diff show blame branch rev-parse ls-files add fetch pull tag remote describe shortlog reflog commit checkout switch merge mv rm ls-tree cat-file "
        "rev-list show-ref name-rev merge-base stash restore reset push init cherry-pick revert notes bundle archive worktree check-ignore count-objects".split()
    ),
    "kubectl": frozenset("get describe logs version config api-resources explain top cluster-info".split()),
    "cargo": frozenset(
        "build check test clippy fmt doc tree metadata add update search bench init new install".split()
    ),
    "npm": frozenset("ls list view search audit outdated".split()),
    "pip": frozenset("install list freeze show check download".split()),
    "pip3": frozenset("install list freeze show check download".split()),
    "docker": frozenset("ps images logs inspect build pull network volume search top stats version info".split()),
    "go": frozenset("build vet get mod doc env fmt list version install".split()),
    "gh": frozenset("pr issue run workflow repo release auth".split()),
}
"""Programs with subcommands, and those of them that run nothing."""

_ALONE = frozenset("ls git pytest ps df id tree whoami find mypy ruff cargo docker".split())
"""Programs that do something without a word; the others read what they are given."""

_PROGRAMS = _HARMLESS | _CAREFUL | _ALONE | _SUBCOMMANDS.keys() | {"sed"}
_LINES = compile_lazily(r"\d+(?:,(?:\d+|\$))?p(?:;\d+(?:,\d+)?p)*")
_EDIT = compile_lazily(r"\d+(?:,\d+)?d|s/[^/\\\n]*/[^/\\\n]*/g?")

_RUNS = frozenset(
    "-exec -execdir -ok -okdir -c -C -x -e -f -i -E -r -s -z -O -u -P -H -o -S -I --exec --extcmd --expression --file --in-place --open-files-in-pager --upload-pack "
    "--receive-pack --pre --compress-program --pager --hostname-bin --filter --editor --rsh --config --config-env --git-dir -toolexec -exec= -v --volume".split()
)
"""Flags with which some programs may run another, or that must be understood to tell."""
_FINDS = frozenset("-exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls -files0-from".split())
_VALUED = tuple(f"{flag}=" for flag in _RUNS if flag.startswith("-"))


Quiet = Callable[[list[Word], bool, bool], bool]
"""Whether a command runs no other; the flags say that it reads what another one puts out, and that another one reads it."""


def parse_plain_line(text: str, quiet: Quiet | None = None) -> tuple[Command, ...] | None:
    """The commands of a plain line; None for every other text. `quiet` knows more programs than the lists above."""
    if quiet is None:
        first = text[:_LONGEST].partition(" ")[0]
        if not first or (first not in _PROGRAMS and _reach(first) == 9):
            return None
        quiet = _is_plain
    if len(text) > _LONGEST or not text.isascii():
        return None
    if not text.encode().translate(None, _BARE):
        tokens = text.split(" ")  # nothing but words and spaces, which needs no pattern
        if "" in tokens:
            return None
    else:
        tokens = _TOKENS.findall(text)
        if not tokens or " ".join(tokens) != text:
            return None  # something stands in it that is no token, or more than a blank stands between two
    if ">" not in text and "|" not in text and "&&" not in text:
        words = [*map(_word, tokens)]
        return (
            (CommandDraft.from_words(words, (), (0, len(text)), None).to_command(),)
            if quiet(words, False, False)
            else None
        )
    drafts = _several(tokens, quiet)
    return None if drafts is None else tuple([draft.to_command() for draft in drafts])


def _several(tokens: list[str], quiet: Quiet) -> list[CommandDraft] | None:
    """The commands of a line with pipes, lists or redirections."""
    drafts: list[CommandDraft] = []
    words: list[Word] = []
    redirects: list[Redirect] = []
    before = ""
    at = start = 0
    for token in [*tokens, ""]:
        if token in _MARKS:
            index = len(drafts)
            fed = before == "|"
            if not words or not quiet(words, fed, token == "|"):
                return None
            if words[0].text in FILE_WRITERS and (before or token) and {"&&", "||"} & {*tokens}:
                return None
            draft = CommandDraft.from_words(words, tuple(redirects), (start, at - 1), index - 1 if fed else None)
            draft.pipe_to = index + 1 if token == "|" else None
            draft.conditional = before in ("&&", "||") or (fed and drafts[-1].conditional)
            drafts.append(draft)
            words, redirects, before, start = [], [], token, at + len(token) + 1
        elif token[:2] == "2>":
            redirects.append(_NOWHERE if token == "2>/dev/null" else _TOGETHER)
        else:
            words.append(_word(token))
        at += len(token) + 1
    return drafts


_MARKS = frozenset(("|", "&&", "||", ""))
FILE_WRITERS = frozenset("cp mv ln install tee curl wget".split())
"""Programs that put something into files which a later command may run."""
_SOURCES = frozenset("mkdir touch chmod which realpath readlink".split())
"""Programs of the lists whose output is known."""
_NOWHERE = Redirect(">", 2, Word("/dev/null", "/dev/null"))
_TOGETHER = Redirect(">&", 2, Word("1", "1"))


@lru_cache(maxsize=4096)
def _word(raw: str) -> Word:
    first = raw[0]
    if first in "'\"":
        return Word(raw[1:-1], raw)
    if first == "\\":
        return Word(raw[1:], raw)
    return Word(raw, raw, "*" in raw or "?" in raw)


def _is_plain(words: list[Word], fed: bool, read: bool) -> bool:
    """Whether the program runs no other, and nothing about it must be understood."""
    name = words[0].raw
    if read and name in _SOURCES:
        return False
    if len(words) == 1:
        return name in _ALONE or (fed and name in _HARMLESS) or _reach(name) == 0
    if name in _HARMLESS:
        return True
    if name == "sed":
        return len(words) > 2 and words[-1].text[:1] != "-" and is_plain_sed(words[1].text, words[2].text)
    commands = _SUBCOMMANDS.get(name)
    if commands is None and name not in _CAREFUL:
        return _is_unlisted(name, words)
    if name == "find":
        return not any(word.text in _FINDS for word in words)
    for word in words:
        text = word.text
        if text.startswith("ext::"):
            return False
        if text[:1] == "-" and (text in _RUNS or text.startswith(_VALUED)):
            return False
    return commands is None or words[1].text in commands


def _is_unlisted(name: str, words: list[Word]) -> bool:
    """A program that the analysis has no row for, or none for this subcommand."""
    reach = _reach(name)
    if reach != 1:
        return reach == 0

    key = name
    for word in words[1:3]:
        key = f"{key} {word.text}"
        if word.text[:1] == "-" or key in RUNNERS:
            return False
        if key not in SUBCOMMANDS:
            return True
    return False


@lru_cache(maxsize=1024)
def _reach(name: str) -> int:
    """How many words tell whether a program runs another; 9 for what is more than a program."""
    from verdikt.shell.inner_commands import count_deciding_words

    if (
        "=" in name
        or "/" in name
        or not name[0].isalnum()
        or name in RESERVED_WORDS
        or name in BUILTINS
        or name in PREDICTABLE_PROGRAMS
    ):
        return 9
    if name in ("[[", "in") or "*" in name or "?" in name:
        return 9
    return count_deciding_words(name)


def is_plain_sed(flag: str, script: str) -> bool:
    """Whether a script only prints, deletes or replaces lines."""
    return (flag == "-n" and _LINES.fullmatch(script) is not None) or (
        flag == "-i" and _EDIT.fullmatch(script) is not None
    )
