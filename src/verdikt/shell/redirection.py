"""Redirections, and the files that the text itself writes and may run next."""

from collections.abc import Sequence
from posixpath import join, normpath
from typing import TYPE_CHECKING

from verdikt.knowledge import find_role
from verdikt.shell.command import UNKNOWN, Redirect, Word
from verdikt.shell.text_filters import FILTERS

if TYPE_CHECKING:
    from verdikt.shell.command import CommandDraft
    from verdikt.shell.command_call import CommandCall, Frame
    from verdikt.shell.command_walker import CommandWalker
    from verdikt.shell.scope import Scope
    from verdikt.shell.statement import RawRedirect

STDIN_NAMES = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
"""File names that stand for standard input where a program takes a script."""
_CONCATENATORS = find_role("concatenator")
_DESCRIPTOR_PREFIX = "/dev/fd/"
_DESCRIPTOR_PREFIXES = (_DESCRIPTOR_PREFIX, "/proc/self/fd/")
_LAST_STANDARD_DESCRIPTOR = 2
_FIRST_CHOSEN_DESCRIPTOR = 10
_WRITE_OPERATORS = frozenset((">", ">>", ">|", "&>", "&>>"))
# `cat f f >> f` in a loop doubles the file each time.
_MAX_APPENDED_LENGTH = 1 << 18


def expand_redirects(
    walker: "CommandWalker", raw_redirects: "list[RawRedirect]", scope: "Scope"
) -> tuple[tuple[Redirect, ...], str | None, bool]:
    """Return the redirections, the constant text on standard input, and whether they replace standard input."""
    redirects: list[Redirect] = []
    stdin: str | None = None
    replaces_stdin = False
    for written_op, written_fd, raw, heredoc in raw_redirects:
        op, fd = _choose_descriptor(walker, written_op, written_fd, scope)
        if heredoc is not None:
            body = heredoc.body if heredoc.is_quoted else walker.expand_quoted(heredoc.body, scope)
            redirects.append(Redirect("<<", fd, Word(body, raw)))
            if fd == 0:
                stdin, replaces_stdin = body, True
            else:
                _open_text(walker, fd, body, scope)
            continue
        first_inner = len(walker.drafts)
        op, target = _follow_output(walker, op, walker.expand_word(raw, scope))
        if op == "<&" and (file := walker.descriptors.get(target.text)) is not None:
            # `exec 3<file; bash <&3` reads the file, and `exec 3< <(cmd); bash <&3` what the command prints.
            op, target, source = "<", file, walker.descriptor_sources.get(target.text)
            walker.input_source = source if fd == 0 else None
            if fd != 0 and source is not None:
                walker.descriptor_sources[str(fd)] = source
        elif fd != 0 and op in ("<", "<>") and len(walker.drafts) > first_inner:
            walker.descriptor_sources[str(fd)] = len(walker.drafts) - 1
        redirects.append(Redirect(op, fd, target))
        if (fd != 0 and op in ("<", "<>")) or (fd > _LAST_STANDARD_DESCRIPTOR and op in _WRITE_OPERATORS):
            walker.descriptors[str(fd)] = target
        elif fd != 0 and op == "<<<":
            _open_text(walker, fd, target.text + "\n", scope)
        if fd == 0 and op == "<<<":
            stdin, replaces_stdin = target.text + "\n", True
        elif fd == 0 and op in ("<", "<>"):
            # A file that existed before is read only when an interpreter runs it: each read asks the world.
            stdin, replaces_stdin = find_written_file(walker, target, scope)[1], True
            if stdin is None and len(walker.drafts) > first_inner:
                # `bash < <(cmd)` reads what the command prints.
                walker.input_source = len(walker.drafts) - 1
    return tuple(redirects), stdin, replaces_stdin


def _follow_output(walker: "CommandWalker", op: str, target: Word) -> tuple[str, Word]:
    """Return the operator and the file that output goes to by way of a descriptor: `exec 3>file; echo text >&3`."""
    file = walker.descriptors.get(target.text) if op == ">&" else None
    return (op, target) if file is None else (">>", file)


def _choose_descriptor(walker: "CommandWalker", op: str, fd: int, scope: "Scope") -> tuple[str, int]:
    """Return the operator and descriptor of a redirection; for `{name}<file`, one that the variable then holds."""
    if op[0] != "{":
        return op, fd
    name, _, op = op[1:].partition("}")
    fd = _FIRST_CHOSEN_DESCRIPTOR + len(walker.descriptors)
    scope.set_variable(name, str(fd))
    return op, fd


def _open_text(walker: "CommandWalker", fd: int, text: str, scope: "Scope") -> None:
    """Open a descriptor on constant text, as `exec 3<<<text` does."""
    path = f"{_DESCRIPTOR_PREFIX}{fd}"
    scope.record_file(path, text)
    walker.descriptors[str(fd)] = Word(path, path)


def find_stdin_file(redirects: tuple[Redirect, ...]) -> Word | None:
    """Return the file that standard input comes from."""
    return next(
        (redirect.target for redirect in reversed(redirects) if redirect.fd == 0 and redirect.op in ("<", "<>")), None
    )


def select_stdout_redirects(redirects: tuple[Redirect, ...]) -> list[Redirect]:
    """Return the redirections that put standard output into a file."""
    return [
        redirect
        for redirect in redirects
        if redirect.op in _WRITE_OPERATORS and redirect.fd == 1 and redirect.target.text != "/dev/null"
    ]


