"""Programs that write files which the text may run next: copies, `tee`, downloads."""

from collections.abc import Callable
from posixpath import basename, join

from verdikt.shell.command import Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_options, parse_permuted_options
from verdikt.shell.redirection import find_written_file, resolve_path

_PROGRAM_DIRECTORIES = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/")


def trace_copy(call: CommandCall) -> str | None:
    """Record that what the text wrote to `a` is in `b` after `cp a b`, `mv a b` or `ln a b`."""
    if call.walker.has_no_file_execution:
        return None
    given, words = parse_permuted_options(call.words, 1, "t --target-directory S --suffix m --mode o --owner g --group")
    if len(words) != 2 or any(option in ("-t", "--target-directory") for option, _ in given):
        return None
    if words[0].text.startswith(_PROGRAM_DIRECTORIES) and words[1].is_known:
        # A program by another name: `cp /bin/rm x; ./x file`.
        call.walker.has_replacements = True
        target = words[1].text
        for name in (target, f"./{target}") if "/" not in target else (target,):
            call.scope.set_alias(name, words[0].text)
    known, text = find_written_file(call.walker, words[0], call.scope)
    if words[0].text == "/dev/stdin":
        known, text = True, call.frame.stdin
    if known and words[1].is_known and not words[1].glob:
        target = words[1].text
        if target.endswith("/") or target in (".", ".."):
            target = f"{target}/{basename(words[0].text)}"
        call.scope.record_file(resolve_path(call.walker, target, call.scope), text)
    return ""


def trace_tee(call: CommandCall) -> str | None:
    """Record that what `tee file` reads is in the file."""
    given, at = parse_options(call.words, 1, "")
    for word in call.words[at:]:
        if word.is_known and not word.glob:
            path = resolve_path(call.walker, word.text, call.scope)
            before = call.scope.find_file(path)[1] if any(option in ("-a", "--append") for option, _ in given) else None
            stdin = call.frame.stdin
            call.scope.record_file(path, before + stdin if before and stdin else stdin)
    return call.frame.stdin


_CURL_VALUED_OPTIONS = "o --output X --request H --header d --data --data-raw --data-binary F --form u --user A --user-agent e --referer b --cookie c --output-dir"
_WGET_VALUED_OPTIONS = (
    "O --output-document P --directory-prefix o --output-file U --user-agent T --timeout t --tries --header --post-data"
)


def trace_download(call: CommandCall) -> str | None:
    """Record that `curl -o file` and `wget url` put unknown contents into a file."""
    if call.walker.has_no_file_execution:
        return None
    given, words = parse_permuted_options(
        call.words, 1, _CURL_VALUED_OPTIONS if call.name == "curl" else _WGET_VALUED_OPTIONS
    )
    chosen = dict(given)
    if call.name == "curl":
        named = [value for option, value in given if option in ("-o", "--output")]
        by_address, directory = not named and ("-O" in chosen or "--remote-name" in chosen), chosen.get("--output-dir")
    else:
        named = [value for option, value in given if option in ("-O", "--output-document")]
        by_address, directory = not named, chosen.get("-P") or chosen.get("--directory-prefix")
    if by_address:
        named = [Word(basename(word.text.split("?")[0])) for word in words]
    for file in named:
        if file is not None:
            _record_download(call, Word(join(directory.text, file.text)) if directory is not None else file)
    return None


def _record_download(call: CommandCall, file: Word) -> None:
    if file.is_known and file.text not in ("", "-", "/dev/null", "/dev/stdout"):
        call.scope.record_file(resolve_path(call.walker, file.text, call.scope), None)


FILE_WRITERS: dict[str, Callable[[CommandCall], str | None]] = {
    **dict.fromkeys(("cp", "mv", "ln", "install"), trace_copy),
    "tee": trace_tee,
    **dict.fromkeys(("curl", "wget"), trace_download),
}
"""Programs that put something into files which a later command may run."""
