"""Find commands that may change guarded files among others: patches, copies, archives, git commands.

The program tables say what a command does to the files that it names. Here is asked whether the set of files that it
changes without naming them can meet a guarded path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, dirname, join, normpath, relpath
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.arguments import NO_OPTIONS, Arguments
from verdikt.effects.child_agent import AGENT_PROGRAMS, find_child_agent, find_module_agent
from verdikt.effects.code import quote_shell_word
from verdikt.effects.git_call import LEAVE_ALONE, GitCall
from verdikt.effects.git_guarded import (
    LOOKING_VERBS,
    MAX_FIX_LENGTH,
    UNRELATED_COMMANDS,
    GuardedChange,
    find_git_changes,
)
from verdikt.effects.program_record import find_options
from verdikt.knowledge import find_role
from verdikt.model import patch
from verdikt.model.effect import Target, Zone
from verdikt.model.path_set import PathSet, PathSetKind, is_glob, is_within
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

WrittenTexts = Mapping[str, str]
"""Path → text of the files that this very action writes, and that are not on the disk yet."""

_PATCH_EFFECTS = {patch.ADD: "fs.write", patch.DELETE: "fs.delete", patch.MOVE: "fs.overwrite"}
_MAX_PATCH_TARGETS = 500
_SYNCHRONIZERS = find_role("synchronizer")
_PATCH_LOOK_OPTIONS = "--check --stat --numstat --summary"


class _PatchInput(NamedTuple):
    """Patches that are applied in a directory: files, or else the text of the input."""

    place: str
    strip: int | None
    files: Sequence[str]
    stdin: str | None


class _Unpacking(NamedTuple):
    """An archive that is unpacked into a directory (None: where the command runs)."""

    archive: Word
    directory: Word | None = None
    strip: str = "0"
    members: Sequence[Word] = ()
    excluded: Sequence[str] = ()


def find_guarded_effects(call: Invocation, command: Command, written: WrittenTexts) -> list[Effect]:
    """Return the effects of a command on guarded files that it does not name.

    `command` is the command as written; the classification of `call` may have replaced it.
    """
    if command.host:
        return []  # the files of another machine
    # `npx @anthropic-ai/claude-code@latest`
    handler = _HANDLERS.get(call.name.partition("@")[0])
    return [] if handler is None else list(handler(call, command, written))


def _make_effects(call: Invocation, command: Command, changes: Iterator[GuardedChange]) -> Iterator[Effect]:
    """Yield one effect for each change, which carries what to do instead."""
    directory = call.resolver.to_absolute(".", command.cwd) or call.facts.cwd
    for change in changes:
        if change.paths:
            targets = tuple(
                Target(relpath(path, directory), "path", path, Zone.GUARD) for path in dict.fromkeys(change.paths)
            )
            fix = change.fix if len(change.fix) <= MAX_FIX_LENGTH else LEAVE_ALONE
            note = f"run `{fix}` instead" if fix else "leave these files as they are"
            yield call.make_effect("guard.tamper.set", targets, note=note)


# git.


def _classify_git(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    # Most git commands only look; finding out where they would work costs more than all else about them.
    argv = command.argv
    if len(argv) > 1 and argv[1].text in UNRELATED_COMMANDS:
        return
    if len(argv) > 2 and argv[2].text in LOOKING_VERBS.get(argv[1].text, ()):
        return
    git = GitCall(command, call.resolver)
    if git.name in ("apply", "am"):
        yield from _classify_git_patch(call, git, command, written)
    else:
        yield from _make_effects(call, command, find_git_changes(git))


def _classify_git_patch(call: Invocation, git: GitCall, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    args = Arguments(git.words[1:], find_options(call.name, git.name))
    if args.has_flag(f"{_PATCH_LOOK_OPTIONS} --abort --quit --skip --show-current-patch") and not args.has_flag(
        "--apply"
    ):
        return
    if git.name == "apply" and args.has_flag("--cached"):
        return
    below = args.get_value("--directory")
    excluded = [word.text for word in args.get_values("--exclude")]
    strip = _read_count(args.get_value("-p"), 1)
    # From a subdirectory git takes the names from the top; outside a repository, from where it is.
    for base in dict.fromkeys((git.top, git.directory)):
        place = join(base, below.text) if below is not None else base
        inputs = args.operands or [redirect.target for redirect in command.redirects if redirect.op == "<"]
        files = [git.to_absolute(word.text) for word in inputs if word.is_known and word.text != "-"]
        for change in _read_patches(call, _PatchInput(place, strip, files, command.stdin), written):
            paths = tuple(
                path for path in change.paths if not any(fnmatchcase(relpath(path, place), e) for e in excluded)
            )
            names = dict.fromkeys(relpath(path, place) for path in paths)
            words = [quote_shell_word(word.text) for word in git.words]
            options = " ".join(quote_shell_word(f"--exclude={name}") for name in names)
            fix = f"git {words[0]} {options} {' '.join(words[1:])}" if args.operands else LEAVE_ALONE
            yield from _make_effects(call, command, iter([GuardedChange(paths, fix)]))


def _read_count(word: Word | None, default: int | None) -> int | None:
    return int(word.text) if word is not None and word.text.isdigit() else default


# Patches.


def _read_patches(call: Invocation, patches: _PatchInput, written: WrittenTexts) -> Iterator[GuardedChange]:
    """Yield the guarded paths that patches name, from files or from the input."""
    place, strip, files, stdin = patches
    texts = [stdin] if not files and stdin else []
    for file in files:
        text = written.get(file)
        if text is None:
            path_set = PathSet(PathSetKind.PATCH, place, (file, "" if strip is None else str(strip)))
            yield GuardedChange(call.facts.guarded_in(path_set) or (), LEAVE_ALONE)
        else:
            texts.append(text)
    for text in texts:
        names = patch.read_patch_paths(text).strip_paths(strip)
        paths = [normpath(join(place, name)) for name in names]
        met = [place for path in paths for place in call.facts.find_guarded(PathSet(PathSetKind.PATH, path))]
        yield GuardedChange(tuple(dict.fromkeys(met)), LEAVE_ALONE)


def _classify_patch(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    """`patch`: its files come from the patch, unless an operand names one."""
    args = Arguments(command.argv[1:], find_options(command.name))
    if args.has_flag("--dry-run -C --check") or args.has_flag("-o --output"):
        return
    directory = args.get_value("-d --directory")
    place = call.resolver.to_absolute(directory.text if directory is not None else ".", command.cwd)
    if not place or (directory is not None and not directory.is_known):
        return
    inputs = [*args.get_values("-i --input"), *args.operands[1:2]]
    inputs += [redirect.target for redirect in command.redirects if redirect.op == "<"]
    # `-d` is entered before the patch is opened.
    files = [join(place, word.text) for word in inputs if word.is_known and word.text != "-"]
    files = [call.resolver.to_absolute(file) for file in files]
    strip = _read_count(args.get_value("-p --strip"), None)
    changes = _read_patches(call, _PatchInput(place, strip, files, command.stdin), written)
    yield from _make_effects(call, command, changes)


def _classify_apply_patch(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    """`apply_patch`: Codex's own command, which it runs itself when a shell command consists of it."""
    texts = [word.text for word in command.argv[1:] if "***" in word.text] or [command.stdin or ""]
    for text in texts:
        patched = patch.read_patch_paths(text)
        for file in patched.files[:_MAX_PATCH_TARGETS]:
            what = _PATCH_EFFECTS.get(file.change, "fs.write")
            yield from call.make_effects(what, [Word(file.path, file.path)])
        further = [Word(file.path, file.path) for file in patched.files[_MAX_PATCH_TARGETS:]]
        yield from call.make_effects("fs.write", further)


