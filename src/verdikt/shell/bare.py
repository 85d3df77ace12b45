"""Commands that nobody would go inside: every word means itself, and their tables tell that nothing is there.

The walker says the same of these, only later. What must start cold is told even sooner, by `plain`.
"""

from functools import lru_cache

from verdikt.model.regex import regex
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import Redirect, Word
from verdikt.shell.draft import Draft
from verdikt.shell.expand import plain_word
from verdikt.shell.lexer import RESERVED
from verdikt.shell.nest import is_quiet
from verdikt.shell.output import SOURCES
from verdikt.shell.plain import FILED
from verdikt.shell.redirect import outputs
from verdikt.shell.statement import Piped, Sequence, Simple, Statement

_LONGEST_WORD = 256
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_+-]*")
_WILD = regex(r"[A-Za-z0-9_./:@%+,=*?-]+")


def runs_nothing(words: list[Word], _fed: bool, read: bool) -> bool:
    """Whether nobody would go inside the command, and nothing is known of what it prints where somebody reads that."""
    name = words[0].text
    return _is_program(name) and not (read and name in SOURCES) and is_quiet(words)


@lru_cache(maxsize=1024)
def _is_program(name: str) -> bool:
    """Whether it is a program's name, and no word of the shell itself."""
    return name not in BUILTINS and name not in RESERVED and _NAME.fullmatch(name) is not None


def bare(statement: Statement) -> list[Draft] | None:
    """The drafts of such a command, pipeline or sequence of them; None for everything else."""
    drafts: list[Draft] = []
    if isinstance(statement, Simple):
        return drafts if _simple(statement, None, drafts) else None
    if isinstance(statement, Piped):
        return drafts if _piped(statement, drafts) else None
    return drafts if isinstance(statement, Sequence) and _sequence(statement, drafts) else None


def _sequence(sequence: Sequence, drafts: list[Draft]) -> bool:
    items, joins = sequence.items, sequence.joins
    conditional = False
    chain = 0  # where the commands begin that succeed or fail together
    for item, join in zip(items, joins, strict=True):
        first = len(drafts)
        read = (
            _simple(item, None, drafts)
            if isinstance(item, Simple)
            else isinstance(item, Piped) and _piped(item, drafts)
        )
        if not read:
            return False
        for draft in drafts[first:]:
            draft.conditional = conditional
            if draft.argv[0].text in FILED or outputs(draft.redirects):
                return False
        conditional = join in ("&&", "||")
        if not conditional:
            for draft in drafts[chain:] if join == "&" else ():
                draft.background = True
            chain = len(drafts)
    return True


def _piped(piped: Piped, drafts: list[Draft]) -> bool:
    first, last = len(drafts), len(piped.stages) - 1
    for place, stage in enumerate(piped.stages):
        index = first + place
        if not isinstance(stage, Simple) or not _simple(stage, index - 1 if place else None, drafts):
            return False
        if place < last:
            # What a command surely prints may be read by the next.
            if drafts[index].argv[0].text in SOURCES:
                return False
            drafts[index].pipe_to = index + 1
    return True


def _simple(simple: Simple, pipe_from: int | None, drafts: list[Draft]) -> bool:
    """Adds the draft of a command, if it is such a one."""
    raws = simple.words
    if not raws or simple.assignments or simple.test or raws[0] in BUILTINS or not _NAME.fullmatch(raws[0]):
        return False
    words: list[Word] = []
    for raw in raws:
        word = plain_word(raw) if len(raw) < _LONGEST_WORD else None
        if word is None:
            if len(raw) >= _LONGEST_WORD or not _WILD.fullmatch(raw):
                return False
            word = Word(raw, raw, True)
        words.append(word)
    redirects = _redirects(simple) if simple.redirects else ()
    if redirects is None or not is_quiet(words):
        return False
    drafts.append(Draft.plain(words, redirects, (simple.start, simple.end), pipe_from))
    return True


def _redirects(simple: Simple) -> tuple[Redirect, ...] | None:
    """The redirections, when they are plain and leave standard input alone."""
    found: list[Redirect] = []
    for op, fd, raw, _ in simple.redirects:
        target = plain_word(raw) if fd and len(raw) < _LONGEST_WORD else None
        if target is None:
            return None
        found.append(Redirect(op, fd, target))
    return tuple(found)
