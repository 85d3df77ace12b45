"""git: what it reads, adds, rewrites, throws away and publishes."""

from collections.abc import Iterator

from verdikt.effects.execution_context import find_working_directory
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.git_ref import move_branch
from verdikt.effects.program.git_setting import setting, skip_hooks, surroundings
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_program
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Command, Word

_IN_PLACE = ("git.discard", "git.clean")
"""What happens to the files of one working tree, and to no other."""


def classify_globals(call: Invocation) -> Iterator[Effect]:
    """Classify variables and options before the command: settings, the directory, where git's programs lie."""
    if call.command.assignments:
        yield from surroundings(call)
    for flag, value in call.args.flags:
        if value is None:
            continue
        if flag == "-c":
            yield from setting(call, value.text)
        elif flag == "-C":
            call.command = _inside(call, value)
        elif flag == "--exec-path" and value.text:
            yield call.make_effect("git.config.exec", note=f"runs git's programs from {value.text}")


def adjust_throwaway_copy(call: Invocation, effect: Effect) -> Effect:
    """Return a plain write where changes in a throwaway copy are discarded, which loses nothing."""
    is_passing = effect.what.startswith(_IN_PLACE) and _here(call) is Zone.TEMP
    return call.make_effect("git.write") if is_passing else effect


def _here(call: Invocation) -> Zone:
    """Where the command runs, as far as that is told."""
    place = call.command.cwd
    return call.resolve_path(place if place is not None and not place.is_known else Word(".")).zone


def classify_alias(call: Invocation) -> Iterator[Effect]:
    """Classify a command that git does not have: an alias of the user's."""
    operands = call.args.operands
    if not operands:
        return
    if not operands[0].is_known:
        yield call.make_effect("git.write", possible=True)
        return
    name = operands[0].text
    aliases = call.facts.git(find_working_directory(call)).aliases or {}
    meaning = aliases.get(name, "")
    program = find_program("git")
    if meaning.startswith("!"):
        yield from call.classify_shell(meaning[1:])
    elif meaning and program is not None and meaning.split()[0] in (program.commands or {}):
        argv = call.command.argv
        start = next(index for index, word in enumerate(argv) if word is operands[0])
        words = (argv[0], *map(Word, meaning.split()), *argv[start + 1 :])
        inner = Invocation(call.command._replace(argv=words), call.resolver, call.commands, call.shell_classifier)
        yield from evaluate_program(program, inner)
    else:
        yield call.make_effect("unknown.program", note=f"git {name}")


def _inside(call: Invocation, directory: Word) -> Command:
    """Return the same command as if run in the directory that `-C` names."""
    if not directory.is_known:
        return call.command._replace(cwd=directory)
    path = call.resolver.to_absolute(directory.text, call.command.cwd)
    return call.command._replace(cwd=Word(path or directory.text))


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


def classify_checkout(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-b --orphan -t --track --detach -d -p --patch") and not args.has_flag("-f --force"):
        yield call.make_effect("git.write")
        return
    if args.has_flag("-f --force"):
        yield from _discard(call, [Word(".")], "throws away every uncommitted change")
        return
    if (branch := args.get_value("-B")) is not None:
        yield from move_branch(call, [branch, *args.operands])
        return
    paths = _after_dashes(call)
    if paths is not None:
        yield from _discard(call, paths)
        return
    if args.has_flag("--pathspec-from-file"):
        yield from _discard(call, [Word(".")], "the paths stand in a file")
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


def classify_restore(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if (args.has_flag("-S --staged") and not args.has_flag("-W --worktree")) or args.has_flag("-p --patch"):
        yield call.make_effect("git.write")
    elif args.operands:
        yield from _discard(call, args.operands)
    elif args.has_flag("--pathspec-from-file"):
        yield from _discard(call, [Word(".")], "the paths stand in a file")


def classify_reset(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("--hard --merge"):
        target = args.operands[0].display_text if args.operands else "HEAD"
        root = call.resolve_path(Word("."))
        note = f"and moves the branch to {target}" if target != "HEAD" else ""
        yield call.make_effect("git.discard.all", (root,), note=note)
    else:
        yield call.make_effect("git.reset", tuple(Target(word.display_text, "ref") for word in args.operands))


def classify_clean(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-n --dry-run"):
        yield call.make_effect("git.read")
    elif args.has_flag("-f --force -i --interactive") or "clean.requireforce" in call.full_text.lower():
        targets = tuple(call.resolve_path(word, with_state=True) for word in args.operands or [Word(".")])
        lost = all(target.zone in (Zone.TEMP,) or target.state == "ignored" for target in targets)
        yield call.make_effect("git.clean", targets, recoverable=lost, possible=args.has_flag("-i --interactive"))


def classify_remove(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if _is_in_force(call, "--dry-run", "-n"):
        return
    if _is_in_force(call, "--cached"):
        yield call.make_effect("git.write")
        return
    what = "fs.delete.tree" if args.has_flag("-r") else "fs.delete"
    is_forced = args.has_flag("-f --force")
    if not args.operands and is_forced and args.has_flag("--pathspec-from-file"):
        note = "the paths stand in a file"
        yield call.make_effect(
            "fs.delete", (call.resolve_path(Word(".")),), recoverable=False, possible=True, note=note
        )
    # Without -f git itself refuses to delete what it could not bring back.
    yield from call.make_effects(what, args.operands, recoverable=None if is_forced else True)


def _is_in_force(call: Invocation, name: str, letter: str = "") -> bool:
    """Whether an option is there, and no later `--no-…` takes it back."""
    state = False
    for flag, _ in call.args.flags:
        if flag in (name, letter):
            state = True
        elif flag == f"--no-{name[2:]}":
            state = False
    return state


def classify_commit(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-n --no-verify"):
        yield skip_hooks(call, "skips the commit hooks")
    if (file := args.get_value("-F --file")) is not None and file.text != "-":
        yield from call.make_effects("fs.read", [file])
    yield call.make_effect("git.amend" if args.has_flag("--amend") else "git.write")


def classify_merge(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("--no-verify"):
        yield skip_hooks(call, "skips the merge hooks")
    yield call.make_effect("git.write")


def classify_switch(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-f --force --discard-changes"):
        yield from _discard(call, [Word(".")], "throws away every uncommitted change")
    elif (branch := args.get_value("-C --force-create")) is not None:
        yield from move_branch(call, [branch, *args.operands])
    else:
        yield call.make_effect("git.write")


def classify_index(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-f --force --reset -u") and (call.subcommand == "checkout-index" or args.has_flag("--reset+-u")):
        yield from _discard(call, args.operands or [Word(".")])
    else:
        yield call.make_effect("git.write")


def classify_runs(call: Invocation) -> Iterator[Effect]:
    """`bisect run`, `difftool -x`, `grep -O`: a command given as an argument."""
    args = call.args
    if call.subcommand == "bisect" and args.operands and args.operands[0].text == "run":
        yield from call.classify_shell(" ".join(word.raw or word.text for word in args.operands[1:]))
    for command in args.get_values("-x --extcmd"):
        yield from call.classify_shell(command.text)
    yield call.make_effect("git.read" if call.subcommand == "difftool" else "git.write")


def classify_serve(call: Invocation) -> Iterator[Effect]:
    args = call.args
    yield call.make_effect("net.listen", note="serves repositories")
    yield from call.classify_served_directories(args.get_values("--base-path"))
