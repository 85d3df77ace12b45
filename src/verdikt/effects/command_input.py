"""Where a command gets its words, its program and its input from, as far as the commands around it tell."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from verdikt.effects.arguments import Arguments
from verdikt.effects.find_expression import list_matches, may_spare
from verdikt.effects.program_record import find_program
from verdikt.knowledge import find_language, find_role, find_role_words
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.printf_format import predict_printf

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.shell.command import Command

MAX_LOOKBEHIND = 64
"""How many commands before one are searched for the command that gives it its words."""
_LISTING_PROGRAMS = find_role("file_lister")
_LINE_FILTERS = find_role("selective_filter")
_RISKY_PROGRAMS = sorted(find_role("risky"))
_FIND_PROGRAMS = find_role("file_finder")
_EXPRESSION_FINDERS = find_role("expression_finder")
_DIRECTORY_LISTERS = find_role("directory_lister")
_WORD_PRINTERS = find_role("word_printer")
_FORMAT_PRINTERS = find_role("format_printer")
_VERSION_CONTROL = find_role("version_control")
_PLAIN_NAME = compile_lazily(r"\^?[\w-][\w.-]*\$?$|\^?\.[\w.-]+\$?$")
"""A regular expression that stands for a part of a name."""
_INLINE_DECODERS = find_role("inline_decoder")
_INLINE_CODE = compile_lazily(r"-(?:[A-Za-z]*[ceEm])?$")
"""Options after which an interpreter's code stands on its command line, and the dash for its input."""
_COPYING_PROGRAMS = find_role("concatenator") | find_role("output_splitter")


CODE_FILE_OPTIONS = find_role_words("code_file_option")
"""Program → options that name a file of commands which it runs; `*` stands for its operands."""
_TEXT_FILE_OPTIONS = find_role_words("text_file_option")
"""Program, or program and command, → options that name a file which it carries out; `<` stands for its input."""
TEXT_READERS = frozenset(name.partition(":")[0] for name in _TEXT_FILE_OPTIONS)
_EXEC_FLAGS = frozenset("-x -X --exec --exec-batch".split())
# With no other words than these, the listing leaves no file out.
_UNFILTERED_GIT_WORDS = frozenset("ls-files -z -c --cached -o --others --exclude-standard -co -m --modified".split())
_CHANGED_NAMES = frozenset("diff --name-only -z --no-renames HEAD".split())
_UNFILTERED_RIPGREP_WORDS = frozenset("--files -0 --null --hidden --no-ignore -u -uu -uuu .".split())
_UNFILTERED_FD_WORDS = frozenset(
    ". -H -I -u -0 --hidden --no-ignore --unrestricted --print0 -t --type f file d".split()
)


def substitute_listed_names(call: Invocation, index: int) -> None:
    """Replace the unknown words of a command by the names that the `find` or `ls` before it would print."""
    command = call.command
    source = _find_listing_command(call, index)
    if source is None:
        return
    names = _list_names(source)
    words: list[Word] = []
    for word in command.argv:
        # A text with a name somewhere in it is a command or a query, and no name: `-e "drop database {}"`.
        words.extend([word] if word.is_known or " " in word.text else names)
    call.replace_words(tuple(words))
    call.uncertain = _is_selective(source, call) or any(map(_is_name_filter, call.iter_upstream()))


def _find_listing_command(call: Invocation, index: int) -> Command | None:
    """Return the command whose output names what this one works on."""
    # Also by way of a wrapper: `find … -exec env rm {} +`.
    if any(text.partition(" ")[0] in _FIND_PROGRAMS for text in call.command.via):
        preceding = reversed(call.commands[max(0, index - MAX_LOOKBEHIND) : index])
        return next((c for c in preceding if c.name in _FIND_PROGRAMS), None)
    # What a filter lets through names no files where nothing before it lists any: `show databases | grep shop`.
    listing = (c for c in call.iter_upstream() if c.name in _LISTING_PROGRAMS)
    return next((c for c in listing if not _is_name_filter(c)), None)


def _is_name_filter(command: Command) -> bool:
    """Return whether a command lets through some of the names that are piped into it: `find … | grep -v …`."""
    return command.pipe_from is not None and command.name in _LINE_FILTERS and command.name in _LISTING_PROGRAMS


def _is_selective(source: Command, call: Invocation) -> bool:
    """Return whether a listing may leave out files that are there."""
    if source.name in _DIRECTORY_LISTERS | _WORD_PRINTERS:
        return False
    if source.name in _EXPRESSION_FINDERS:
        return may_spare(source, call.resolve_path)
    texts = [word.text for word in source.argv[1:]]
    if "ls-files" in texts:
        return not _UNFILTERED_GIT_WORDS.issuperset(texts)
    if "--name-only" in texts:
        return not _CHANGED_NAMES.issuperset(texts)  # what follows takes every file with a change
    if "--files" in texts:
        return not _UNFILTERED_RIPGREP_WORDS.issuperset(texts)
    if source.name in _FIND_PROGRAMS:
        return not _UNFILTERED_FD_WORDS.issuperset(word.text for word in _strip_exec_words(source))
    return True


def _strip_exec_words(source: Command) -> list[Word]:
    """Return the words of an `fd` without those of the command that it runs."""
    words = list(source.argv[1:])
    return words[: next((i for i, word in enumerate(words) if word.text in _EXEC_FLAGS), len(words))]


