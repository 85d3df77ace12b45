"""Which files a patch changes: unified, context and git diffs, mailboxes of them, and Codex's `apply_patch` format.

The one reader for the patch tools of hosts, `apply_patch` in a shell, `git apply`, `git am` and `patch`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from verdikt.model.lazy_regex import compile_lazily

MAX_FILES = 20_000
"""Files of one patch that are listed; a longer one is incomplete."""

ADD, UPDATE, DELETE, MOVE = "add", "update", "delete", "move"
"""What happens to a file; a move is listed twice, as `delete` of the old name and `move` to the new one."""

_CODEX_HEADER = compile_lazily(r"\*\*\* (Add|Update|Delete) File:\s*(.+)|\*\*\* (Move) to:\s*(.+)")
_CODEX_CHANGES = {"Add": ADD, "Update": UPDATE, "Delete": DELETE, "Move": MOVE}
_HUNK = compile_lazily(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_GIT_EXTENSION = compile_lazily(r"(rename|copy) (from|to) (.+)|(new|deleted) file mode ")
_ESCAPE = compile_lazily(r"\\([0-7]{3}|.)")
_ESCAPED_BYTES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}
_NO_FILE = "/dev/null"


class PatchedFile(NamedTuple):
    """One file of a patch, named as the patch names it. `added` holds the lines that it would gain."""

    path: str
    change: str
    added: str = ""


class PatchPaths(NamedTuple):
    """The files of a patch, in order. `format` is `codex`, `diff`, or empty for text that is no patch."""

    files: tuple[PatchedFile, ...] = ()
    format: str = ""
    complete: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """Every name once, in order."""
        return tuple(dict.fromkeys(file.path for file in self.files))

    def strip_paths(self, components: int | None) -> tuple[str, ...]:
        """Return the names without so many leading directories, as `-p` counts them.

        None stands for `patch` without `-p`, which takes the whole name where it exists and else the last part: both.
        Names in Codex's format are never stripped.
        """
        if self.format == "codex":
            return self.paths
        if components is None:
            return tuple(dict.fromkeys(name for path in self.paths for name in (path, path[path.rfind("/") + 1 :])))
        return tuple(dict.fromkeys(filter(None, (_strip_components(path, components) for path in self.paths))))


def read_patch_paths(text: str) -> PatchPaths:
    """Return the files that a patch changes, whatever its format; no files when the text is no patch."""
    lines = text.split("\n")
    files = list(_limit(_read_codex_files(lines)))
    patch_format = "codex"
    if not files:
        files, patch_format = list(_limit(_read_diff_files(lines))), "diff"
    complete = len(files) <= MAX_FILES
    return PatchPaths(tuple(files[:MAX_FILES]), patch_format if files else "", complete)


def _limit(files: Iterator[PatchedFile]) -> Iterator[PatchedFile]:
    for count, file in enumerate(files):
        if count > MAX_FILES:
            return
        yield file


def _read_codex_files(lines: Sequence[str]) -> Iterator[PatchedFile]:
    """Yield the files of a patch in Codex's format."""
    name, change = "", ""
    added: list[str] = []
    for line in lines:
        # Within the body of a file a blank is part of the format: such a line is context that quotes a header.
        header = _CODEX_HEADER.match(line if change in (ADD, UPDATE, MOVE) else line.strip())
        if header is None:
            if line.startswith("+"):
                added.append(line[1:])
            continue
        next_change = _CODEX_CHANGES[header.group(1) or header.group(3)]
        if next_change == MOVE and change == UPDATE:
            yield PatchedFile(name, DELETE)
        elif name:
            yield PatchedFile(name, change, "\n".join(added))
        name, change, added = (header.group(2) or header.group(4)).strip(), next_change, []
    if name:
        yield PatchedFile(name, change, "\n".join(added))


class _DiffSection:
    """The part of a diff about one file, while it is read."""

    __slots__ = ("added", "change", "new", "old")

    def __init__(self, old: str = "", new: str = "") -> None:
        self.old, self.new = old, new
        self.change = ""
        self.added: list[str] = []

    def list_files(self) -> Iterator[PatchedFile]:
        """Yield the files of this part, each name once."""
        old = "" if self.old == _NO_FILE else self.old
        new = "" if self.new == _NO_FILE else self.new
        added = "\n".join(self.added)
        if self.change == DELETE or (old and self.new == _NO_FILE):
            yield from (PatchedFile(name, DELETE) for name in dict.fromkeys(filter(None, (old, new))))
        elif self.change == MOVE:
            yield PatchedFile(old, DELETE)
            yield PatchedFile(new, MOVE, added)
        elif self.change == ADD or (new and self.old == _NO_FILE):
            yield PatchedFile(new or old, ADD, added)
        else:
            # `patch` takes whichever of the two exists, so both count.
            yield from (PatchedFile(name, UPDATE, added) for name in dict.fromkeys(filter(None, (new, old))))


