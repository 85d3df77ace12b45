"""Programs that run a command for each thing they read or find: `xargs`, `parallel`, `find -exec`, `fd -x`."""

from verdikt.knowledge import find_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.escape_sequences import decode_escapes
from verdikt.shell.option_parser import parse_options
from verdikt.shell.redirection import read_contents, read_input
from verdikt.shell.scope import Scope

# Each item is a word or a run of the inner command; the first ones show what it does.
_MAX_ITEMS = 64
_MAX_RUNS = 16
_MAX_ROOTS = 8
_WORD_PRINTERS = find_role("word_printer")
_FILE_WORD_PROGRAMS = find_role("operand_remover") | find_role("shell") | find_role("transparent_wrapper")
_PARALLEL_PLACEHOLDERS = ("{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}", "{#}", "{%}")
_SHOW_OPTIONS = ("--dry-run", "--dryrun")
_LIST_OPTIONS = ("-a", "--arg-file")
_LIST_OPERATOR = compile_lazily(r"[|;&]")
_FIND_WRITE_ACTIONS = frozenset(("-fprint", "-fprint0", "-fprintf", "-fls"))
_FIND_EXEC_ACTIONS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


def trace_xargs(call: CommandCall) -> str | None:
    """Walk the command of `xargs` with what it reads; return its constant output."""
    options, at = parse_options(call.words, 1, call.valued_options)
    value_by_option = dict(options)
    # Without a command, xargs runs `echo`.
    inner_words = call.words[at:] or [Word("echo", "echo")]
    placeholder = None
    for option in ("-I", "-i", "--replace", "-J"):
        if option in value_by_option:
            value = value_by_option[option]
            placeholder = value.text if value is not None else "{}"
    # What is deleted or run is worth a look into the file that names it; what is printed or searched is not.
    reads_files = any(word.text.rsplit("/", 1)[-1] in _FILE_WORD_PROGRAMS for word in inner_words[:3])
    items = _read_items(call, value_by_option, by_line=placeholder is not None, reads_files=reads_files)
    if placeholder:
        for item in items[:_MAX_RUNS]:
            filled_words = [_fill_word(word, placeholder, item) for word in inner_words]
            call.walk_command(filled_words, repeated=True, scope=Scope(call.scope))
        return None
    item_words = [Word(item, item if item != UNKNOWN else "…") for item in items]
    output = call.walk_command([*inner_words, *item_words], repeated=True, scope=Scope(call.scope))
    return output if inner_words[0].text in _WORD_PRINTERS else None


def _read_items(
    call: CommandCall, value_by_option: dict[str, Word | None], *, by_line: bool, reads_files: bool
) -> list[str]:
    """Return what `xargs` reads, when that is constant; one unknown item otherwise."""
    file = value_by_option.get("-a") or value_by_option.get("--arg-file")
    if not reads_files:
        text = call.frame.stdin if file is None else None
    elif file is not None:
        text = read_contents(call.walker, file, call.scope)
    else:
        text = read_input(call.walker, call.frame, call.scope)
    if text is None or UNKNOWN in text:
        return [UNKNOWN]
    delimiter = value_by_option.get("-d") or value_by_option.get("--delimiter")
    if delimiter is not None:
        items = text.split(decode_escapes(delimiter.text)) if delimiter.text else [text]
    elif "-0" in value_by_option or "--null" in value_by_option:
        items = text.split("\0")
    else:
        items = [line.strip() for line in text.splitlines()] if by_line else text.split()
    items = [item.strip("\n") for item in items if item.strip("\n")]
    return items if len(items) <= _MAX_ITEMS else [*items[:_MAX_ITEMS], UNKNOWN]


def _fill_word(word: Word, placeholder: str, item: str) -> Word:
    if placeholder not in word.text:
        return word
    return Word(word.text.replace(placeholder, item), word.raw, word.glob)