def _list_names(source: Command) -> list[Word]:
    """Return words for what a listing prints, as patterns where the names are not known."""
    if source.name in _EXPRESSION_FINDERS:
        return list_matches(source)
    operands = [word for word in _strip_exec_words(source) if not word.text.startswith("-")]
    everything = [Word("**/*", "*", True)]
    if source.name in _DIRECTORY_LISTERS:
        listed = [word if word.glob else Word(f"{word.text.rstrip('/')}/*", word.raw, True) for word in operands]
        return listed or [Word("*", "*", True)]
    if source.name in _WORD_PRINTERS:
        return [word for word in operands if word.glob] or [Word(UNKNOWN, "…")]
    if source.name in _VERSION_CONTROL:
        return everything
    if source.name in _FIND_PROGRAMS and (program := find_program(source.name)) is not None:
        return _list_searched_names(Arguments(_strip_exec_words(source), program.options))
    return [Word(f"{word.text.rstrip('/')}/**/*", word.raw, True) for word in operands[1:]] or everything


def _list_searched_names(args: Arguments) -> list[Word]:
    """Return patterns for the files that `fd` finds: by the name that they most likely have, or by their endings."""
    text = args.operands[0].text.replace("\\.", ".") if args.operands else ""
    if args.has_flag("-g --glob"):
        names = [text]
    elif _PLAIN_NAME.match(text):
        names = [text.strip("^$")]
    else:
        names = [f"*.{word.text}" for word in args.get_values("-e --extension")] or ["*"]
    roots = args.operands[1:] or [Word(".", "")]
    return [Word(f"{root.text.rstrip('/')}/**/{name}", root.raw, True) for root in roots for name in names]


def find_code_file(command: Command) -> Word | None:
    """Return the file of commands that a runner is given by an option, or as an operand where that is a pipe."""
    options = CODE_FILE_OPTIONS.get(command.name)
    return None if options is None else _find_option_file(command, options)


def may_read_output(command: Command) -> bool:
    """Return whether a command may read what another one prints: by a pipe, a redirection or `<(…)`."""
    if command.pipe_from is not None or command.redirects:
        return True
    for word in command.argv:  # noqa: SIM110  a generator costs more than the tests of most commands
        if word.raw[:2] == "<(" and word.raw != word.text:
            return True
    return False


def find_text_file(command: Command) -> Word | None:
    """Return the file of statements, changes or requirements that a program carries out; `-` is its input."""
    options = _TEXT_FILE_OPTIONS.get(command.name)
    if options is None:
        verbs = [word.text for word in command.argv[1:] if f"{command.name}:{word.text}" in _TEXT_FILE_OPTIONS]
        options = _TEXT_FILE_OPTIONS[f"{command.name}:{verbs[0]}"] if verbs else frozenset()
    file = _find_option_file(command, options)
    if file is None and "<" in options:
        files = [redirect.target for redirect in command.redirects if redirect.op == "<"]
        return files[0] if files else Word("-")
    return file


def _find_option_file(command: Command, options: frozenset[str]) -> Word | None:
    words = command.argv[1:]
    for position, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if word.text in options and position + 1 < len(words):
            return words[position + 1]
        if equals and name in options:
            return Word(value, word.raw.partition("=")[2])
        if word.text[:2] in options and word.text[2:]:
            return Word(word.text[2:], word.raw[2:])
        if "*" in options and word.raw.startswith("<("):
            return word
    return None


def find_program_word(command: Command) -> Word | None:
    """Return the word that an interpreter takes its program from: after `-c` or `-e`, else the first operand."""
    words = command.argv[1:]
    if command.name == "eval":
        return next((word for word in words if not word.is_known), words[0] if words else None)
    for position, word in enumerate(words):
        text = word.text
        if text.startswith("-") and not text.startswith("--") and text[-1:] in "ce" and text[1:].isalpha():
            return words[position + 1] if position + 1 < len(words) else None
        if not text.startswith(("-", "+")):
            return word
    return None


def may_decode(command: Command) -> bool:
    """Return whether an interpreter runs code that the command line holds, or its input, and no file."""
    texts = [word.text for word in command.argv[1:]]
    return command.name in _INLINE_DECODERS and (
        any(map(_INLINE_CODE.match, texts)) or all(text[:1] == "-" for text in texts)
    )


def match_programs(pattern: str) -> list[str]:
    """Return which dangerous programs a wildcard in the place of a program name may match: `/bin/r?`."""
    return [name for name in _RISKY_PROGRAMS if fnmatchcase(name, pattern)]


def find_static_output(command: Command) -> str | None:
    """Return what a command writes to its output; None if the text does not say."""
    if command.stdin is not None and command.name in _COPYING_PROGRAMS:
        return command.stdin
    if command.name in _WORD_PRINTERS and all(word.is_known for word in command.argv):
        words = [word.text for word in command.argv[1:] if word.text not in ("-e", "-n", "-en", "-ne")]
        if command.name in _FORMAT_PRINTERS and (text := predict_printf(words)) is not None:
            return text
        return " ".join(words).replace("\\n", "\n").replace("\\t", "\t")
    return None


def detect_language(program: str, path: str, shells: Sequence[str] | frozenset[str]) -> str:
    """Return the language of a file that a program runs; empty for shell and for languages without a classifier."""
    if program in shells or program in ("source", "."):
        return ""
    dot = path.rfind(".")
    return find_language(program, path[dot:] if dot > path.rfind("/") else "")
