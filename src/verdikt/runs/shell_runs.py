"""The programs that a shell command ran, and for which of them its exit status is proof. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from posixpath import join
from typing import Any

from verdikt.knowledge import find_role, find_task_words
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.patch import read_patch_paths
from verdikt.model.work_tree import classify_file
from verdikt.runs.program_kinds import (
    ANY_PROGRAM,
    classify_run,
    edits_in_place,
    is_dry_run,
    resolve_program_name,
    split_directory,
    split_goals,
)
from verdikt.shell import analyse
from verdikt.shell.command import Command, Redirect, Script

MAX_WORDS, MAX_WORD_LENGTH, MAX_RUNS = 60, 300, 40

_MAX_CACHED_LENGTH = 4096
"""Length of a command up to which its runs are cached."""

_SHELLS = find_role("shell")
_TRANSPARENT_WRAPPERS = find_role("status_wrapper")
"""Wrappers that end with the status of what they run."""

_WRITING_PROGRAMS = find_role("file_changer")
_LAST_OPERAND_WRITERS = find_role("last_operand_writer")
# Running one of these on an edited file is no evidence that the edit works.
_FILE_HANDLERS = find_role("file_handler")
_VARIABLE_SETTERS = find_role("variable_setter")
_RENAMERS = find_role("command_renamer")
_WORD_PRINTERS = find_role("word_printer")
_PATCHERS = find_role("patcher")
_TREE_CHANGERS = find_role("work_tree_changer")
_CHECK_KINDS = frozenset(("test", "build", "lint"))
_CODEX_PATCH_PROGRAMS = ("apply_patch", "applypatch")
_STRIP_OPTION = compile_lazily(r"(?:-p|--strip=)(\d{1,3})")
_PATCH_LOOKS = frozenset(("--check", "--stat", "--numstat", "--summary", "--dry-run"))
_MOVED_PATCH = compile_lazily(r"-d|--directory")


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One program that ran.

    `status_propagates`: a status of 0 for the whole command means that this program ended with 0 too. `piped`: a pipe
    hides the status, but nothing except this program can have printed a summary in what the command printed. `reads` is
    the file on its standard input, `starts` a file of the project that a task of this name starts in place of a runner.
    """

    argv: tuple[str, ...]
    kind: str
    status_propagates: bool
    dry_run: bool = False
    cwd: str = ""
    piped: bool = False
    reads: str = ""
    starts: str = ""

    @property
    def command_line(self) -> str:
        """Return the command line, equal for two runs of the same thing."""
        return " ".join(self.argv)

    def record(self) -> dict[str, Any]:
        """Return the run as plain data."""
        return {
            "argv": list(self.argv),
            "kind": self.kind,
            "speaks": self.status_propagates,
            "dry": self.dry_run,
            "cwd": self.cwd,
            "piped": self.piped,
            **({"reads": self.reads} if self.reads else {}),
            **({"starts": self.starts} if self.starts else {}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "ProgramRun":
        """Return the run that `record` wrote."""
        return cls(
            tuple(map(str, record.get("argv", ()))),
            str(record.get("kind", "other")),
            bool(record.get("speaks")),
            bool(record.get("dry")),
            str(record.get("cwd", "")),
            bool(record.get("piped")),
            str(record.get("reads", "")),
            str(record.get("starts", "")),
        )


def read_runs(text: str, depth: int = 0) -> tuple[ProgramRun, ...]:
    """Return the programs that a command text runs, in order."""
    return (
        _read_runs_cached(text, depth)
        if len(text) <= _MAX_CACHED_LENGTH
        else tuple(_iter_runs(analyse(text), depth))[:MAX_RUNS]
    )


@lru_cache(maxsize=128)
def _read_runs_cached(text: str, depth: int) -> tuple[ProgramRun, ...]:
    """Return the runs of a short command; cached, because each call is read several times."""
    return tuple(_iter_runs(analyse(text), depth))[:MAX_RUNS]


def _iter_runs(script: Script, depth: int) -> Iterator[ProgramRun]:
    raw = script.text.encode("utf-8", "replace")
    outer = [command for command in script.commands if command.depth == 0 and command.feeds is None]
    errexit, pipefail = _read_shell_options(outer)
    # With another PATH, any file of the project may be the program that is called.
    changes_path = any(_sets_path(command) for command in script.commands)
    aliases = {word.text.partition("=")[0] for other in outer if other.name in _RENAMERS for word in other.argv[1:]}
    # What is edited behind a check in one line, such as by `git stash pop`, was not there when the check ran.
    last_edit = max((index for index, command in enumerate(outer) if _changes_sources(command)), default=-1)
    for index, command in enumerate(outer):
        propagates = not script.problems and _propagates_status(raw, outer, index, errexit=errexit, pipefail=pipefail)
        inner = _extract_inner_script(command)
        # Nesting is bounded: each level parses its text again.
        if inner is not None and depth < 3:
            for run in read_runs(inner, depth + 1):
                is_last = run.kind not in _CHECK_KINDS or index >= last_edit
                yield ProgramRun(
                    run.argv,
                    run.kind,
                    run.status_propagates and propagates and is_last,
                    run.dry_run,
                    run.cwd or _command_cwd(command),
                    run.piped and len(outer) == 1,
                )
            continue
        real = _unwrap_command(script, command)
        words = [*(word.display_text for word in real.argv), *_list_variable_options(outer[:index], real)]
        argv, place = split_directory(tuple(word[:MAX_WORD_LENGTH] for word in words[:MAX_WORDS]))
        is_certain = all(word.is_known for word in real.argv[:1]) and not real.host and not changes_path
        is_certain = is_certain and real.name not in aliases
        for words_of_task in split_goals(argv):
            kind = classify_run(words_of_task)
            yield ProgramRun(
                words_of_task,
                kind,
                propagates and is_certain and (kind not in _CHECK_KINDS or index >= last_edit),
                is_dry_run(words_of_task),
                join(_command_cwd(real), place) if place else _command_cwd(real),
                is_certain and not script.problems and _is_only_printer(script, outer, command),
                next((redirect.target.display_text for redirect in real.redirects if redirect.op == "<"), ""),
            )


_TOOL_DIRECTORY = compile_lazily(
    r"^(?:\$\{?PATH\}?|/(?:usr|opt|bin|sbin|home|root)\b.*|.*(?:venv|env|node_modules|\.cargo|\.local|\.pyenv|\.nvm|go)/"
    r".*(?:bin|shims)|.*/\.?v?env[\w.-]*/bin|\.?v?env/bin|node_modules/\.bin)/?$"
)
"""Directories in which installed tools lie, as opposed to a project's own files."""


def _sets_path(command: Command) -> bool:
    """Return whether a command puts a directory before the others that may hold the project's own programs."""
    exported = command.argv[1:] if command.name in _VARIABLE_SETTERS else ()
    values = [word.raw or word.text for name, word in command.assignments if name == "PATH"]
    values += [(word.raw or word.text).partition("=")[2] for word in exported if word.text.startswith("PATH=")]
    parts = [part for value in values for part in value.strip("\"'").split(":")]
    return any(not _TOOL_DIRECTORY.match(part) for part in parts)


_OPTION_VARIABLES = find_task_words(ANY_PROGRAM, "variables")


def _list_variable_options(before: list[Command], command: Command) -> list[str]:
    """Return the options that a check takes from variables which were set for it: `PYTEST_ADDOPTS='-k cart' pytest`."""
    if classify_run([word.display_text for word in command.argv]) == "look":
        return []
    values = {name: word.text for name, word in command.assignments}
    exported = [word.text for other in before if other.name in _VARIABLE_SETTERS for word in other.argv[1:]]
    for name, _, value in (word.partition("=") for word in exported):
        values.setdefault(name, value)
    return [word for name, value in values.items() if name in _OPTION_VARIABLES for word in value.split()]


_PASSIVE_FILTERS = find_role("passive_filter")
"""Programs that print lines of their input as they are."""

_PRINTERS = find_role("printer")
_SUMMARY_WORD = compile_lazily(r"pass|fail|\bok\b|tests?\b|error", re.IGNORECASE)


def _is_only_printer(script: Script, outer: list[Command], command: Command) -> bool:
    """Return whether a command's output goes through passive filters, and nothing else prints what looks like it."""
    if command.background or command.repeated or command.pipe_to is None or "||" in script.text:
        return False
    pipeline = [command]
    while (position := pipeline[-1].pipe_to) is not None and position < len(script.commands):
        following = script.commands[position]
        options = {word.text for word in following.argv[1:] if word.text.startswith("-")}
        if following.name not in _PASSIVE_FILTERS or following.background or {"-o", "--only-matching"} & options:
            return False
        pipeline.append(following)
    others = [other for other in outer if other not in pipeline]
    return not any(_may_print_summary(other) for other in others)


def _may_print_summary(command: Command) -> bool:
    if command.name not in _WORD_PRINTERS:
        return command.name in _PRINTERS
    words = [word.raw or word.text for word in command.argv[1:]]
    is_status = all(word.is_known or re.search(r"\$\?|PIPESTATUS", word.raw) for word in command.argv[1:])
    return not is_status or bool(_SUMMARY_WORD.search(" ".join(words)))


def _command_cwd(command: Command) -> str:
    return command.cwd.display_text if command.cwd is not None else ""


def _extract_inner_script(command: Command) -> str | None:
    """Return the script that a shell runs with `-c`; None when there is none, or it is unknown."""
    if resolve_program_name(command.name) not in _SHELLS:
        return None
    for index, word in enumerate(command.argv[1:-1], start=1):
        if re.fullmatch(r"-[a-z]*c", word.text):
            text = command.argv[index + 1]
            options = " ".join(option.text for option in command.argv[1:index])
            prefix = "set -e; " if "e" in word.text or "-e" in options else ""
            return prefix + text.text if text.is_known else None
    return None


def _unwrap_command(script: Script, command: Command) -> Command:
    """Return the command that wrappers run in the end, when they end with its status; else the command itself."""
    innermost = command
    for other in script.commands:
        if (
            other.depth
            and other.span == command.span
            and other.feeds is None
            and set(other.via) <= _TRANSPARENT_WRAPPERS
        ):
            innermost = other
    return innermost


def _read_shell_options(commands: Iterable[Command]) -> tuple[bool, bool]:
    """Return whether `set -e` and `set -o pipefail` are in force."""
    words = [word.text for command in commands if command.name == "set" for word in command.argv[1:]]
    return any(re.fullmatch(r"-[a-z]*e[a-z]*|errexit", word) for word in words), "pipefail" in words


def _propagates_status(raw: bytes, commands: list[Command], index: int, *, errexit: bool, pipefail: bool) -> bool:
    """Return whether the whole can only end with 0 when this command ran and ended with 0."""
    command = commands[index]
    before = raw[(commands[index - 1].span[1] if index else 0) : command.span[0]].decode("utf-8", "replace")
    if (
        command.background
        or command.repeated
        or re.search(r"(?:^|[;\s(])(?:!|if|while|until|elif|do|else|case|trap)\s*$", before)
    ):
        return False
    # Only `&&` makes the whole fail when this command does not run.
    if command.conditional and not re.fullmatch(r"[\s)}]*&&[\s({]*", before):
        return False
    for position in range(index, len(commands)):
        end = commands[position + 1].span[0] if position + 1 < len(commands) else len(raw)
        # A comment is not an operator, whatever it contains.
        after = re.sub(r"(?m)(?:^|(?<=\s))#.*$", "", raw[commands[position].span[1] : end].decode("utf-8", "replace"))
        separator = after.strip(" \t\r)}({")
        if "||" in separator:
            return False
        if "&&" in separator:
            continue
        if separator.startswith("|"):
            if not pipefail:
                return False
            continue
        if position + 1 == len(commands):
            return not separator.strip("; \n\t") or separator.strip("; \n\t") in ("fi", "done")
        # After `;` or a newline, only `set -e` makes an earlier failure count.
        if not errexit or commands[position].conditional:
            return False
    return True


_OWN_END = compile_lazily(r"\bexit [1-9$]|\b(?:for|while|until|if|trap)\b|(?:^|\n)\W*\$")
"""What ends a script with a status of its own, or hides from a reader which programs it runs."""


def hides_status(script: str, runs: Sequence[ProgramRun]) -> bool:
    """Return whether a task ends well whatever the programs in it say: `eslint . || true`."""
    return bool(runs) and not any(run.status_propagates for run in runs) and not _OWN_END.search(script)


def is_file_handler(argv: tuple[str, ...]) -> bool:
    """Return whether a program only moves, writes or formats files, and so executes nothing that is in them."""
    name = resolve_program_name(argv[0]) if argv else ""
    if name in _FILE_HANDLERS or edits_in_place(name, argv[1:]):
        return True
    # A formatter; what rewrites sources by a command only (`cargo fmt`) does more than that.
    return any(word == "*" or word.startswith("-") for word in find_task_words(name, "rewrites"))


def _rewrites_sources(name: str, words: list[str]) -> bool:
    name = resolve_program_name(name)
    required = find_task_words(name, "rewrites")
    if not required:
        return False
    chosen = {word.partition("=")[0] for word in words if word.startswith("-")}
    chosen |= set([word for word in words if not word.startswith("-")][:1])
    return ("*" in required or bool(chosen & required)) and not chosen & find_task_words(name, "keeps")


def find_edited_paths(text: str) -> tuple[str, ...]:
    """Return the files that a command changes, as it names them; `*` when it changes files it does not name."""
    return _find_edits_cached(text) if len(text) <= _MAX_CACHED_LENGTH else _find_edits(text)


def _writes_file(redirect: Redirect) -> bool:
    """Return whether a redirect writes to a file, and not to a device or another stream."""
    return (
        redirect.op in (">", ">>", ">|", "&>", "&>>")
        and not redirect.target.text.startswith(("/dev/", "&"))
        and not redirect.target.text.isdigit()
    )


def _find_edits(text: str) -> tuple[str, ...]:
    edits = [path for command in analyse(text).commands for path in _list_edited_paths(command)]
    return tuple(dict.fromkeys(path for path in edits if path))[:MAX_RUNS]


def _list_edited_paths(command: Command) -> list[str]:
    paths = [redirect.target.display_text for redirect in command.redirects if _writes_file(redirect)]
    words = [word.display_text for word in command.argv[1:]]
    operands = [word for word in words if not word.startswith("-")]
    edits: list[str] = []
    if patched := _find_patched_paths(command, words):
        edits += patched
    elif edits_in_place(command.name, words):
        paths += operands[1:]  # after the script
    elif command.name in _WRITING_PROGRAMS:
        paths += operands[-1:] if command.name in _LAST_OPERAND_WRITERS else operands
    elif _rewrites_sources(command.name, words):
        edits.append("*")
    return edits + _locate_paths(command, paths)


def _changes_sources(command: Command) -> bool:
    return any(path == "*" or classify_file(path) == "code" for path in _list_edited_paths(command))


def _locate_paths(command: Command, paths: list[str]) -> list[str]:
    """Return paths as seen from where the whole command text starts: `cd app && touch x` writes `app/x`."""
    if command.cwd is None or not paths:
        return paths
    if not command.cwd.is_known:
        return ["*"]
    return [path if path.startswith("~") else join(command.cwd.text, path) for path in paths]


def _find_patched_paths(command: Command, words: list[str]) -> tuple[str, ...]:
    """Return the files of a patch that the command itself holds, or `*` for one that lies in a file."""
    if command.name in _CODEX_PATCH_PROGRAMS:
        text = next((word for word in words if "***" in word), command.stdin or "")
        strip: int | None = None
    elif command.name in _PATCHERS or (command.name in _TREE_CHANGERS and words[:1] in (["apply"], ["am"])):
        text, strip = command.stdin or "", _find_strip_count(words, 1 if command.name in _TREE_CHANGERS else None)
    else:
        return ()
    if not _PATCH_LOOKS.isdisjoint(words):
        return ()
    names = read_patch_paths(text).strip_paths(strip)
    # From below the top, or with a directory of its own, the names are others than those in the patch.
    directory = command.cwd.text if command.cwd is not None and command.cwd.is_known else ""
    if not names or (command.cwd is not None and not directory) or any(map(_MOVED_PATCH.match, words)):
        return ("*",)
    return tuple(join(directory, name) for name in names)


def _find_strip_count(words: list[str], default: int | None) -> int | None:
    for word in words:
        if match := _STRIP_OPTION.fullmatch(word):
            return int(match[1])
    return default


_find_edits_cached = lru_cache(maxsize=128)(_find_edits)
