"""Programs that put files where the text may run them next."""

from posixpath import basename, join

from verdikt.shell.command import Word
from verdikt.shell.invocation import Invocation
from verdikt.shell.option import options, permuted
from verdikt.shell.redirect import place, written

_PROGRAMS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/")


def copy(call: Invocation) -> str | None:
    """`cp a b`, `mv a b`, `ln a b`: what the text wrote to `a` is then in `b`."""
    if call.walker.alone:
        return None
    given, words = permuted(call.words, 1, "t --target-directory S --suffix m --mode o --owner g --group")
    if len(words) != 2 or any(option in ("-t", "--target-directory") for option, _ in given):
        return None
    if words[0].text.startswith(_PROGRAMS) and words[1].known:
        # A program by another name: `cp /bin/rm x; ./x file`.
        call.walker.renames = True
        target = words[1].text
        for name in (target, f"./{target}") if "/" not in target else (target,):
            call.scope.rename(name, words[0].text)
    known, text = written(call.walker, words[0], call.scope)
    if words[0].text == "/dev/stdin":
        known, text = True, call.frame.stdin
    if known and words[1].known and not words[1].glob:
        target = words[1].text
        if target.endswith("/") or target in (".", ".."):
            target = f"{target}/{basename(words[0].text)}"
        call.scope.write(place(call.walker, target, call.scope), text)
    return ""


def tee(call: Invocation) -> str | None:
    """`tee file`: what it reads is then in the file."""
    given, at = options(call.words, 1, "")
    for word in call.words[at:]:
        if word.known and not word.glob:
            path = place(call.walker, word.text, call.scope)
            before = call.scope.file(path)[1] if any(option in ("-a", "--append") for option, _ in given) else None
            stdin = call.frame.stdin
            call.scope.write(path, before + stdin if before and stdin else stdin)
    return call.frame.stdin


_CURL = "o --output X --request H --header d --data --data-raw --data-binary F --form u --user A --user-agent e --referer b --cookie c --output-dir"
_WGET = (
    "O --output-document P --directory-prefix o --output-file U --user-agent T --timeout t --tries --header --post-data"
)


def download(call: Invocation) -> str | None:
    """`curl -o file`, `wget url`: something is then in the file, and nobody here knows what."""
    if call.walker.alone:
        return None
    given, words = permuted(call.words, 1, _CURL if call.name == "curl" else _WGET)
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
            _fetched(call, Word(join(directory.text, file.text)) if directory is not None else file)
    return None


def _fetched(call: Invocation, file: Word) -> None:
    if file.known and file.text not in ("", "-", "/dev/null", "/dev/stdout"):
        call.scope.write(place(call.walker, file.text, call.scope), None)
