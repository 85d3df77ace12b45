"""Commands so plain that nothing is left to find out: every word means itself, and the program runs no other.

Whatever is not surely of this kind is left to the walker, which says the same of these, only later.
"""

import re

from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import Redirect, Word
from verdikt.shell.draft import Draft
from verdikt.shell.expand import plain_word
from verdikt.shell.git import is_quiet
from verdikt.shell.nest import HANDLERS
from verdikt.shell.output import COMPUTED
from verdikt.shell.statement import Piped, Simple, Statement

_LONGEST_WORD = 256
_NAME = re.compile(r"[A-Za-z_][\w+-]*").fullmatch
_DIGITS = frozenset("0123456789")
"""A name that ends in one may be an interpreter with a version."""


def plain(statement: Statement) -> list[Draft] | None:
    """The drafts of a plain command or pipeline; None for everything else."""
    if isinstance(statement, Simple):
        draft = _draft(statement, None)
        return None if draft is None else [draft]
    if not isinstance(statement, Piped):
        return None
    drafts: list[Draft] = []
    for index, stage in enumerate(statement.stages):
        draft = _draft(stage, index - 1 if index else None) if isinstance(stage, Simple) else None
        # What a command surely prints may be read by the next.
        if draft is None or (index < len(statement.stages) - 1 and draft.argv[0].text in COMPUTED):
            return None
        draft.pipe_to = index + 1
        drafts.append(draft)
    drafts[-1].pipe_to = None
    return drafts


def _draft(simple: Simple, pipe_from: int | None) -> Draft | None:
    raws = simple.words
    if not raws or simple.assignments or simple.test or (raws[0] in HANDLERS and raws[0] != "git"):
        return None
    words: list[Word] = []
    for raw in raws:
        word = plain_word(raw) if len(raw) < _LONGEST_WORD else None
        if word is None:
            return None
        words.append(word)
    if not _runs_nothing(words):
        return None
    redirects: list[Redirect] = []
    for op, fd, raw, heredoc in simple.redirects:
        target = plain_word(raw) if len(raw) < _LONGEST_WORD and heredoc is None and op != "<<<" else None
        if target is None:
            return None
        redirects.append(Redirect(op, fd, target))
    draft = Draft()
    draft.argv = tuple(words)
    draft.redirects = tuple(redirects)
    draft.assignments = draft.via = ()
    draft.cwd = draft.stdin = draft.feeds = draft.pipe_to = None
    draft.where = ""
    draft.pipe_from = None if any(redirect.fd == 0 for redirect in redirects) else pipe_from
    draft.background = draft.conditional = draft.repeated = False
    draft.span = (simple.start, simple.end)
    draft.depth = 0
    return draft


def _runs_nothing(words: list[Word]) -> bool:
    """Whether nobody would go inside the command."""
    name = words[0].text
    if name in HANDLERS:
        return name == "git" and len(words) > 1 and is_quiet(words[1].text, words)
    return name not in BUILTINS and name[-1] not in _DIGITS and _NAME(name) is not None
