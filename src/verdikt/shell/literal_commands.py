"""Commands that nobody would go inside: every word means itself, and their tables tell that nothing is there.

The walker says the same of these, only later. What must start cold is told even sooner, by `plain`.
"""

from functools import lru_cache

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.builtin import BUILTINS
from verdikt.shell.command import Redirect, Word
from verdikt.shell.command_draft import CommandDraft
from verdikt.shell.inner_commands import has_no_inner_commands
from verdikt.shell.lexer import RESERVED_WORDS
from verdikt.shell.output_prediction import INPUT_FREE_PROGRAMS
from verdikt.shell.plain import FILE_WRITERS
from verdikt.shell.redirection import select_stdout_redirects
from verdikt.shell.statement import CommandPipeline, SimpleCommand, Statement, StatementList
from verdikt.shell.word_expansion import to_plain_word

_MAX_WORD_LENGTH = 256
_PROGRAM_NAME = compile_lazily(r"[A-Za-z_][A-Za-z0-9_+-]*")
_WILDCARD_WORD = compile_lazily(r"[A-Za-z0-9_./:@%+,=*?-]+")


def is_inert_command(words: list[Word], _reads_pipe: bool, feeds_pipe: bool) -> bool:
    """Whether nobody would go inside the command, and nothing is known of what it prints where somebody reads that."""
    name = words[0].text
    return _is_program_name(name) and not (feeds_pipe and name in INPUT_FREE_PROGRAMS) and has_no_inner_commands(words)


@lru_cache(maxsize=1024)
def _is_program_name(name: str) -> bool:
    """Whether it is a program's name, and no word of the shell itself."""
    return name not in BUILTINS and name not in RESERVED_WORDS and _PROGRAM_NAME.fullmatch(name) is not None


def draft_literal_commands(statement: Statement) -> list[CommandDraft] | None:
    """The drafts of such a command, pipeline or sequence of them; None for everything else."""
    drafts: list[CommandDraft] = []
    if isinstance(statement, SimpleCommand):
        return drafts if _draft_simple_command(statement, None, drafts) else None
    if isinstance(statement, CommandPipeline):
        return drafts if _draft_pipeline(statement, drafts) else None
    return drafts if isinstance(statement, StatementList) and _draft_list(statement, drafts) else None


def _draft_list(statement_list: StatementList, drafts: list[CommandDraft]) -> bool:
    items, joins = statement_list.items, statement_list.operators
    conditional = False
    chain = 0  # where the commands begin that succeed or fail together
    for item, join in zip(items, joins, strict=True):
        first = len(drafts)
        read = (
            _draft_simple_command(item, None, drafts)
            if isinstance(item, SimpleCommand)
            else isinstance(item, CommandPipeline) and _draft_pipeline(item, drafts)
        )
        if not read:
            return False
        for draft in drafts[first:]:
            draft.conditional = conditional
            if draft.argv[0].text in FILE_WRITERS or select_stdout_redirects(draft.redirects):
                return False
        conditional = join in ("&&", "||")
        if not conditional:
            for draft in drafts[chain:] if join == "&" else ():
                draft.background = True
            chain = len(drafts)
    return True


def _draft_pipeline(pipeline: CommandPipeline, drafts: list[CommandDraft]) -> bool:
    first, last = len(drafts), len(pipeline.stages) - 1
    for place, stage in enumerate(pipeline.stages):
        index = first + place
        if not isinstance(stage, SimpleCommand) or not _draft_simple_command(
            stage, index - 1 if place else None, drafts
        ):
            return False
        if place < last:
            # What a command surely prints may be read by the next.
            if drafts[index].argv[0].text in INPUT_FREE_PROGRAMS:
                return False
            drafts[index].pipe_to = index + 1
    return True


def _draft_simple_command(command: SimpleCommand, pipe_from: int | None, drafts: list[CommandDraft]) -> bool:
    """Adds the draft of a command, if it is such a one."""
    raws = command.words
    if (
        not raws
        or command.assignments
        or command.test_text
        or raws[0] in BUILTINS
        or not _PROGRAM_NAME.fullmatch(raws[0])
    ):
        return False
    words: list[Word] = []
    for raw in raws:
        word = to_plain_word(raw) if len(raw) < _MAX_WORD_LENGTH else None
        if word is None:
            if len(raw) >= _MAX_WORD_LENGTH or not _WILDCARD_WORD.fullmatch(raw):
                return False
            word = Word(raw, raw, True)
        words.append(word)
    redirects = _convert_redirects(command) if command.redirects else ()
    if redirects is None or not has_no_inner_commands(words):
        return False
    drafts.append(CommandDraft.from_words(words, redirects, (command.start, command.end), pipe_from))
    return True


def _convert_redirects(command: SimpleCommand) -> tuple[Redirect, ...] | None:
    """The redirections, when they are plain and leave standard input alone."""
    found: list[Redirect] = []
    for op, fd, raw, _ in command.redirects:
        target = to_plain_word(raw) if fd and len(raw) < _MAX_WORD_LENGTH else None
        if target is None:
            return None
        found.append(Redirect(op, fd, target))
    return tuple(found)
