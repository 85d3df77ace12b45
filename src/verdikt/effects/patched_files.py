"""Files of the project that a command changes without naming them: those of a patch, and what `git mv` moves."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from fnmatch import fnmatchcase
from posixpath import join, normpath
from typing import TYPE_CHECKING

from verdikt.effects.arguments import Arguments
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_options, find_program
from verdikt.knowledge import find_role
from verdikt.model import patch
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

PATCHERS = find_role("patcher")
TREE_CHANGERS = find_role("work_tree_changer")
_MOVE = "mv"
_GIT_VERBS = frozenset(("apply", "am", _MOVE))
_LOOK_OPTIONS = "--stat --numstat --summary --check --dry-run -C --cached -o --output --abort --quit --skip"
_MAX_FILES = 64
_EFFECTS = {patch.DELETE: "fs.delete"}


def find_git_verb(command_words: tuple[Word, ...]) -> int:
    """Return the index of `apply`, `am` or `mv` among the words of a git command; 0 for other commands."""
    if _GIT_VERBS.isdisjoint([word.text for word in command_words[1:6]]):
        return 0
    for index, word in enumerate(command_words[1:6], 1):
        if word.text in _GIT_VERBS:
            return index
    return 0


def classify_git_move(call: Invocation, verb: int) -> list[Effect]:
    """Return the effects of `git mv`, which are those of `mv`: what is known of a file goes with it."""
    program = find_program(_MOVE)
    if program is None:
        return []
    words = (Word(_MOVE), *(word for word in call.command.argv[verb + 1 :] if word.text != "-k"))
    inner = type(call)(call.command._replace(argv=words), call.resolver, call.commands, call.shell_classifier)
    return [effect._replace(by=call.command_line) for effect in evaluate_program(program, inner)]


def is_git_move(command_words: tuple[Word, ...], verb: int) -> bool:
    """Return whether the verb at an index moves files, and applies no patch."""
    return command_words[verb].text == _MOVE


def classify_patched_files(call: Invocation, written: MutableMapping[str, str], verb: int = 0) -> Iterator[Effect]:
    """Yield the effects of a patch on each of its files, and remember the text of those that it adds."""
    command = call.command
    name = command.argv[verb].text
    args = Arguments(command.argv[verb + 1 :], find_options(command.name, name) if verb else find_options(command.name))
    if args.has_flag(_LOOK_OPTIONS):
        return
    directory = args.get_value("--directory" if verb else "-d --directory")
    base = call.resolver.project_root if verb else call.resolver.to_absolute(".", command.cwd)
    place = normpath(join(base, directory.text)) if directory is not None else base
    strip = args.get_value("-p --strip")
    components = int(strip.text) if strip is not None and strip.text.isdigit() else 1
    excluded = [word.text for word in args.get_values("--exclude")] if verb else []
    for text in _iter_texts(call, args, written, is_git=verb > 0):
        patched = patch.read_patch_paths(text)
        for file in patched.files[:_MAX_FILES]:
            for path in patch.PatchPaths((file,), patched.format).strip_paths(components):
                if any(fnmatchcase(path, pattern) for pattern in excluded):
                    continue
                target = normpath(join(place, path))
                written[target] = file.added
                yield from call.make_effects(_EFFECTS.get(file.change, "fs.write"), [Word(target, path)])


def _iter_texts(call: Invocation, args: Arguments, written: MutableMapping[str, str], *, is_git: bool) -> Iterator[str]:
    """Yield the texts of the patches that a command is given: files, or its input."""
    command = call.command
    words = list(args.operands) if is_git else [*args.get_values("-i --input"), *args.operands[1:2]]
    words += [redirect.target for redirect in command.redirects if redirect.op == "<"]
    files = [word for word in words if word.is_known and word.text != "-"]
    if not files and command.stdin:
        yield command.stdin
    for word in files:
        path = call.resolver.to_absolute(word.text, command.cwd)
        text = written.get(path) if path in written else call.facts.text(path) if path else None
        if text:
            yield text
