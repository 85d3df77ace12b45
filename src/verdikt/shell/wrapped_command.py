"""Follow a wrapper (`sudo rm`, `docker exec db sh`) to the command that it runs, by its row in the tables."""

import itertools

from verdikt.knowledge import find_record, find_role
from verdikt.shell.command import Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import ParsedOptions, parse_options, parse_permuted_options, parse_valued_options
from verdikt.shell.redirection import read_input
from verdikt.shell.runner import CommandLevel, Runner, Wrapper, find_runner
from verdikt.shell.scope import Scope

_PYTHON_RUNNERS = find_role("python_runner")
"""Programs that run a `.py` file with Python."""


def trace_wrapper(call: CommandCall) -> str | None:
    """Walk the command that a wrapper runs; return its constant output."""
    runner = find_runner(call.name)
    return trace_row(call, runner.wrapper, 1) if runner is not None and runner.wrapper is not None else None


def trace_subcommand(call: CommandCall) -> str | None:
    """Walk the command that a subcommand runs, as `docker exec` does; return its constant output."""
    row, start = find_subcommand_row(call.words, find_runner(call.name))
    return trace_row(call, row, start) if row else None


def find_subcommand_row(words: list[Word], runner: Runner | None) -> tuple[Wrapper | None, int]:
    """Return the row of a program with subcommands, and the index of the subcommand's own words."""
    level = None if runner is None else runner.commands
    row: Wrapper | None = None
    start = 1
    while level is not None:
        start = _find_command_word(words, start, level)
        if start >= len(words):
            break
        name = words[start].text
        start += 1
        row, level = level.rows.get(name), level.levels.get(name)
    return row, start


def _find_command_word(words: list[Word], start: int, level: CommandLevel) -> int:
    """Return the index of the word after the options; one after an unknown option may be its value."""
    at = parse_options(words, start, level.valued)[1]
    while at < len(words) and words[at].text not in level.rows and words[at].text not in level.levels:
        previous = words[at - 1].text
        if at == start or previous[:1] != "-" or "=" in previous or previous in level.known:
            break
        at = parse_options(words, at + 1, level.valued)[1]
    return at


def trace_row(call: CommandCall, row: Wrapper, start: int) -> str | None:
    """Walk the command that a row finds among the words from `start` on; return its constant output."""
    words = call.words
    if row.repeated:
        # What comes in through the pipe is for the wrapper itself: `ls | entr make` reads names of files.
        call.frame = call.frame.with_stdin(None)
    options, at, host = _parse_wrapper_options(words, row, start)
    scope = _create_wrapper_scope(call, row, options, words[:start])
    at = _trace_text_options(call, row, options, at, host=host, scope=scope)
    # `nix develop -c cmd`, `kubectl run x -- cmd`: only the words after the mark are a command.
    if row.after:
        at = next((index + 1 for index in range(start, len(words)) if words[index].text in row.after.split()), at)
    assignments, at = _read_assignments(words, at) if row.assignments else ((), at)
    program_options = parse_valued_options(row.program)
    inner_words = [value for option, value in options if option in program_options and value is not None] + words[at:]
    login_options = parse_valued_options(row.login)
    is_login = any(option in login_options for option, _ in options)
    if not inner_words:
        return _trace_stdin_shell(call, host) if row.shell or is_login else None
    if row.only_text:
        return None
    if row.joined or is_login:
        text = " ".join(word.text for word in inner_words)
        # `eval` runs in this very shell: what it sets stays set.
        inner_scope = call.scope if call.name == "eval" else scope
        return call.walk_shell_text(text, host=host, repeated=row.repeated, scope=inner_scope)
    if row.program and (entry_point := _find_entry_point(host, inner_words[0])):
        inner_words.insert(0, Word(entry_point, entry_point))
    # `uv run script.py` starts Python, though the word `python` is not there.
    if call.name in _PYTHON_RUNNERS and inner_words[0].text.endswith(".py"):
        inner_words.insert(0, Word("python", "python"))
    return call.walk_command(inner_words, host=host, repeated=row.repeated, scope=scope, assignments=assignments)


def _find_entry_point(image: str, first: Word) -> str:
    """Return the program that an image is named after, where the words for it begin with no program themselves."""
    if first.text[:1] != "-" and find_record(first.text.rpartition("/")[2]) is not None:
        return ""
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0].removesuffix("-cli")
    return name if find_record(name) is not None else ""


def _parse_wrapper_options(words: list[Word], row: Wrapper, start: int) -> tuple[ParsedOptions, int, str]:
    """Return the wrapper's own options, the index after them, and the name of the place where the command runs."""
    spec = f"{row.valued} {row.text}"
    host = row.host if row.host != "1" else ""
    if row.only_text:
        options, at = parse_permuted_options(words, start, spec)[0], len(words)
    else:
        options, at = parse_options(words, start, spec)
    for _ in range(row.skip):
        if at >= len(words):
            break
        host = words[at].text if row.host == "1" else host
        at += 1
        if row.joined or row.after or row.text:
            # `ssh host -p 22 cmd`, `kubectl exec pod -it -- cmd`, `flock file -c cmd`: options may follow the word.
            more_options, at = parse_options(words, at, spec)
            options += more_options
        elif at < len(words) and words[at].text == "--":
            at += 1
    return options, at, host


def _create_wrapper_scope(
    call: CommandCall, row: Wrapper, options: ParsedOptions, words_before: list[Word]
) -> Scope | None:
    """Return the scope of a wrapper that changes the directory, as `env -C` does; None for the others."""
    directory_options = row.directory.split()
    directory = next((value for option, value in options if option in directory_options and value is not None), None)
    # `uv --directory app run pytest`
    for option, value in itertools.pairwise(words_before if directory_options else ()):
        directory = value if directory is None and option.text in directory_options else directory
    return None if directory is None else call.create_directory_scope(directory)


def _trace_text_options(
    call: CommandCall, row: Wrapper, options: ParsedOptions, at: int, *, host: str, scope: Scope | None
) -> int:
    """Walk the texts that options hand to a shell, as in `su -c 'cmd'`; return the index of the words that are left."""
    text_options = parse_valued_options(row.text)
    for option, value in options:
        if option in text_options and value is not None:
            text = value.text
            if row.split:
                text = " ".join([text, *(_requote_word(word) for word in call.words[at:])])
                at = len(call.words)
            call.walk_shell_text(text, host=host, repeated=row.repeated, scope=scope)
    return at


def _requote_word(word: Word) -> str:
    """Return a word, already expanded, as source text that expands to it."""
    return word.text if word.glob or not word.is_known else "'" + word.text.replace("'", "'\\''") + "'"


def _read_assignments(words: list[Word], at: int) -> tuple[tuple[tuple[str, Word], ...], int]:
    """Return the assignments of `env A=1 cmd`, and the index of the command."""
    assignments: list[tuple[str, Word]] = []
    while at < len(words):
        name, equals, value = words[at].text.partition("=")
        if words[at].text != "-" and (not equals or not name.isidentifier()):
            break
        if equals:
            assignments.append((name, Word(value, words[at].raw)))
        at += 1
    return tuple(assignments), at


def _trace_stdin_shell(call: CommandCall, host: str) -> str | None:
    """Walk what a shell without a command reads from its input: `echo … | ssh web1`, `ssh web1 < job.sh`."""
    text = read_input(call.walker, call.frame, call.scope)
    return None if text is None else call.walk_shell_text(text, host=host, inherit_stdin=False)
