"""Commands that nobody would go inside: every word means itself, and the program is in none of the tables.

The walker says the same of these, only later. What must start cold is told even sooner, by `plain`.
"""

from verdikt.model.regex import regex
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import Redirect, Word
from verdikt.shell.draft import Draft
from verdikt.shell.expand import plain_word
from verdikt.shell.git import is_quiet
from verdikt.shell.nest import HANDLERS
from verdikt.shell.output import COMPUTED
from verdikt.shell.statement import Piped, Simple, Statement

_LONGEST_WORD = 256
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_+-]*")
_DIGITS = frozenset("0123456789")
"""A name that ends in one may be an interpreter with a version."""


def bare(statement: Statement) -> list[Draft] | None:
    """The drafts of such a command or pipeline; None for everything else."""
    if isinstance(statement, Simple):
        draft = _draft(statement, None)
        return None if draft is None else [draft]
    if not isinstance(statement, Piped):
        return None
    drafts: list[Draft] = []
    last = len(statement.stages) - 1
    for index, stage in enumerate(statement.stages):
        draft = _draft(stage, index - 1 if index else None) if isinstance(stage, Simple) else None
        # What a command surely prints may be read by the next.
        if draft is None or (index < last and draft.argv[0].text in COMPUTED):
            return None
        draft.pipe_to = index + 1 if index < last else None
        drafts.append(draft)
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
    redirects = _redirects(simple) if simple.redirects else ()
    if redirects is None or not _runs_nothing(words):
        return None
    draft = Draft()
    draft.argv = tuple(words)
    draft.redirects = redirects
    draft.assignments = draft.via = ()
    draft.cwd = draft.stdin = draft.feeds = draft.pipe_to = None
    draft.where = ""
    draft.pipe_from = pipe_from
    draft.background = draft.conditional = draft.repeated = False
    draft.span = (simple.start, simple.end)
    draft.depth = 0
    return draft


def _redirects(simple: Simple) -> tuple[Redirect, ...] | None:
    """The redirections, when they are plain and leave standard input alone."""
    found: list[Redirect] = []
    for op, fd, raw, _ in simple.redirects:
        target = plain_word(raw) if fd and len(raw) < _LONGEST_WORD else None
        if target is None:
            return None
        found.append(Redirect(op, fd, target))
    return tuple(found)


def _runs_nothing(words: list[Word]) -> bool:
    """Whether nobody would go inside the command."""
    name = words[0].text
    if name in HANDLERS:
        return name == "git" and len(words) > 1 and is_quiet(words[1].text, words)
    return name not in BUILTINS and name[-1:] not in _DIGITS and _NAME.fullmatch(name) is not None
