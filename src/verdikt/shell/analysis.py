"""Entry point of the package: analyse a text as a shell would read it.

Plain lines are read here: lines in which every word means itself and no program runs another one. `grep -rn x src |
head -20` is one, and so are most commands of an agent. Reading it needs no parser, no expansion and no walk, which
takes a quarter off the CPU of a warm decision. All that is known here of programs comes from their records, as in
`full_analysis`, which gives the same answer for these lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import cache, lru_cache
from types import ModuleType

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Command, Redirect, Script, Word
from verdikt.shell.evaluated_text import CALLBACK_BUILTINS
from verdikt.shell.possible_wrapper import find_possible_command
from verdikt.shell.runner import find_runner
from verdikt.shell.shell_words import BUILTIN_NAMES, RESERVED_WORDS


class _NameKind(Enum):
    SHELL_WORD = auto()  # a builtin or a reserved word of the shell, or no name of a program at all
    UNKNOWN = auto()  # a program without a record
    PLAIN = auto()  # a program that runs no other one
    RUNNING = auto()


# Bound here, because reading a member of an enumeration takes as long as the rest of the test.
_SHELL_WORD, _UNKNOWN_PROGRAM, _PLAIN_PROGRAM, _RUNNING_PROGRAM = _NameKind

# Longer lines are rarely plain, and looking for the first odd character in them would only delay the full analysis.
_MAX_LINE_LENGTH = 400
_UNQUOTED_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,=*?~-"
_UNQUOTED_LINE = _UNQUOTED_CHARACTERS + b" "
_OPERATOR_CHARACTERS = b"|&"
# Runs of plain characters, and between them what a backslash leaves as it is.
_QUOTED = r"""'[^'\n]*'|"[^"$`\\!\n]*(?:\\[^$`"\\\n][^"$`\\!\n]*)*\""""
_PIECE = rf"[A-Za-z0-9_./:@%+,=*?~-]+|{_QUOTED}"
_WORD = rf"(?:{_PIECE})+|!|\\[()]"
_PIECES = compile_lazily(_PIECE)
_TOKENS = compile_lazily(rf"2>/dev/null|2>&1|{_WORD}|\|\|?|&&")
_HOME = compile_lazily(r"(?:^|[^A-Za-z0-9])~")
_PROGRAM_NAME = compile_lazily(r"[A-Za-z_][A-Za-z0-9_+-]*")
_CONDITIONAL_OPERATORS = frozenset(("&&", "||"))
_STDERR_REDIRECTS = {
    "2>/dev/null": Redirect(">", 2, Word("/dev/null", "/dev/null")),
    "2>&1": Redirect(">&", 2, Word("1", "1")),
}
# Builds a named tuple from all its fields at once; the keyword handling of its class costs more than the rest.
_make_row = tuple.__new__
_OPERATORS = frozenset(("|", *_CONDITIONAL_OPERATORS))
"""The tokens that end a command before the end of the line."""
_REDIRECT_TOKENS = frozenset(_STDERR_REDIRECTS)
_SEPARATORS = _OPERATORS | _REDIRECT_TOKENS
"""The tokens that are no words."""


def analyse(
    text: str,
    *,
    home: str = "",
    cwd: str = "",
    env: Mapping[str, str] | None = None,
    read: Callable[[str], str | None] | None = None,
    aliases: Mapping[str, str] | None = None,
    script: bool = False,
) -> Script:
    """Return the commands that a shell would run for this text, including those inside other commands.

    Never raises: what the text does not determine is marked unknown, what cannot be understood is named in `problems`.
    `env` holds variables known to be set; `read` returns the text of a file or None; `aliases` are those of the shell
    (and of git, as `git co`). Set `script` for the text of a file, whose arguments are unknown.
    """
    if not aliases and (commands := parse_plain_line(text)) is not None:
        return _make_row(Script, (text, commands, (), ()))
    result: Script = _load_full_analysis().analyse_by_parser(
        text, home=home, cwd=cwd, env=env, read=read, aliases=aliases, script=script
    )
    return result


def parse_plain_line(text: str) -> tuple[Command, ...] | None:
    """Return the commands of a plain line; None for every other text."""
    if len(text) > _MAX_LINE_LENGTH or not text.isascii():
        return None
    # `~/x` is a home directory, and `HEAD~1` is itself.
    if "~" in text and _HOME.search(text):
        return None
    odd_characters = text.encode().translate(None, _UNQUOTED_LINE)
    if not odd_characters or not odd_characters.strip(_OPERATOR_CHARACTERS):
        # Nothing but unquoted words, blanks and operators, as in most lines: splitting is faster than the pattern.
        tokens = text.split(" ")
        if "" in tokens:
            return None
        if odd_characters:
            # All of them must belong to operators that stand by themselves.
            ends = _find_operators(tokens)
            operators = "".join([tokens[end] for end in ends])
            return _build_commands(tokens, ends) if operators.encode() == odd_characters else None
    else:
        # Some builtins evaluate what stands between single quotes: `test -v 'a[$(cmd)]'`.
        if "[$(" in text or "[`" in text or "BASH_FUNC_" in text:
            return None
        tokens = _TOKENS.findall(text)
        # The tokens must add up to the text: anything else in it, or a second blank, may mean something to the shell.
        if not tokens or " ".join(tokens) != text:
            return None
        if not _SEPARATORS.isdisjoint(tokens):
            return _build_commands(tokens, _find_operators(tokens))
    words = [*map(_parse_word, tokens)]
    return (_make_command(tuple(words), (0, len(text))),) if _is_inert(words, feeds_pipe=False) else None


