"""git: what it reads, adds, rewrites, throws away and publishes."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from verdikt.effects.execution_context import find_working_directory
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.git_ref import (
    branch,
    collect,
    move_branch,
    prune,
    rebase,
    ref,
    reflog,
    rewrite,
    symbolic,
    tag,
)
from verdikt.effects.program.git_remote import fetch, push, remote, submodule
from verdikt.effects.program.git_setting import config, setting, skip_hooks, surroundings
from verdikt.effects.program.table import Arguments, Program, word_set
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Command, Word

Part = Callable[[Invocation, Arguments], Iterator[Effect]]

_GLOBAL = word_set("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source")

_IN_PLACE = ("git.discard", "git.clean")
"""What happens to the files of one working tree, and to no other."""

_READ = word_set(
    "status log show diff blame annotate grep ls-files ls-tree rev-parse describe shortlog cat-file name-rev "
    "merge-base rev-list for-each-ref count-objects fsck whatchanged cherry range-diff show-ref show-branch var "
    "version help check-ignore check-attr check-mailmap check-ref-format diff-tree diff-index diff-files "
    "verify-commit verify-tag verify-pack patch-id get-tar-commit-id hash-object merge-tree stripspace "
    "interpret-trailers column difftool bugreport diagnose archive bundle format-patch cherry ls-remote gitk gui"
)
_WRITE = word_set(
    "add stage commit merge revert cherry-pick am apply tag switch notes mv init init-db clone fetch pull bisect "
    "mergetool rerere write-tree commit-tree mktag mktree pack-objects pack-refs repack update-index read-tree "
    "unpack-objects index-pack sparse-checkout maintenance backfill stash citool credential lfs flow subtree svn "
    "quiltimport fast-import fast-export request-pull send-email imap-send daemon instaweb submodule worktree branch "
    "checkout restore reset clean rm push rebase filter-branch filter-repo reflog gc prune prune-packed update-ref "
    "symbolic-ref config remote replace checkout-index difftool hook shell upload-pack receive-pack fetch-pack "
    "send-pack http-push"
)


def _git(call: Invocation) -> Iterator[Effect]:
    argv = call.command.argv[1:]
    index = 0
    if call.command.assignments:
        yield from surroundings(call)
    while index < len(argv) and argv[index].text.startswith("-"):
        flag, equals, value = argv[index].text.partition("=")
        following = argv[index + 1] if index + 1 < len(argv) else Word("")
        if flag == "-c":
            yield from setting(call, following.text)
        elif flag == "-C":
            call.command = _inside(call, following)
        elif flag == "--exec-path" and equals and value:
            yield call.make_effect("git.config.exec", note=f"runs git's programs from {value}")
        index += 2 if flag in _GLOBAL and not equals else 1
    if index >= len(argv):
        return
    sub, rest = argv[index], argv[index + 1 :]
    if not sub.is_known:
        yield call.make_effect("git.write", possible=True)
        return
    for effect in _subcommand(call, sub.text, rest, expand=True):
        # Discarding changes in a throwaway copy loses nothing.
        passing = effect.what.startswith(_IN_PLACE) and _here(call) is Zone.TEMP
        yield call.make_effect("git.write") if passing else effect


def _here(call: Invocation) -> Zone:
    """Where the command runs, as far as that is told."""
    place = call.command.cwd
    return call.resolve_path(place if place is not None and not place.is_known else Word(".")).zone


def _subcommand(call: Invocation, name: str, rest: tuple[Word, ...], *, expand: bool) -> Iterator[Effect]:
    call.subcommand = name
    part = _PARTS.get(name)
    if part is not None:
        values = _VALUES.get(name, "")
        yield from part(call, Arguments(rest, word_set(values)))
    elif name in _READ:
        yield call.make_effect("git.read")
        if name == "diff" and any(word.text == "--no-index" for word in rest):
            yield from call.make_effects("fs.read", Arguments(rest).operands)
    elif name in _WRITE:
        yield call.make_effect("git.write")
    elif expand:
        yield from _alias(call, name, rest)
    else:
        yield call.make_effect("unknown.program", note=f"git {name}")


def _alias(call: Invocation, name: str, rest: tuple[Word, ...]) -> Iterator[Effect]:
    aliases = call.facts.git(find_working_directory(call)).aliases or {}
    meaning = aliases.get(name, "")
    if meaning.startswith("!"):
        yield from call.classify_shell(meaning[1:])
    elif meaning:
        first, *more = meaning.split()
        yield from _subcommand(call, first, (*(Word(word) for word in more), *rest), expand=False)
    else:
        yield call.make_effect("unknown.program", note=f"git {name}")


def _inside(call: Invocation, directory: Word) -> Command:
    """Return the same command as if run in the directory that `-C` names."""
    if not directory.is_known:
        return replace(call.command, cwd=directory)
    path = call.resolver.to_absolute(directory.text, call.command.cwd)
    return replace(call.command, cwd=Word(path or directory.text))


def _discard(call: Invocation, targets: list[Word], note: str = "") -> Iterator[Effect]:
    """Uncommitted changes to these paths are lost; nothing is, where git knows the path to be clean."""
    found = [call.resolve_path(word, with_state=True) for word in targets]
    lost = tuple(target for target in found if not target.path or _has_changes(call, target, forced=bool(note)))
    if lost:
        whole = any(word.glob or word.text.rstrip("/") in (".", "..", ":", "*", "") for word in targets)
        yield call.make_effect("git.discard.all" if whole else "git.discard", lost, note=note)
    if len(lost) < len(found):
        yield call.make_effect("git.write")


def _has_changes(call: Invocation, target: Target, *, forced: bool) -> bool:
    """Return whether a path may hold uncommitted changes of tracked files, or of any file when git is forced."""
    if target.state in ("tracked", "ignored"):
        return False
    if target.state == "modified" and not forced:
        return not call.facts.is_changed_by_session_alone(target.path)
    # Forced, git also overwrites untracked files that are in its way.
    return forced or not call.facts.path(target.path).only_untracked


def _checkout(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("-b --orphan -t --track --detach -d -p --patch") and not args.has_flag("-f --force"):
        yield call.make_effect("git.write")
        return
    if args.has_flag("-f --force"):
        yield from _discard(call, [Word(".")], "throws away every uncommitted change")
        return
    if args.has_flag("-B"):
        yield from move_branch(call, args.operands)
        return
    paths = _after_dashes(call)
    if paths is not None:
        yield from _discard(call, paths)
        return
    if args.has_flag("--ours --theirs -m --conflict"):
        yield call.make_effect("git.write")
        return
    operands = args.operands
    if len(operands) > 1:
        yield from _discard(call, operands[1:])
    elif operands and _names_a_path(call, operands[0]):
        yield from _discard(call, operands)
    else:
        yield call.make_effect("git.write")


def _after_dashes(call: Invocation) -> list[Word] | None:
    texts = [word.text for word in call.command.argv]
    if "--" not in texts:
        return None
    return list(call.command.argv[texts.index("--") + 1 :])


def _names_a_path(call: Invocation, word: Word) -> bool:
    """Whether a lone operand of `checkout` is a path rather than a branch."""
    text = word.text
    if text in (".", "..", "*", ":/") or text.startswith(("./", "../", "/")) or text.endswith("/") or word.glob:
        return True
    if not word.is_known or "." not in text:
        return False
    path = call.resolver.to_absolute(text, call.command.cwd)
    return bool(path) and call.facts.path(path, git=False).exists


def _classify_foreign_files(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Files that git keeps although they are none of its own."""
    yield call.make_effect("git.read")
    yield from call.make_effects("fs.read", args.operands)


