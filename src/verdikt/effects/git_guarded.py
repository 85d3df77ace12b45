"""What git commands would do to guarded files: which trees, states and patches have to be compared.

Where the guarded paths are the same here and there, nothing is reported, which is nearly always. Otherwise the report
carries a command that does the same without touching them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, relpath
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.arguments import Arguments, word_set
from verdikt.effects.code import quote_shell_word
from verdikt.effects.git_call import LEAVE_ALONE, GitCall
from verdikt.effects.program_record import find_options
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.path_set import PathSet, PathSetKind, is_within
from verdikt.shell.command import Word

if TYPE_CHECKING:
    pass

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MAX_FIX_LENGTH = 104
"""A longer command would be cut off in a message, and a command that is cut off must not be run."""

_SEQUENCE_OPTIONS = "--abort --continue --quit --skip --show-current-patch --edit-todo"
"""Options with which a command goes on with, or ends, what an earlier one began."""
_HEAD_ITSELF = compile_lazily(r"(?:HEAD|@)(?:[~^]0)*")
UNRELATED_COMMANDS = word_set(
    "status log show diff blame annotate grep ls-files ls-tree rev-parse describe shortlog cat-file name-rev add stage "
    "commit push fetch branch tag remote config merge-base rev-list for-each-ref reflog gc prune init help version "
    "notes show-ref ls-remote symbolic-ref update-ref update-index hash-object write-tree commit-tree diff-tree "
    "diff-index diff-files check-ignore check-attr count-objects fsck archive bundle format-patch range-diff shortlog "
    "maintenance rerere var whatchanged cherry show-branch verify-commit verify-tag difftool mergetool send-email lfs"
)
"""Commands that leave the work tree alone; git lets no alias replace them, so none has to be looked up."""
LOOKING_VERBS = {"stash": word_set("list show"), "worktree": word_set("list"), "submodule": word_set("status summary")}
"""Of other commands, the verbs that do so."""


class GuardedChange(NamedTuple):
    """Guarded paths that a command would change, and the command to run instead, or `LEAVE_ALONE`."""

    paths: tuple[str, ...]
    fix: str


def find_git_changes(call: GitCall) -> Iterator[GuardedChange]:
    """Yield what a git command would do to guarded files."""
    if not call.words or not call.words[0].is_known or not call.directory:
        return
    if call.name not in _HANDLERS and call.name not in UNRELATED_COMMANDS:
        _expand_alias(call)
    handler = _HANDLERS.get(call.name)
    if handler is None:
        return
    arguments = Arguments(call.words[1:], find_options("git", call.name))
    if call.name in _SEQUENCES and arguments.has_flag(_SEQUENCE_OPTIONS):
        return
    for change in handler(call, arguments):
        if change.paths:
            # With another repository's directory the command has no other purpose.
            useless = len(change.fix) > MAX_FIX_LENGTH or bool(call.git_directory)
            yield change._replace(fix=LEAVE_ALONE) if useless else change


def _expand_alias(call: GitCall) -> None:
    """Replace an alias by what it stands for; one that runs a shell is classified as shell text."""
    meaning = (call.facts.git(call.directory).aliases or {}).get(call.name, "")
    if meaning and not meaning.startswith("!"):
        call.words = (*(Word(text) for text in meaning.split()), *call.words[1:])
        call.name = call.words[0].text


def _is_revision(word: Word) -> bool:
    return word.is_known and not word.glob and bool(word.text)


def _name_branch(word: Word) -> str:
    """Return a revision as plumbing understands it: `-` is the branch before this one."""
    return "@{-1}" if word.text == "-" else word.text


def _split_at_dashes(call: GitCall) -> tuple[list[Word], list[Word]] | None:
    """Return the words before and after `--`; None when there is none."""
    texts = [word.text for word in call.words]
    if "--" not in texts:
        return None
    index = texts.index("--")
    return list(call.words[1:index]), list(call.words[index + 1 :])


def _overwrite(call: GitCall, revision: str, specs: Sequence[Word] = ()) -> tuple[str, ...]:
    """Return what changes when files become those of a revision, whatever was changed here."""
    texts = [word.text for word in specs]
    differing = call.look_up("trees", "HEAD", revision, specs=texts) if not _HEAD_ITSELF.fullmatch(revision) else ()
    return tuple(dict.fromkeys((*differing, *call.look_up("status", "tracked", specs=texts))))


# One function per subcommand.


def _switch(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    if args.has_flag("--orphan"):
        yield GuardedChange(call.look_up("trees", "HEAD", EMPTY_TREE), LEAVE_ALONE)
        return
    if not args.operands or not _is_revision(args.operands[0]):
        return
    revision = _name_branch(args.operands[0])
    paths = call.look_up("trees", "HEAD", revision)
    if args.has_flag("-f --force --discard-changes"):
        paths += call.look_up("status", "tracked")
    yield GuardedChange(paths, _add_work_tree(args, revision))


def _add_work_tree(args: Arguments, revision: str) -> str:
    """Return the command that checks a revision out beside this work tree."""
    created = args.get_value("-c -C -b -B --create --force-create")
    name = created.text if created is not None else revision
    if not name.replace("-", "").replace("_", "").replace("/", "").replace(".", "").isalnum():
        return LEAVE_ALONE
    option = f"-b {name} " if created is not None else ""
    return f"git worktree add {option}../{name.replace('/', '-')} {quote_shell_word(revision)}"


def _checkout(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    operands = args.operands
    if args.has_flag("-b -B") or (args.has_flag("--detach -t --track") and operands):
        yield from _switch(call, args)
        return
    if args.has_flag("--orphan -p --patch"):
        return
    parts = _split_at_dashes(call)
    if parts is not None:
        revisions = [word for word in parts[0] if not word.text.startswith("-")]
        yield from _checkout_paths(call, revisions[:1], parts[1])
    elif not operands:
        if args.has_flag("-f --force"):
            paths = call.look_up("status", "tracked")
            yield GuardedChange(paths, f"git restore --staged --worktree -- . {call.exclude(paths)}")
    elif len(operands) == 1:
        # No branch can have such a name, so that git need not be asked for one.
        if not operands[0].text.startswith((".", "/")):
            yield from _switch(call, args)
        yield from _checkout_paths(call, [], operands)
    else:
        yield from _checkout_paths(call, operands[:1], operands[1:])
        yield from _checkout_paths(call, [], operands)


def _checkout_paths(call: GitCall, revisions: Sequence[Word], specs: list[Word]) -> Iterator[GuardedChange]:
    """Yield what `git checkout [revision] -- paths` changes."""
    if revisions and not _is_revision(revisions[0]):
        return
    texts = [word.text for word in specs]
    if revisions:
        paths = _overwrite(call, _name_branch(revisions[0]), specs)
    else:
        paths = call.look_up("status", "worktree", specs=texts) if specs else ()
    yield GuardedChange(paths, call.append_exclusions(paths, specs))


def _restore(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    staged, work_tree = args.has_flag("-S --staged"), args.has_flag("-W --worktree")
    if (staged and not work_tree) or args.has_flag("-p --patch"):
        return
    source = args.get_value("-s --source")
    texts = [word.text for word in args.operands]
    if source is not None:
        paths = _overwrite(call, source.text, args.operands) if _is_revision(source) else ()
    else:
        paths = call.look_up("status", "tracked" if staged else "worktree", specs=texts)
    yield GuardedChange(paths, call.append_exclusions(paths, args.operands))


def _reset(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    if not args.has_flag("--hard --merge --keep"):
        return
    revision = args.operands[0] if args.operands else Word("HEAD")
    if _is_revision(revision):
        paths = _overwrite(call, revision.text)
        source = "" if revision.text in ("HEAD", "@") else f"--source={quote_shell_word(revision.text, '@{}^~:')} "
        yield GuardedChange(paths, f"git restore {source}--staged --worktree -- . {call.exclude(paths)}")


def _stash(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    verb = args.operands[0].text if args.operands else "push"
    operands = args.operands[1:]
    if verb in ("pop", "apply", "branch"):
        name = operands[-1].text if operands and verb != "branch" else operands[1].text if len(operands) > 1 else "0"
        stash = f"stash@{{{name}}}" if name.isdigit() else name
        paths = call.look_up("stash", stash)
        yield GuardedChange(paths, call.apply_difference(f"{stash}^1 {stash}", paths))
        return
    if verb not in ("push", "save") and _split_at_dashes(call) is None:
        return
    specs = [] if verb == "save" else operands if verb == "push" else args.operands
    states = ["tracked"]
    flags = ""
    if args.has_flag("-u --include-untracked -a --all"):
        states.append("untracked")
        flags = "-u "
    if args.has_flag("-a --all"):
        states.append("ignored")
        flags = "-a "
    if args.has_flag("-k --keep-index -S --staged -p --patch"):
        states.append("staged")
    paths = call.look_up("status", *states, specs=[word.text for word in specs])
    chosen = " ".join(quote_shell_word(word.text) for word in specs) or "."
    yield GuardedChange(paths, f"git stash push {flags}-- {chosen} {call.exclude(paths)}")


def _pick_commits(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    """`revert` and `cherry-pick`."""
    revisions = [word.text for word in args.operands if _is_revision(word)]
    if not revisions:
        return
    paths = call.look_up("commits", "revert" if call.name == "revert" else "pick", *revisions)
    first, _, last = revisions[0].partition("..")
    before, after = (first, last) if last else (f"{first}^", first)
    difference = f"{after} {before}" if call.name == "revert" else f"{before} {after}"
    yield GuardedChange(paths, call.apply_difference(difference, paths) if len(revisions) == 1 else LEAVE_ALONE)


def _merge(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    branches = [_name_branch(word) for word in args.operands if _is_revision(word)] or ["@{upstream}"]
    paths = call.look_up("merge", *branches)
    yield GuardedChange(paths, call.apply_difference(f"HEAD...{branches[0]}", paths))


def _pull(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    operands = [word.text for word in args.operands if _is_revision(word)]
    # What the remote has now is not known yet; what is known of it is compared, the rest is put back if need be.
    branch = f"refs/remotes/{operands[0]}/{operands[1].partition(':')[0]}" if len(operands) > 1 else "@{upstream}"
    paths = call.look_up("merge", branch)
    yield GuardedChange(paths, call.apply_difference(f"HEAD...{branch}", paths))


def _rebase(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    onto = args.get_value("--onto")
    operands = [word for word in args.operands if _is_revision(word)]
    base = onto or (operands[0] if operands else Word("@{upstream}"))
    paths = call.look_up("merge", _name_branch(base))
    if len(operands) > 1:
        paths += call.look_up("trees", "HEAD", operands[1].text)
    yield GuardedChange(paths, LEAVE_ALONE)


def _read_tree(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    revisions = [word.text for word in args.operands if _is_revision(word)]
    if not args.has_flag("-u") or not revisions:
        return
    paths = call.look_up("trees", "HEAD", revisions[-1])
    yield GuardedChange(paths + (call.look_up("status", "tracked") if args.has_flag("--reset") else ()), LEAVE_ALONE)


def _checkout_index(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    prefix = args.get_value("--prefix")
    if not args.has_flag("-f --force") or (prefix is not None and prefix.text not in ("", "./")):
        return
    specs = [] if args.has_flag("-a --all") else [word.text for word in args.operands]
    yield GuardedChange(call.look_up("status", "worktree", specs=specs), LEAVE_ALONE)


def _sparse_checkout(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    """Yield the tracked guarded files that a smaller checkout would remove."""
    verb, patterns = (args.operands[0].text, args.operands[1:]) if args.operands else ("", [])
    if verb not in ("set", "init", "reapply"):
        return
    excluded = [word.text[1:].strip("/") for word in patterns if word.text.startswith("!")]
    kept = [word.text.strip("/") for word in patterns if not word.text.startswith("!")]
    keeps_all = any(pattern.text in ("/*", "*", ".") for pattern in patterns)
    if keeps_all and not excluded:
        return
    tracked = call.look_up("tracked")
    if keeps_all:
        # `!x` after `/*` takes files out again; it may be a pattern, and name any part of a path.
        met = (path for path in tracked if any(_is_excluded(relpath(path, call.top), name) for name in excluded))
        yield GuardedChange(tuple(met), LEAVE_ALONE)
        return
    removed = []
    for path in tracked:
        directory = relpath(path, call.top).rpartition("/")[0]
        # Files at the top and directly above a listed directory stay.
        above = any(is_within(pattern, directory) for pattern in kept) if directory else True
        if not above and not any(is_within(directory, pattern) for pattern in kept):
            removed.append(path)
    directories = dict.fromkeys(relpath(path, call.top).partition("/")[0] for path in removed)
    words = " ".join(map(quote_shell_word, [*kept, *directories]))
    yield GuardedChange(tuple(removed), f"git sparse-checkout set {words}")


def _is_excluded(name: str, pattern: str) -> bool:
    parts = name.split("/")
    return any(
        fnmatchcase("/".join(parts[: end + 1]), pattern) or fnmatchcase(parts[end], pattern)
        for end in range(len(parts))
    )


def _clean(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    if args.has_flag("-n --dry-run"):
        return
    options = [flag for flag in ("-d", "-x", "-X") if args.has_flag(flag)]
    for pattern in args.get_values("-e --exclude"):
        options += ["-e", pattern.text]
    specs = [word.text for word in args.operands] or ["."]
    # A directory that is named is entered even without `-d`.
    if args.operands and "-d" not in options:
        options.append("-d")
    paths = call.look_up("clean", *options, specs=specs)
    words = " ".join(quote_shell_word(word.text) for word in call.words[1:])
    excluded = " ".join(f"-e {quote_shell_word(name)}" for name in call.name_excluded(paths))
    yield GuardedChange(paths, f"git clean {excluded} {words}".rstrip())


def _remove(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    if args.has_flag("-n --dry-run --cached") or not args.operands:
        return
    yield GuardedChange(call.look_up("tracked", specs=[word.text for word in args.operands]), LEAVE_ALONE)


def _move(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    if args.has_flag("-n --dry-run") or len(args.operands) < 2:
        return
    known = [call.to_absolute(word.text) if word.is_known else "" for word in args.operands]
    sources, target = [source for source in known[:-1] if source], known[-1]
    paths = [place for source in sources for place in call.meet_existing(source)]
    for source in sources if target else ():
        for landing in (target, f"{target}/{basename(source)}"):
            paths += call.facts.find_guarded(PathSet(PathSetKind.PATH, landing))
    yield GuardedChange(tuple(dict.fromkeys(paths)), LEAVE_ALONE)


def _work_tree(call: GitCall, args: Arguments) -> Iterator[GuardedChange]:
    """Yield what adding, moving or removing a work tree, a submodule or a clone does to guarded paths."""
    operands = args.operands if call.name == "clone" else args.operands[1:]
    verb = "clone" if call.name == "clone" else args.operands[0].text if args.operands else ""
    places = [call.to_absolute(word.text) for word in operands if word.is_known]
    paths: tuple[str, ...] = ()
    if verb in ("remove", "move", "deinit"):
        paths = tuple(path for place in places[:1] for path in call.meet_existing(place))
    created = {"add": places[1:2] if call.name == "submodule" else places[:1], "move": places[1:2]}
    for place in created.get(verb, places[1:2] if verb == "clone" else []):
        # Into the top itself git does not clone, because it is not empty.
        if place != call.top and not is_within(call.top, place):
            paths += call.meet_tree(place)
    yield GuardedChange(paths, LEAVE_ALONE)


_HANDLERS: dict[str, Callable[[GitCall, Arguments], Iterator[GuardedChange]]] = {
    "checkout": _checkout,
    "checkout-index": _checkout_index,
    "cherry-pick": _pick_commits,
    "clean": _clean,
    "clone": _work_tree,
    "merge": _merge,
    "mv": _move,
    "pull": _pull,
    "read-tree": _read_tree,
    "rebase": _rebase,
    "reset": _reset,
    "restore": _restore,
    "revert": _pick_commits,
    "rm": _remove,
    "sparse-checkout": _sparse_checkout,
    "stash": _stash,
    "submodule": _work_tree,
    "switch": _switch,
    "worktree": _work_tree,
}

_SEQUENCES = word_set("cherry-pick revert merge rebase am")