# Copies.


def _classify_copy(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    """`cp`, `mv`, `install`, `rsync`: where the contents of a directory, or several files, come to lie."""
    args = Arguments(command.argv[1:], find_options(command.name))
    if args.has_flag("-n --dry-run") and command.name in _SYNCHRONIZERS:
        return
    into = args.get_value("-t --target-directory")
    sources, target = (args.operands, into) if into is not None else (args.operands[:-1], args.operands[-1:])
    words = [target] if isinstance(target, Word) else list(target)
    if not sources or not words or not words[0].is_known or words[0].glob:
        return
    destination = call.resolver.to_absolute(words[0].text, command.cwd)
    # Most copies go where nothing is guarded, and need no look at the disk.
    if not destination or not call.facts.find_guarded(PathSet(PathSetKind.TREE, destination)):
        return
    is_directory = not args.has_flag("-T --no-target-directory") and (
        into is not None
        or len(sources) > 1
        or words[0].text.endswith("/")
        or call.facts.path(destination, git=False).kind == "dir"
    )
    excluded = [word.text.strip("/") for word in args.get_values("--exclude")]
    for word in sources:
        if word.is_known and ":" not in word.text:
            paths = _find_copied(call, command, word, destination, is_directory=is_directory, written=written)
            kept = tuple(path for path in paths if not _is_excluded(relpath(path, destination), excluded))
            if kept:
                fix = _exclude_from_copy(command, destination, kept)
                yield from _make_effects(call, command, iter([GuardedChange(kept, fix)]))


def _find_copied(
    call: Invocation, command: Command, word: Word, destination: str, *, is_directory: bool, written: WrittenTexts
) -> tuple[str, ...]:
    """Return the guarded paths that one source of a copy comes to lie on."""
    source = call.resolver.to_absolute(word.text, command.cwd)
    if not source:
        return ()
    pattern = ""
    if word.glob or is_glob(word.text):
        pattern, source = basename(source), dirname(source)
        if is_glob(source):
            return ()
    takes_contents = word.text.endswith(("/.", "/..")) or word.text == "." or bool(pattern)
    if command.name in _SYNCHRONIZERS:
        takes_contents = takes_contents or word.text.endswith("/")
    landing = destination if takes_contents or not is_directory else f"{destination}/{basename(source)}"
    if any(argument.text == "--parents" for argument in command.argv):
        landing = normpath(join(destination, word.text))
    paths = call.facts.guarded_in(PathSet(PathSetKind.COPY, landing, (source,))) or ()
    if written:
        places = call.facts.find_guarded(PathSet(PathSetKind.TREE, landing))
        paths += tuple(p for p in places if is_within(p, landing) and join(source, relpath(p, landing)) in written)
    if not pattern:
        return paths
    hidden = pattern.startswith(".")
    return tuple(
        path
        for path in paths
        if (first := relpath(path, landing).partition("/")[0])
        and fnmatchcase(first, pattern)
        and (hidden or not first.startswith("."))
    )


def _is_excluded(name: str, patterns: Sequence[str]) -> bool:
    return any(
        fnmatchcase(name, pattern) or any(fnmatchcase(part, pattern) for part in name.split("/"))
        for pattern in patterns
    )


def _exclude_from_copy(command: Command, destination: str, paths: Sequence[str]) -> str:
    if command.name not in _SYNCHRONIZERS:
        return LEAVE_ALONE
    options = " ".join(quote_shell_word(f"--exclude=/{relpath(path, destination)}") for path in paths)
    return f"{command.name} {options} {' '.join(quote_shell_word(word.text) for word in command.argv[1:])}"


# Archives.


def _classify_tar(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    words = list(command.argv[1:])
    # The old style without a dash: `tar xzf a.tgz`.
    if words and not words[0].text.startswith("-") and words[0].text.isalpha():
        words[0] = Word(f"-{words[0].text}", words[0].raw)
    args = Arguments(words, find_options(command.name))
    archive = args.get_value("-f --file")
    if not args.has_flag("-x --extract --get") or archive is None or args.has_flag("-O --to-stdout"):
        return
    directory = args.get_value("-C --directory")
    strip = args.get_value("--strip-components --strip")
    excluded = [word.text.strip("/") for word in args.get_values("--exclude")]
    count = "0" if strip is None else strip.text
    paths = _find_unpacked(call, command, _Unpacking(archive, directory, count, args.operands, excluded))
    if not paths:
        return
    top = call.resolver.to_absolute(directory.text if directory is not None else ".", command.cwd)
    options = " ".join(quote_shell_word(f"--exclude={relpath(path, top)}") for path in paths)
    fix = f"{command.name} {options} {' '.join(quote_shell_word(word.text) for word in words)}"
    yield from _make_effects(call, command, iter([GuardedChange(paths, LEAVE_ALONE if strip else fix)]))


def _classify_unzip(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    words = [word.text for word in command.argv[1:]]
    # `-x` takes everything that follows, up to the next option.
    start = words.index("-x") + 1 if "-x" in words else len(words)
    excluded = [text for text in words[start:] if not text.startswith("-")]
    args = Arguments(command.argv[1 : start + 1], NO_OPTIONS.with_values("-d -P"))
    if not args.operands or args.has_flag("-l -v -t -p -Z -z"):
        return
    tail = Arguments(command.argv[start + 1 :], NO_OPTIONS.with_values("-d -P"))
    directory = args.get_value("-d") or tail.get_value("-d")
    if directory is not None and directory.text in excluded:
        excluded.remove(directory.text)
    members = args.operands[1:]
    paths = _find_unpacked(call, command, _Unpacking(args.operands[0], directory, "0", members, excluded))
    if not paths:
        return
    top = call.resolver.to_absolute(directory.text if directory is not None else ".", command.cwd)
    names = " ".join(quote_shell_word(relpath(path, top)) for path in paths)
    line = " ".join(quote_shell_word(word.text) for word in command.argv[1:])
    yield from _make_effects(call, command, iter([GuardedChange(paths, f"{command.name} {line} -x {names}")]))


def _classify_seven_zip(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    """`7z x archive -odirectory`; only archives whose names can be listed here."""
    words = [word for word in command.argv[1:] if not word.text.startswith("-")]
    if len(words) < 2 or words[0].text not in ("x", "e"):
        return
    place = next((word.text[2:] for word in command.argv if word.text.startswith("-o") and len(word.text) > 2), "")
    directory = Word(place, place) if place else None
    paths = _find_unpacked(call, command, _Unpacking(words[1], directory, "0", words[2:]))
    yield from _make_effects(call, command, iter([GuardedChange(paths, LEAVE_ALONE)]))


def _find_unpacked(call: Invocation, command: Command, unpacking: _Unpacking) -> tuple[str, ...]:
    """Return the guarded paths that unpacking an archive would write."""
    archive, directory, strip, members, excluded = unpacking
    place = call.resolver.to_absolute(directory.text if directory is not None else ".", command.cwd)
    file = call.resolver.to_absolute(archive.text, command.cwd) if archive.is_known and archive.text != "-" else ""
    if not place or not file or (directory is not None and not directory.is_known):
        return ()
    # Most archives are unpacked where nothing is guarded, and then need not be listed.
    if not call.facts.find_guarded(PathSet(PathSetKind.TREE, place)):
        return ()
    selected = tuple(word.text for word in members if word.is_known and not is_glob(word.text))
    count = strip if strip.isdigit() else "0"
    path_set = PathSet(PathSetKind.ARCHIVE, place, (file, count, *selected))
    paths = call.facts.guarded_in(path_set) or ()
    return tuple(path for path in paths if not _is_excluded(relpath(path, place), excluded))


def _classify_python_module(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    """`python -m zipfile -e a.zip directory`, and the same of `tarfile`."""
    texts = [word.text for word in command.argv]
    if "-m" not in texts[:-1]:
        return
    index = texts.index("-m") + 1
    yield from find_module_agent(call, command, command.argv[index])
    if len(texts) < index + 3:
        return
    if texts[index] not in ("zipfile", "tarfile") or texts[index + 1] not in ("-e", "--extract"):
        return
    archive, directory = command.argv[index + 2], command.argv[index + 3 : index + 4]
    paths = _find_unpacked(call, command, _Unpacking(archive, directory[0] if directory else None))
    yield from _make_effects(call, command, iter([GuardedChange(paths, LEAVE_ALONE)]))


def _classify_child(call: Invocation, command: Command, written: WrittenTexts) -> Iterator[Effect]:
    yield from find_child_agent(call, command)


_Handler = Callable[["Invocation", "Command", WrittenTexts], Iterator["Effect"]]

_HANDLERS: dict[str, _Handler] = {
    **{
        name: handler
        for role, handler in {
            "work_tree_changer": _classify_git,
            "patcher": _classify_patch,
            "envelope_patcher": _classify_apply_patch,
            "file_copier": _classify_copy,
            "tape_archiver": _classify_tar,
            "zip_extractor": _classify_unzip,
            "seven_zip_archiver": _classify_seven_zip,
            "module_runner": _classify_python_module,
        }.items()
        for name in find_role(role)
    },
    **dict.fromkeys(AGENT_PROGRAMS, _classify_child),
}

SET_PROGRAMS = frozenset(_HANDLERS)
"""The programs that may change files which their words do not name."""