def _make_command(
    argv: tuple[Word, ...],
    span: tuple[int, int],
    redirects: tuple[Redirect, ...] = (),
    pipe_from: int | None = None,
    pipe_to: int | None = None,
    *,
    conditional: bool = False,
) -> Command:
    # All fields in their order, as `Command` has them: matching so many names takes longer than splitting the line.
    fields = argv, (), redirects, None, (), "", None, pipe_from, pipe_to, False, conditional, False, span, 0, None
    return _make_row(Command, fields)


def _find_operators(tokens: list[str]) -> list[int]:
    """Return the indexes of the tokens that end a command."""
    return [index for index, token in enumerate(tokens) if token in _OPERATORS]


def _build_commands(tokens: list[str], ends: list[int]) -> tuple[Command, ...] | None:
    """Return the commands of a line with pipes, lists or redirections of standard error; `ends` are its operators."""
    commands: list[Command] = []
    has_conditions = not _CONDITIONAL_OPERATORS.isdisjoint(tokens)
    has_redirects = not _REDIRECT_TOKENS.isdisjoint(tokens)
    previous_operator = ""
    first = start = 0
    conditional = False
    for place, operator in zip((*ends, len(tokens)), (*[tokens[end] for end in ends], ""), strict=True):
        own_tokens = tokens[first:place]
        end = start + len(" ".join(own_tokens))
        redirects: tuple[Redirect, ...] = ()
        if has_redirects:
            redirects = tuple([_STDERR_REDIRECTS[token] for token in own_tokens if token in _STDERR_REDIRECTS])
            own_tokens = [token for token in own_tokens if token not in _STDERR_REDIRECTS]
        words = [*map(_parse_word, own_tokens)]
        feeds_pipe = operator == "|"
        if not words or not _is_inert(words, feeds_pipe=feeds_pipe):
            return None
        # `cp /bin/rm x && ./x`: what one command writes, a later one may run, so the full analysis has to look.
        if has_conditions and _is_file_writer(words[0].text):
            return None
        index = len(commands)
        pipe_from = index - 1 if previous_operator == "|" else None
        if pipe_from is None:
            # A command that reads a pipe runs under the condition of the one that feeds it.
            conditional = index > 0
        pipe_to = index + 1 if feeds_pipe else None
        commands.append(
            _make_command(tuple(words), (start, end), redirects, pipe_from, pipe_to, conditional=conditional)
        )
        previous_operator, first, start = operator, place + 1, end + len(operator) + 2
    return tuple(commands)


@lru_cache(maxsize=4096)
def _parse_word(raw: str) -> Word:
    if raw[0] == "\\":
        return Word(raw[1:], raw)
    if "'" not in raw and '"' not in raw:
        return Word(raw, raw, "*" in raw or "?" in raw)
    pieces = _PIECES.findall(raw)
    texts = [piece[1:-1] if piece[0] in "'\"" else piece for piece in pieces]
    # What stands between quotes is no pattern: `--include='*.py'`.
    glob = any("*" in piece or "?" in piece for piece in pieces if piece[0] not in "'\"")
    return Word("".join(texts), raw, glob)


def _is_inert(words: list[Word], *, feeds_pipe: bool) -> bool:
    """Whether the tables say that the command runs no other one, and that no command after it reads a known output."""
    name = words[0].text
    kind = _find_name_kind(name)
    # What such a program prints is known from its words, and the next command may run it: `echo … | bash`.
    if kind is _SHELL_WORD or (feeds_pipe and name in _load_full_analysis().INPUT_FREE_PROGRAMS):
        return False
    if kind is _UNKNOWN_PROGRAM:
        return len(words) < 3 or not find_possible_command(words)
    return kind is _PLAIN_PROGRAM or bool(_load_full_analysis().has_no_inner_commands(words))


@lru_cache(maxsize=4096)
def _is_file_writer(name: str) -> bool:
    runner = find_runner(name)
    return runner is not None and bool(runner.trace) and bool(_load_full_analysis().is_file_writer(name))


@cache
def _load_full_analysis() -> ModuleType:
    # A tenth of what a cold call imports, and the first commands of most sessions are plain.
    from verdikt.shell import full_analysis

    return full_analysis


@lru_cache(maxsize=4096)
def _find_name_kind(name: str) -> _NameKind:
    """Return what the first word of a command names."""
    is_shell_word = name in BUILTIN_NAMES or name in CALLBACK_BUILTINS or name in RESERVED_WORDS
    if is_shell_word or _PROGRAM_NAME.fullmatch(name) is None:
        return _SHELL_WORD
    runner = find_runner(name)
    if runner is None:
        return _UNKNOWN_PROGRAM
    return _RUNNING_PROGRAM if runner.runs_others else _PLAIN_PROGRAM