def find_shell_output(redirects: tuple[Redirect, ...], before: Redirect | None) -> Redirect | None:
    """Return where the shell's own output goes after an `exec` with these redirections; None for no file."""
    outputs = [redirect for redirect in redirects if redirect.fd == 1 and redirect.op != "<"]
    if not outputs:
        return before
    is_file = outputs[-1].op in _WRITE_OPERATORS and not outputs[-1].target.text.startswith("/dev/")
    # The file is open already, so that each command writes after the one before.
    return Redirect(">>", 1, outputs[-1].target) if is_file else None


def select_shell_inputs(
    walker: "CommandWalker", redirects: tuple[Redirect, ...], scope: "Scope"
) -> "list[CommandCall]":
    """Return the shells that read what a command prints: through a named pipe, or as a coprocess."""
    calls = []
    for redirect in redirects:
        if redirect.fd == 1 and redirect.op in (">&", *_WRITE_OPERATORS) and redirect.target.is_known:
            text = redirect.target.text
            key = text if redirect.op == ">&" else resolve_path(walker, text, scope)
            calls += [walker.shell_inputs[key]] if key in walker.shell_inputs else []
    return calls


def resolve_path(walker: "CommandWalker", path: str, scope: "Scope") -> str:
    """Return a path resolved against the current directory, without `.` and `..`."""
    # The common case without `normpath`, which takes several times as long.
    cwd = scope.cwd
    if not cwd and path and path[0] != "/":
        joined = f"{walker.start_directory}/{path}"
        if joined[0] == "/" and joined[-1] != "/" and "/." not in joined and "//" not in joined:
            return joined
    return normpath(join(walker.start_directory or "/", cwd or "", path))


def record_redirect_write(walker: "CommandWalker", redirect: Redirect, contents: str | None, scope: "Scope") -> None:
    """Record what the text wrote to a file, because it may run the file next."""
    target = redirect.target
    if not target.is_known or target.glob:
        return
    if redirect.op.endswith(">>") and contents is not None:
        previous = find_written_file(walker, target, scope)[1] or ""
        contents = previous + contents if len(previous) < _MAX_APPENDED_LENGTH else None
    path = resolve_path(walker, target.text, scope)
    if contents is None and walker.drafts:
        walker.copied_sources[path] = len(walker.drafts) - 1
    scope.record_file(path, contents)


def find_written_file(walker: "CommandWalker", path: Word, scope: "Scope") -> tuple[bool, str | None]:
    """Return whether the text wrote a file before, and its contents when they are known."""
    if not path.is_known or path.glob or not path.text:
        return False, None
    return scope.find_file(resolve_path(walker, path.text, scope))


def read_contents(walker: "CommandWalker", path: Word, scope: "Scope") -> str | None:
    """Return the contents of a file: as the text wrote them, else as the caller reads them."""
    if not path.is_known or path.glob or not path.text:
        return None
    at = resolve_path(walker, path.text, scope)
    if at.startswith(_DESCRIPTOR_PREFIXES):
        file = walker.descriptors.get(at.rpartition("/")[2])
        if file is not None and file.text != at:
            return read_contents(walker, file, scope)
    was_written, text = scope.find_file(at)
    if not was_written and at in walker.copied_paths:
        at = walker.copied_paths[at]
        was_written, text = scope.find_file(at)
    if was_written or walker.read_file is None or path.text.startswith("/dev/"):
        return text
    if not path.text.startswith("/") and scope.cwd and UNKNOWN in scope.cwd:
        return None
    return walker.read_file(at)


def read_input(walker: "CommandWalker", frame: "Frame", scope: "Scope") -> str | None:
    """Return what is on a command's standard input: constant text, a file, or what another command makes of one."""
    if frame.stdin is not None:
        return frame.stdin
    if frame.stdin_file is not None:
        return read_contents(walker, frame.stdin_file, scope)
    return read_copied_contents(walker, frame.pipe_from, scope)


def read_copied_contents(walker: "CommandWalker", source: int | None, scope: "Scope") -> str | None:
    """Return what a command makes of the files it is given, when those are read as a program: `rev file | bash`."""
    if source is None or source >= len(walker.drafts) or not walker.drafts[source].argv:
        return None
    draft = walker.drafts[source]
    name = draft.argv[0].text.rsplit("/", 1)[-1]
    text_filter = FILTERS.get(name)
    if text_filter is None and name not in _CONCATENATORS:
        return None
    text = _read_draft_input(walker, draft, scope)
    if text is None or text_filter is None:
        return text
    return None if UNKNOWN in text else text_filter([word.text for word in draft.argv[1:]], text)


def _read_draft_input(walker: "CommandWalker", draft: "CommandDraft", scope: "Scope") -> str | None:
    if draft.stdin is not None:
        return draft.stdin
    files = [word for word in draft.argv[1:] if word.text[:1] != "-"]
    if files and draft.argv[0].text.rsplit("/", 1)[-1] in _CONCATENATORS:
        texts = [read_contents(walker, word, scope) for word in files]
        return None if None in texts else "".join(text for text in texts if text)
    file = find_stdin_file(draft.redirects)
    if file is not None:
        return read_contents(walker, file, scope)
    if draft.pipe_from is not None:
        return read_copied_contents(walker, draft.pipe_from, scope)
    return read_filtered_file(walker, draft.argv[1:], scope)


def read_filtered_file(walker: "CommandWalker", words: Sequence[Word], scope: "Scope") -> str | None:
    """Return the contents of the file that a filter reads: its last word that is no option."""
    file = next((word for word in reversed(words) if word.text[:1] != "-"), None)
    return read_contents(walker, file, scope) if file is not None else None
