"""Redirections, and the files that the text itself writes and may run next."""

from posixpath import join, normpath
from typing import TYPE_CHECKING

from verdikt.shell.command import UNKNOWN, Redirect, Word

if TYPE_CHECKING:
    from verdikt.shell.run import Runner
    from verdikt.shell.scope import Scope
    from verdikt.shell.statement import RawRedirect

_WRITES = frozenset((">", ">>", ">|", "&>", "&>>"))
_LONGEST_APPENDED = 1 << 18


def expand(
    walker: "Runner", raws: "list[RawRedirect]", scope: "Scope"
) -> tuple[tuple[Redirect, ...], str | None, bool]:
    """The redirections, the constant text on standard input, and whether they replace standard input."""
    found: list[Redirect] = []
    stdin: str | None = None
    fed = False
    for op, fd, raw, heredoc in raws:
        if heredoc is not None:
            body = heredoc.body if heredoc.quoted else walker.quoted(heredoc.body, scope)
            found.append(Redirect("<<", fd, Word(body, raw)))
            if fd == 0:
                stdin, fed = body, True
            continue
        target = walker.word(raw, scope)
        found.append(Redirect(op, fd, target))
        if fd == 0 and op == "<<<":
            stdin, fed = target.text + "\n", True
        elif fd == 0 and op in ("<", "<>"):
            # A file that was there before is read by those who run what is in it, not for everyone.
            stdin, fed = written(walker, target, scope)[1], True
    return tuple(found), stdin, fed


def source(redirects: tuple[Redirect, ...]) -> Word | None:
    """The file that standard input comes from."""
    return next((one.target for one in reversed(redirects) if one.fd == 0 and one.op in ("<", "<>")), None)


def outputs(redirects: tuple[Redirect, ...]) -> list[Redirect]:
    """The redirections that put standard output into a file."""
    return [
        redirect
        for redirect in redirects
        if redirect.op in _WRITES and redirect.fd == 1 and redirect.target.text != "/dev/null"
    ]


def place(walker: "Runner", path: str, scope: "Scope") -> str:
    """A path as seen from where the text stands, without `.` and `..`."""
    cwd = scope.cwd
    if not cwd and path and path[0] != "/":
        found = f"{walker.start}/{path}"
        if found[0] == "/" and found[-1] != "/" and "/." not in found and "//" not in found:
            return found  # nothing to take out
    return normpath(join(walker.start or "/", cwd or "", path))


def write(walker: "Runner", redirect: Redirect, contents: str | None, scope: "Scope") -> None:
    """Remembers what the text wrote, because it may run it next."""
    target = redirect.target
    if not target.known or target.glob:
        return
    if redirect.op.endswith(">>") and contents is not None:
        before = written(walker, target, scope)[1] or ""
        contents = before + contents if len(before) < _LONGEST_APPENDED else None
    scope.write(place(walker, target.text, scope), contents)


def written(walker: "Runner", path: Word, scope: "Scope") -> tuple[bool, str | None]:
    """Whether the text wrote a file before, and what it put there when that is known."""
    if not path.known or path.glob or not path.text:
        return False, None
    return scope.file(place(walker, path.text, scope))


def contents(walker: "Runner", path: Word, scope: "Scope") -> str | None:
    """What is in a file: as the text wrote it, else as the caller knows it."""
    if not path.known or path.glob or not path.text:
        return None
    at = place(walker, path.text, scope)
    found, text = scope.file(at)
    if found or walker.read is None or path.text.startswith("/dev/"):
        return text
    if not path.text.startswith("/") and scope.cwd and UNKNOWN in scope.cwd:
        return None
    return walker.read(at)
