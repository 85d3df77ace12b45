"""Programs that write files which the text may run next: copies, `tee`, downloads."""

from posixpath import basename, join

from verdikt.knowledge import find_role_words
from verdikt.shell.command import Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_options, parse_permuted_options
from verdikt.shell.redirection import STDIN_NAMES, find_written_file, resolve_path

_FILE_OPTIONS = find_role_words("download_file")
_DIRECTORY_OPTIONS = find_role_words("download_directory")
_NAMING_OPTIONS = find_role_words("download_name")
# A copy of a program keeps its abilities under a name that no rule knows.
PROGRAM_DIRECTORIES = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/")


def trace_copy(call: CommandCall) -> str | None:
    """Record that what the text wrote to `a` is in `b` after `cp a b`, `mv a b` or `ln a b`."""
    if call.walker.has_no_file_execution:
        return None
    options, words = parse_permuted_options(call.words, 1, call.valued_options)
    if len(words) != 2 or any(option in ("-t", "--target-directory") for option, _ in options):
        return None
    if words[0].text.startswith(PROGRAM_DIRECTORIES) and words[1].is_known:
        # `cp /bin/rm x; ./x file` is followed like an alias of `rm`.
        call.walker.has_replacements = True
        target = words[1].text
        for name in (target, f"./{target}") if "/" not in target else (target,):
            call.scope.set_alias(name, words[0].text)
    was_written, text = find_written_file(call.walker, words[0], call.scope)
    if words[0].text == "/dev/stdin":
        was_written, text = True, call.frame.stdin
    if words[0].is_known and words[1].is_known and not words[1].glob:
        target = words[1].text
        if target.endswith("/") or target in (".", ".."):
            target = f"{target}/{basename(words[0].text)}"
        path = resolve_path(call.walker, target, call.scope)
        if was_written:
            call.scope.record_file(path, text)
        elif not words[0].glob and words[0].text:
            # The file existed before; it is read only when the copy is run.
            call.walker.copied_paths[path] = resolve_path(call.walker, words[0].text, call.scope)
    return ""


def trace_tee(call: CommandCall) -> str | None:
    """Record that what `tee file` reads is in the file."""
    options, at = parse_options(call.words, 1, "")
    for word in call.words[at:]:
        if word.is_known and not word.glob:
            path = resolve_path(call.walker, word.text, call.scope)
            previous_text = (
                call.scope.find_file(path)[1] if any(option in ("-a", "--append") for option, _ in options) else None
            )
            stdin, source = call.frame.stdin, call.frame.stdin_file
            if stdin is None and source is not None and source.is_known:
                call.walker.copied_paths[path] = resolve_path(call.walker, source.text, call.scope)
                continue
            call.scope.record_file(path, previous_text + stdin if previous_text and stdin else stdin)
    return call.frame.stdin


def trace_block_copy(call: CommandCall) -> str | None:
    """Record that what `dd of=b` reads from its input, or from `if=a`, is in the file."""
    value_by_name = {name: value for name, _, value in (word.text.partition("=") for word in call.words[1:])}
    if target := value_by_name.get("of"):
        path = resolve_path(call.walker, target, call.scope)
        source = value_by_name.get("if", "")
        if source and source not in STDIN_NAMES:
            call.walker.copied_paths[path] = resolve_path(call.walker, source, call.scope)
        else:
            call.scope.record_file(path, call.frame.stdin)
    return None


def trace_download(call: CommandCall) -> str | None:
    """Record that `curl -o file` and `wget url` put unknown contents into a file."""
    if call.walker.has_no_file_execution:
        return None
    options, words = parse_permuted_options(call.words, 1, call.valued_options)
    files = [value for option, value in options if option in _FILE_OPTIONS.get(call.name, ())]
    places = [value for option, value in options if option in _DIRECTORY_OPTIONS.get(call.name, ())]
    directory = places[-1] if places else None
    if not files and not _NAMING_OPTIONS.get(call.name, frozenset()).isdisjoint(("*", *(name for name, _ in options))):
        files = [Word(basename(word.text.split("?")[0])) for word in words]
    for file in files:
        if file is not None:
            _record_download(call, Word(join(directory.text, file.text)) if directory is not None else file)
    return None


def _record_download(call: CommandCall, file: Word) -> None:
    if file.is_known and file.text not in ("", "-", "/dev/null", "/dev/stdout"):
        call.scope.record_file(resolve_path(call.walker, file.text, call.scope), None)