def _read_diff_files(lines: Sequence[str]) -> Iterator[PatchedFile]:
    """Yield the files of unified, context and git diffs; text around them (mail, commit messages) is skipped."""
    section = _DiffSection()
    old_left = new_left = 0
    for index, line in enumerate(lines):
        # Lines of a hunk are counted off: a removed `-- x` looks like the header `--- x`.
        if old_left > 0 or new_left > 0:
            mark = line[:1]
            if mark in ("+", "-", " ", "\\", ""):
                if mark == "+":
                    section.added.append(line[1:])
                old_left -= mark in ("-", " ", "")
                new_left -= mark in ("+", " ", "")
                continue
            old_left = new_left = 0
        if hunk := _HUNK.match(line):
            old_left, new_left = int(hunk.group(1) or 1), int(hunk.group(2) or 1)
        elif started := _start_section(lines, index, section):
            yield from section.list_files()
            section = started
        else:
            _read_header_line(line, section)
    yield from section.list_files()


def _start_section(lines: Sequence[str], index: int, section: _DiffSection) -> _DiffSection | None:
    """Return the section that begins at this line, or None."""
    line = lines[index]
    following = lines[index + 1] if index + 1 < len(lines) else ""
    if line.startswith("diff --git "):
        return _DiffSection(*_split_git_names(line[11:].rstrip("\r")))
    if line.startswith("Index: "):
        name = line[7:].strip()
        return _DiffSection(name, name)
    if (line.startswith("--- ") and following.startswith("+++ ")) or (
        line.startswith("*** ") and following.startswith("--- ")
    ):
        old, new = _read_name(line[4:]), _read_name(following[4:])
        # The same file as in the git header above: only the names that it adds count.
        if section.old and not section.added and {old, new} <= {section.old, section.new, _NO_FILE}:
            section.old, section.new = old, new
            return None
        return _DiffSection(old, new)
    return None


def _read_header_line(line: str, section: _DiffSection) -> None:
    """Apply one of git's extended header lines to the section that it belongs to."""
    extension = _GIT_EXTENSION.match(line)
    if extension is None or not section.old:
        return
    if extension.group(4):
        section.change = ADD if extension.group(4) == "new" else DELETE
        return
    # These lines name the file without the `a/` and `b/` in front of it; stripping must find the same depth.
    prefix = "a/" if extension.group(2) == "from" else "b/"
    name = _unquote_name(extension.group(3).rstrip("\r"))
    if extension.group(2) == "from":
        section.old = prefix + name
    else:
        section.new = prefix + name
    section.change = MOVE if extension.group(1) == "rename" else ADD


def _split_git_names(text: str) -> tuple[str, str]:
    """Return the two names of a `diff --git` line, which separates them by a blank that names may hold as well."""
    if text.startswith('"'):
        end = _find_closing_quote(text)
        return _unquote_name(text[: end + 1]), _unquote_name(text[end + 1 :].strip())
    if text.endswith('"') and ' "' in text:
        first, _, second = text.partition(' "')
        return first, _unquote_name('"' + second)
    middle = len(text) // 2
    # Unless the file is renamed, both names are equal but for their first directory.
    if text[middle : middle + 1] == " " and _strip_components(text[:middle], 1) == _strip_components(
        text[middle + 1 :], 1
    ):
        return text[:middle], text[middle + 1 :]
    first, _, second = text.partition(" b/")
    return (first, f"b/{second}") if second else (text.partition(" ")[0], text.rpartition(" ")[2])


def _find_closing_quote(text: str) -> int:
    index = 1
    while index < len(text) and text[index] != '"':
        index += 2 if text[index] == "\\" else 1
    return index


def _read_name(text: str) -> str:
    """Return the name in a `---` or `+++` line, without the time stamp that may follow it."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        return _unquote_name(text[: _find_closing_quote(text) + 1])
    return text.partition("\t")[0].rstrip()


def _unquote_name(text: str) -> str:
    """Return a name as git means it: in quotes when it holds control characters or bytes that are not ASCII."""
    if not (len(text) > 1 and text.startswith('"') and text.endswith('"')):
        return text
    data = bytearray()
    position = 0
    body = text[1:-1]
    for match in _ESCAPE.finditer(body):
        data += body[position : match.start()].encode("utf-8", "surrogateescape")
        code = match.group(1)
        data.append(int(code, 8) & 255 if len(code) == 3 else _ESCAPED_BYTES.get(code, ord(code) & 255))
        position = match.end()
    data += body[position:].encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "surrogateescape")


def _strip_components(path: str, components: int) -> str:
    """Return the path without so many leading directories; empty when it has fewer."""
    for _ in range(components):
        _, slash, path = path.partition("/")
        if not slash:
            return ""
        path = path.lstrip("/")
    return path
