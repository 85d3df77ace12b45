"""Lines so plain that every word means itself, run by programs that run no others: they need no analysis.

Whatever is not surely of this kind is left to `analyse`, which says the same of these lines, only later.
"""

import re

from verdikt.shell.command import Command, Word
from verdikt.shell.draft import Draft

_WORD = r"""[A-Za-z0-9_./:@%+,=-]+|'[^'\n]*'|"[^"$`\\!\n]*\""""
_LINE = re.compile(rf"(?:{_WORD})(?: +(?:{_WORD}|\|(?= )))*", re.ASCII).fullmatch
_TOKENS = re.compile(rf"{_WORD}|\|", re.ASCII).finditer
_LONGEST = 400

_PROGRAMS = frozenset(
    "ls cat head tail wc nl tac cut sort uniq tr grep egrep fgrep rg du df stat file diff cmp comm join paste column realpath readlink tree which whoami id "
    "uname hostname date ps jq md5sum sha1sum sha256sum mkdir touch cp mv rm rmdir ln chmod find sed git pytest mypy ruff black flake8 pylint isort tsc eslint "
    "prettier jest vitest rustc gofmt ldd nm objdump".split()
)
"""Programs that run no other, beside what the next tables name."""

_RUNS = frozenset(
    "--pre --compress-program --pager --hostname-bin --filter --editor -exec -execdir -ok -okdir -c -C -x --exec --extcmd -e --expression -f --file "
    "--in-place -i -E -r -s -z --open-files-in-pager -O --upload-pack -u --receive-pack -P".split()
)
"""Flags with which one of these programs might run another, or that need to be understood to tell."""

_GIT = frozenset("status log diff show blame branch rev-parse ls-files add fetch pull tag remote describe shortlog reflog".split())
_LINES = re.compile(r"\$?\d*(?:,(?:\d+|\$))?p(?:;\d+(?:,\d+)?p)*").fullmatch
_WRITES = ("--output=", "--exec=", "--pre=", "--filter=", "--pager=", "--upload-pack=", "--compress-program=", "--hostname-bin=")


def plain(text: str) -> tuple[Command, ...] | None:
    """The commands of a plain line; None for every other text."""
    if len(text) > _LONGEST or _LINE(text) is None:
        return None
    drafts: list[Draft] = []
    words: list[Word] = []
    start, end = -1, 0
    for found in _TOKENS(text):
        raw = found[0]
        if raw != "|":
            if start < 0:
                start = found.start()
            end = found.end()
            words.append(Word(raw, raw) if raw[0] not in "'\"" else Word(raw[1:-1], raw))
        elif not _add(drafts, words, start, end):
            return None
        else:
            words, start = [], -1
    if not _add(drafts, words, start, end):
        return None
    drafts[-1].pipe_to = None
    return tuple([draft.finished() for draft in drafts])


def _add(drafts: list[Draft], words: list[Word], start: int, end: int) -> bool:
    if not words or not _is_plain(words, bool(drafts)):
        return False
    index = len(drafts)
    draft = Draft()
    draft.argv = tuple(words)
    draft.assignments = draft.redirects = draft.via = ()
    draft.cwd = draft.stdin = draft.feeds = None
    draft.where = ""
    draft.pipe_from = index - 1 if index else None
    draft.pipe_to = index + 1
    draft.background = draft.conditional = draft.repeated = False
    draft.span = (start, end)
    draft.depth = 0
    drafts.append(draft)
    return True


def _is_plain(words: list[Word], fed: bool) -> bool:
    """Whether the program runs no other, and nothing about it must be understood."""
    name = words[0].raw
    if name not in _PROGRAMS:
        return False
    if len(words) == 1:
        return name not in ("pwd", "date") and (fed or name in ("ls", "git", "pytest", "ps", "df", "id", "tree", "whoami", "find"))
    for word in words:
        text = word.text
        if text[:1] == "-" and (text in _RUNS or text.startswith(_WRITES)):
            return name == "find" and text in ("-c", "-s", "-i", "-u", "-x") or (name in _LENIENT and text not in _ALWAYS)
    if name == "sed":
        return words[1].text == "-n" and len(words) > 2 and _LINES(words[2].text) is not None
    return name != "git" or words[1].text in _GIT


_LENIENT = frozenset("grep egrep fgrep rg ls sort head tail wc cut uniq nl cat ps df du stat diff tr pytest".split())
_ALWAYS = frozenset("--pre --compress-program --pager --hostname-bin --filter -exec -execdir -ok -okdir".split())
