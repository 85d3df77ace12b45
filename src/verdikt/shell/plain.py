"""Lines so plain that every word means itself, run by programs that run no others: they need no analysis.

Whatever is not surely of this kind is left to the walker, which says the same of these lines, only later.
"""

import re

from verdikt.model.regex import regex
from verdikt.shell.command import Command, Redirect, Word
from verdikt.shell.draft import Draft

_WORD = r"""[A-Za-z0-9_./:@%+,=-]+|'[^'\n]*'|"[^"$`\\!\n]*\""""
_LINE = regex(rf"(?:{_WORD})(?: +(?:2>/dev/null|2>&1|{_WORD}|\|(?= )))*", re.ASCII)
_TOKENS = regex(rf"2>/dev/null|2>&1|{_WORD}|\|", re.ASCII)
_LONGEST = 400

_ALONE = frozenset("ls git pytest ps df id tree whoami find mypy ruff".split())
"""Programs that do something without a word; the others read what they are given."""

_PROGRAMS = _ALONE | frozenset(
    "cat head tail wc nl tac cut sort uniq tr grep egrep fgrep rg du stat file diff cmp comm join paste column realpath readlink which uname hostname jq "
    "md5sum sha1sum sha256sum mkdir touch rm rmdir chmod sed black flake8 pylint isort tsc eslint prettier jest vitest rustc gofmt ldd nm objdump terraform "
    "kubectl helm tldr dig ping lsof netstat ss lsblk free uptime".split()
)
"""Programs that run no other, but for what the flags below may make them do."""

_GIT = frozenset(
    "status log diff show blame branch rev-parse ls-files add fetch pull tag remote describe shortlog reflog commit checkout switch merge mv rm ls-tree cat-file "
    "rev-list show-ref name-rev merge-base stash restore reset push".split()
)
_KUBECTL = frozenset("get describe logs version config api-resources explain top cluster-info".split())
_LINES = regex(r"\d+(?:,(?:\d+|\$))?p(?:;\d+(?:,\d+)?p)*").fullmatch

_HARMLESS = frozenset(
    "ls cat head tail wc nl cut uniq tr grep egrep fgrep ps df du stat diff file mkdir touch rm chmod pytest".split()
)
"""Programs none of whose flags runs anything."""
_RUNS = frozenset(
    "-exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls -c -C -x -e -f -i -E -r -s -z -O -u -P -H -o -S -I --exec --extcmd --expression --file --in-place --open-files-in-pager --upload-pack "
    "--receive-pack --pre --compress-program --pager --hostname-bin --filter --editor --rsh --config --config-env --git-dir".split()
)
"""Flags with which some of the others may run a program, or that must be understood to tell."""
_VALUED = tuple(f"{flag}=" for flag in _RUNS if flag.startswith("--"))


def plain(text: str) -> tuple[Command, ...] | None:
    """The commands of a plain line; None for every other text."""
    if (
        text[:16].partition(" ")[0] not in _PROGRAMS
        or len(text) > _LONGEST
        or not text.isascii()
        or _LINE.fullmatch(text) is None
    ):
        return None
    drafts: list[Draft] = []
    words: list[Word] = []
    redirects: list[Redirect] = []
    start, end = -1, 0
    for found in _TOKENS.finditer(text):
        raw = found[0]
        if raw == "|":
            if not _add(drafts, words, redirects, (start, end)):
                return None
            words, redirects, start = [], [], -1
            continue
        if start < 0:
            start = found.start()
        end = found.end()
        if raw[:2] == "2>":
            redirects.append(_NOWHERE if raw == "2>/dev/null" else _TOGETHER)
        else:
            words.append(Word(raw, raw) if raw[0] not in "'\"" else Word(raw[1:-1], raw))
    if not _add(drafts, words, redirects, (start, end)):
        return None
    drafts[-1].pipe_to = None
    return tuple([draft.finished() for draft in drafts])


_NOWHERE = Redirect(">", 2, Word("/dev/null", "/dev/null"))
_TOGETHER = Redirect(">&", 2, Word("1", "1"))


def _add(drafts: list[Draft], words: list[Word], redirects: list[Redirect], span: tuple[int, int]) -> bool:
    """Adds a command to the pipeline, if it is plain."""
    index = len(drafts)
    if not words or not _is_plain(words, index > 0):
        return False
    draft = Draft()
    draft.argv = tuple(words)
    draft.redirects = tuple(redirects)
    draft.assignments = draft.via = ()
    draft.cwd = draft.stdin = draft.feeds = None
    draft.where = ""
    draft.pipe_from = index - 1 if index else None
    draft.pipe_to = index + 1
    draft.background = draft.conditional = draft.repeated = False
    draft.span = span
    draft.depth = 0
    drafts.append(draft)
    return True


def _is_plain(words: list[Word], fed: bool) -> bool:
    """Whether the program runs no other, and nothing about it must be understood."""
    name = words[0].raw
    if name not in _PROGRAMS:
        return False
    if len(words) == 1:
        return fed or name in _ALONE
    if name in _HARMLESS:
        return True
    if name == "sed":
        return (
            len(words) > 2 and words[1].text == "-n" and _LINES(words[2].text) is not None and words[-1].text[:1] != "-"
        )
    for word in words:
        text = word.text
        if text[:1] == "-" and (text in _RUNS or text.startswith(_VALUED)):
            return False
    if name == "git":
        return words[1].text in _GIT
    return name != "kubectl" or words[1].text in _KUBECTL