def _restore(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if (args.has_flag("-S --staged") and not args.has_flag("-W --worktree")) or args.has_flag("-p --patch"):
        yield call.make_effect("git.write")
    else:
        yield from _discard(call, args.operands or [Word(".")])


def _reset(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("--hard --merge"):
        target = args.operands[0].display_text if args.operands else "HEAD"
        root = call.resolve_path(Word("."))
        note = f"and moves the branch to {target}" if target != "HEAD" else ""
        yield call.make_effect("git.discard.all", (root,), note=note)
    else:
        yield call.make_effect("git.reset", tuple(Target(word.display_text, "ref") for word in args.operands))


def _clean(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("-n --dry-run"):
        yield call.make_effect("git.read")
    elif args.has_flag("-f --force -i --interactive") or "clean.requireforce" in call.command_line.lower():
        targets = tuple(call.resolve_path(word, with_state=True) for word in args.operands or [Word(".")])
        lost = all(target.zone in (Zone.TEMP,) or target.state == "ignored" for target in targets)
        yield call.make_effect("git.clean", targets, recoverable=lost, possible=args.has_flag("-i --interactive"))


def _stash(call: Invocation, args: Arguments) -> Iterator[Effect]:
    verb = args.operands[0].text if args.operands else "push"
    if verb == "clear":
        yield call.make_effect("git.stash.drop.all")
    elif verb == "drop":
        yield call.make_effect("git.stash.drop", tuple(Target(word.display_text, "ref") for word in args.operands[1:]))
    elif verb in ("list", "show"):
        yield call.make_effect("git.read")
    else:
        yield call.make_effect("git.write")


def _worktree(call: Invocation, args: Arguments) -> Iterator[Effect]:
    verb = args.operands[0].text if args.operands else ""
    if verb == "remove" and args.has_flag("-f --force"):
        # The commits stay in the repository; of files that are not meant to stay nothing is missed.
        kept = [word for word in args.operands[1:] if call.resolve_path(word).zone is not Zone.TEMP]
        yield from call.make_effects("git.worktree.remove", kept) if kept else [call.make_effect("git.write")]
    else:
        yield call.make_effect("git.read" if verb in ("list", "") else "git.write")


def _remove(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("-n --dry-run"):
        return
    if args.has_flag("--cached"):
        yield call.make_effect("git.write")
        return
    what = "fs.delete.tree" if args.has_flag("-r") else "fs.delete"
    # Without -f git itself refuses to delete what it could not bring back.
    yield from call.make_effects(what, args.operands, recoverable=None if args.has_flag("-f --force") else True)


def _commit(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("-n --no-verify"):
        yield _skip_hooks(call, "skips the commit hooks")
    if (file := args.get_value("-F --file")) is not None and file.text != "-":
        yield from call.make_effects("fs.read", [file])
    yield call.make_effect("git.amend" if args.has_flag("--amend") else "git.write")


def _add(call: Invocation, args: Arguments) -> Iterator[Effect]:
    yield call.make_effect("git.write")
    if args.has_flag("-f --force"):
        secret = tuple(t for t in map(call.resolve_path, args.operands) if t.zone is Zone.SECRET)
        if secret:
            yield call.make_effect("cred.write", secret, note="puts a secret under version control")


def _merge(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("--no-verify"):
        yield _skip_hooks(call, "skips the merge hooks")
    yield call.make_effect("git.write")


def _switch(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("-f --force --discard-changes"):
        yield from _discard(call, [Word(".")], "throws away every uncommitted change")
    else:
        yield call.make_effect("git.reset" if args.has_flag("-C --force-create") else "git.write")


def _index(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.has_flag("-f --force --reset -u") and (call.subcommand == "checkout-index" or args.has_flag("--reset+-u")):
        yield from _discard(call, args.operands or [Word(".")])
    else:
        yield call.make_effect("git.write")


def _runs(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """`bisect run`, `difftool -x`, `grep -O`: a command given as an argument."""
    if call.subcommand == "bisect" and args.operands and args.operands[0].text == "run":
        yield from call.classify_shell(" ".join(word.raw or word.text for word in args.operands[1:]))
    for command in args.get_values("-x --extcmd"):
        yield from call.classify_shell(command.text)
    yield call.make_effect("git.read" if call.subcommand == "difftool" else "git.write")


def _serve(call: Invocation, args: Arguments) -> Iterator[Effect]:
    yield call.make_effect("net.listen", note="serves repositories")
    yield from call.classify_served_directories(args.get_values("--base-path"))


def _mail(call: Invocation, args: Arguments) -> Iterator[Effect]:
    yield call.make_effect("git.read" if args.has_flag("--dry-run") else "message.send")


def _archive(call: Invocation, args: Arguments) -> Iterator[Effect]:
    yield call.make_effect("git.read")
    if (output := args.get_value("-o --output")) is not None:
        yield from call.make_effects("fs.overwrite", [output])


def _bundle(call: Invocation, args: Arguments) -> Iterator[Effect]:
    yield call.make_effect("git.read")
    if args.operands and args.operands[0].text == "create":
        yield from call.make_effects("fs.overwrite", args.operands[1:2])


def _credential(call: Invocation, args: Arguments) -> Iterator[Effect]:
    if args.operands and args.operands[0].text in ("fill", "get"):
        yield call.make_effect("cred.read", (Target("git's stored credentials", "other"),))
    else:
        yield call.make_effect("git.write")


def _skip_hooks(call: Invocation, note: str) -> Effect:
    return skip_hooks(call, note)


# Settings and remotes have files of their own, which most commands need not load.


def _config(call: Invocation, args: Arguments) -> Iterator[Effect]:
    return config(call, args)


def _push(call: Invocation, args: Arguments) -> Iterator[Effect]:
    return push(call, args)


def _fetch(call: Invocation, args: Arguments) -> Iterator[Effect]:
    return fetch(call, args)


def _remote(call: Invocation, args: Arguments) -> Iterator[Effect]:
    return remote(call, args)


def _submodule(call: Invocation, args: Arguments) -> Iterator[Effect]:
    return submodule(call, args)


_PARTS: dict[str, Part] = {
    "add": _add, "stage": _add, "archive": _archive, "bisect": _runs, "branch": branch, "bundle": _bundle, "checkout": _checkout, "checkout-index": _index,
    "clean": _clean, "clone": _fetch, "commit": _commit, "config": _config, "credential": _credential, "credential-store": _credential, "daemon": _serve,
    "hash-object": _classify_foreign_files, "difftool": _runs, "fetch": _fetch, "filter-branch": rewrite, "filter-repo": rewrite, "gc": collect, "instaweb": _serve, "ls-remote": _fetch, "merge": _merge,
    "prune": prune, "pull": _fetch, "push": _push, "read-tree": _index, "rebase": rebase, "reflog": reflog, "remote": _remote, "reset": _reset, "restore": _restore,
    "rm": _remove, "send-email": _mail, "stash": _stash, "submodule": _submodule, "switch": _switch, "symbolic-ref": symbolic, "tag": tag, "update-ref": ref, "worktree": _worktree, "am": _merge,
}  # fmt: skip

_VALUES: dict[str, str] = {
    "checkout": "--conflict --pathspec-from-file",
    "restore": "-s --source --conflict --pathspec-from-file",
    "clean": "-e --exclude",
    "branch": "-u --set-upstream-to --sort --format --points-at",
    "tag": "-m --message -F --file -u --local-user --sort --format --points-at --contains --merged",
    "push": "-o --push-option --repo --receive-pack --exec",
    "commit": "-m --message -F --file -C -c --author --date -t --template --fixup --squash --trailer",
    "merge": "-m -s -X --strategy --strategy-option",
    "rebase": "-x --exec --onto -s -X --strategy -C",
    "filter-branch": "--tree-filter --index-filter --env-filter --msg-filter --commit-filter --setup --parent-filter --tag-name-filter --subdirectory-filter -d --original",
    "update-ref": "-m",
    "prune": "--expire",
    "worktree": "-b -B --reason",
    "clone": "-b --branch -o --origin -c --config --depth -u --upload-pack --reference --separate-git-dir --template -j --jobs --filter --shallow-since",
    "fetch": "--depth --upload-pack -j --jobs -o --server-option --refmap --shallow-since",
    "pull": "--depth --upload-pack -s -X -j",
    "config": "-f --file --blob --type --default",
    "difftool": "-x --extcmd -t --tool",
    "archive": "-o --output --prefix --format --remote",
    "stash": "-m --message",
    "submodule": "-b --branch --depth --reference",
    "remote": "-t -m",
    "reset": "--pathspec-from-file",
    "daemon": "--base-path --port --listen --pid-file",
}

PROGRAMS: dict[str, Program] = {"git": Program(classify=_git)}