def trace_parallel(call: CommandCall) -> str | None:
    """Walk the command of GNU `parallel` for each of its constant arguments or input lines."""
    options, at = parse_options(call.words, 1, call.valued_options)
    if any(option in _SHOW_OPTIONS for option, _ in options):
        return None
    words = call.words[at:]
    separators = [index for index, word in enumerate(words) if word.text in (":::", ":::+", "::::", "::::+")]
    stop = separators[0] if separators else len(words)
    if separators:
        arguments = words[stop + 1 : separators[1] if len(separators) > 1 else None]
        is_file_list = words[stop].text[:4] == "::::"
        items = _read_lines(call, arguments[:1]) if is_file_list else [word.text for word in arguments]
    else:
        items = _read_lines(call, [value for option, value in options if option in _LIST_OPTIONS and value is not None])
    text = " ".join(word.text for word in words[:stop])
    for item in items[:_MAX_RUNS]:
        filled_text = text
        for placeholder in _PARALLEL_PLACEHOLDERS:
            filled_text = filled_text.replace(placeholder, item if placeholder in ("{}", "{1}") else UNKNOWN)
        if filled_text == text and _LIST_OPERATOR.search(text):
            # `parallel 'curl … | sh' ::: 1`: its author means the pipe, whatever word comes after it.
            call.walk_shell_text(text, repeated=True)
        call.walk_shell_text(filled_text if filled_text != text else f"{text} {item}".strip(), repeated=True)
    return None


def _read_lines(call: CommandCall, files: list[Word]) -> list[str]:
    """Return the lines of a file, or of the input, when they are constant; one unknown line otherwise."""
    text = (
        read_contents(call.walker, files[0], call.scope) if files else read_input(call.walker, call.frame, call.scope)
    )
    return [UNKNOWN] if text is None or UNKNOWN in text else text.splitlines()


def trace_find(call: CommandCall) -> str | None:
    """Walk the commands of `find -exec`, and record the files that `-fprint` writes."""
    words, count = call.words, len(call.words)
    at = 1
    while at < count and (words[at].text in ("-H", "-L", "-P", "-X", "-E") or words[at].text.startswith("-O")):
        at += 1
    roots: list[Word] = []
    while at < count and not words[at].text.startswith(("-", "(", "!", ")")):
        roots.append(words[at])
        at += 1
    while at < count:
        if words[at].text in _FIND_EXEC_ACTIONS:
            stop = next((index for index in range(at + 1, count) if _is_exec_end(words, index)), count)
            if stop == count and all(word.is_known and not word.glob for word in words[at + 1 :]):
                return None  # without an end `find` runs nothing: `find . -exec rm {} ;`
            _trace_find_action(call, words[at + 1 : stop], roots, words[at].text)
            at = stop
        elif words[at].text in _FIND_WRITE_ACTIONS and at + 1 < count:
            call.record_write(words[at + 1].text)
        at += 1
    return None


def _is_exec_end(words: list[Word], index: int) -> bool:
    """Whether a word ends an `-exec`: `;` anywhere, `+` only after `{}`."""
    return words[index].text == ";" or (words[index].text == "+" and words[index - 1].text == "{}")


def _trace_find_action(call: CommandCall, inner_words: list[Word], roots: list[Word], action: str) -> None:
    """Walk what `find -exec` runs, once for each directory that it searches."""
    for root in (roots or [Word(".", ".")])[:_MAX_ROOTS]:
        path = root.text.rstrip("/") + "/" + UNKNOWN
        filled_words = [
            Word(word.text.replace("{}", path), word.raw) if "{}" in word.text else word for word in inner_words
        ]
        call.walk_command(filled_words, label=f"{call.name} {action}", repeated=True, scope=Scope(call.scope))


def has_no_find_action(words: list[Word]) -> bool:
    """Whether a `find` command neither runs a command nor writes a file."""
    return not any(word.text in _FIND_EXEC_ACTIONS or word.text in _FIND_WRITE_ACTIONS for word in words)


def trace_fd(call: CommandCall) -> str | None:
    """Walk the commands of `fd --exec`."""
    words = call.words
    for index, word in enumerate(words):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            stop = next((end for end in range(index + 1, len(words)) if words[end].text == ";"), len(words))
            inner_words = words[index + 1 : stop]
            filled_words = [Word(part.text.replace("{}", f"./{UNKNOWN}"), part.raw) for part in inner_words]
            if filled_words == inner_words:
                filled_words.append(Word(f"./{UNKNOWN}", "{}"))
            call.walk_command(filled_words, label=f"{call.name} {word.text}", repeated=True, scope=Scope(call.scope))
    return None
