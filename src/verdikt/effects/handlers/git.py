"""git: its directory, aliases, and what a push publishes, overwrites and deletes."""

from collections.abc import Iterator

from verdikt.effects.arguments import Arguments
from verdikt.effects.execution_context import find_preceding, find_working_directory
from verdikt.effects.git_configuration import (
    find_git_setting,
    find_git_settings,
    find_push_default,
    find_push_remote,
    find_work_tree,
    resolve_alias,
)
from verdikt.effects.git_refspecs import find_remote_branch, lists_deletions, reaches_other_branch
from verdikt.effects.handlers.git_remotes import adjust_remote, find_session_remote, is_scratch_remote
from verdikt.effects.handlers.git_settings import (
    classify_setting,
    classify_variables,
    skip_hooks,
)
from verdikt.effects.host import parse_host
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_program
from verdikt.effects.secret_sends import is_listed_host
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.world import GitFact
from verdikt.shell.command import Command, Word

_IN_PLACE_EFFECTS = ("git.discard", "git.clean")
"""What happens to the files of one working tree, and to no other."""


def classify_globals(call: Invocation) -> Iterator[Effect]:
    """Classify variables and options before the command: settings, the directory, where git's programs lie."""
    if call.command.assignments:
        yield from classify_variables(call)
    for flag, value in call.args.flags:
        if value is None:
            continue
        if flag == "-c":
            yield from classify_setting(call, value.text)
        elif flag == "-C":
            call.command = _change_directory(call, value)
        elif flag == "--exec-path" and value.text:
            yield call.make_effect("git.config.exec", note=f"runs git's programs from {value.text}")


def adjust_circumstances(call: Invocation, effect: Effect) -> Effect:
    """Return the effect as it is in this repository: a throwaway copy loses nothing, and a hook may be our check."""
    if effect.what == "git.hook.skip":
        return skip_hooks(call, effect.note)
    if effect.what.startswith(_IN_PLACE_EFFECTS) and _find_zone(call) is Zone.TEMP:
        return call.make_effect("git.write")
    if effect.what in ("git.remote", "git.remote.url"):
        return adjust_remote(call, effect)
    return effect


def _find_zone(call: Invocation) -> Zone:
    """Return where the work tree lies that the command is about."""
    tree, directory = find_work_tree(call), call.command.cwd
    if tree is None:
        # `.` is the directory of the command, unless that is not known.
        tree = directory if directory is not None and not directory.is_known else Word(".")
    return call.resolve_path(tree).zone


def classify_alias(call: Invocation) -> Iterator[Effect]:
    """Classify a command that git does not have: an alias of the user's."""
    operands = call.args.operands
    if not operands:
        return
    if not operands[0].is_known:
        yield call.make_effect("git.write", possible=True)
        return
    name = operands[0].text
    program = find_program("git")
    words, shell_text = resolve_alias(call, name, (program.commands if program is not None else None) or {})
    if shell_text:
        yield from call.classify_shell(shell_text)
    elif words and program is not None:
        argv = call.command.argv
        start = next(index for index, word in enumerate(argv) if word is operands[0])
        yield from evaluate_program(program, call.make_inner_call((argv[0], *words, *argv[start + 1 :])))
    else:
        yield call.make_effect("unknown.program", note=f"git {name}")


def _change_directory(call: Invocation, directory: Word) -> Command:
    """Return the same command as if run in the directory that `-C` names."""
    if not directory.is_known:
        return call.command._replace(cwd=directory)
    path = call.resolver.to_absolute(directory.text, call.command.cwd)
    return call.command._replace(cwd=Word(path or directory.text))


def classify_clone_settings(call: Invocation) -> Iterator[Effect]:
    """Yield what the settings of a new clone make git run."""
    for word in call.args.get_values("-c --config"):
        yield from classify_setting(call, word.text)


def classify_push(call: Invocation) -> Iterator[Effect]:
    """Yield what a push publishes, overwrites and deletes, and whether it goes to an unknown remote."""
    args = call.args
    if args.has_flag("-n --dry-run"):
        yield call.make_effect("git.read")
        return
    # Looked up for the record, too: an approval of this push holds for the repository as it is.
    repository = call.facts.git(find_working_directory(call))
    if args.has_flag("--no-verify"):
        yield skip_hooks(call, "skips the pre-push hook")
    remote, specs = args.operands[:1], args.operands[1:]
    name = remote[0].text if remote else find_push_remote(call, repository)
    specs = specs or [Word(spec) for spec in find_git_settings(call, f"remote.{name}.push")]
    prunes = args.has_flag("--prune")
    prunes_all = prunes and (args.has_flag("--all --branches") or any("*" in spec.text for spec in specs))
    mirrors = args.has_flag("--mirror") or find_git_setting(call, f"remote.{name}.mirror") == "true"
    if mirrors or prunes_all:
        is_scratch = is_scratch_remote(call, name)
        yield call.make_effect("git.push" if is_scratch else "git.push.mirror", _to_hosts(remote))
        return
    if prunes:
        yield call.make_effect(
            "git.push.delete", _to_hosts(remote), possible=True, note="deletes branches that are not here"
        )
    yield from _classify_refspecs(call, args, specs, repository, name)
    if remote and _is_just_added(call, remote[0].text) and not is_scratch_remote(call, remote[0].text):
        yield call.make_effect("net.send.file", _to_hosts(remote), note="pushes to an address that was added only now")
    if remote and ("://" in remote[0].text or "@" in remote[0].text or remote[0].text.startswith("ext::")):
        yield call.make_effect("net.send.file", _to_hosts(remote), note="pushes to an address that is no named remote")


def _is_just_added(call: Invocation, remote: str) -> bool:
    """Whether a remote was added shortly before; the first one of a new repository is nothing special."""
    address = find_session_remote(call, remote) or ""
    if "://" in address and not is_listed_host(parse_host(address)) and not is_scratch_remote(call, remote):
        return True
    if remote in ("origin", "upstream") or len(call.commands) < 2:
        return False
    return any(
        command.name == "git" and [word.text for word in command.argv[1:4]] == ["remote", "add", remote]
        for command in find_preceding(call.command, call.commands)
    )


def _classify_refspecs(
    call: Invocation, args: Arguments, specs: list[Word], repository: GitFact, remote: str
) -> Iterator[Effect]:
    """Yield what a push does to each branch that it names, or to the current one."""
    leased = args.has_flag("--force-with-lease --force-if-includes")
    forced = args.has_flag("-f --force")  # which also takes away the lease
    plain = "git.push.lease" if leased else "git.push"
    branch = repository.branch
    for spec in specs:
        branches = find_remote_branch(spec.text)
        text, target = spec.text, (Target("everything" if branches == "*" else branches, "ref"),)
        if args.has_flag("-d --delete") or (text.startswith((":", "+:")) and len(text) > 1):
            yield call.make_effect("git.push.delete", target, possible=not spec.is_known)
        elif (spec.glob or not spec.is_known) and lists_deletions(call):
            yield call.make_effect("git.push.delete", (Target("everything", "ref"),), note="branches that are listed")
        elif forced or text.startswith("+"):
            is_scratch = is_scratch_remote(call, remote)
            yield call.make_effect("git.push" if is_scratch else "git.push.force", target, possible=not spec.is_known)
        elif reaches_other_branch(text, branches, branch) and not is_scratch_remote(call, remote):
            yield call.make_effect("git.push.shared", target)
        else:
            yield call.make_effect(plain, target)
    if specs:
        return
    name = "the current branch"
    destination, matches_all = find_push_default(call, repository)
    if destination not in ("", branch) and not is_scratch_remote(call, remote):
        plain, name = "git.push.shared", destination
    if forced:
        everything = matches_all or args.has_flag("--all --tags --branches")
        branch = destination or branch
        name = "everything" if everything else branch or name
    yield call.make_effect("git.push.force" if forced else plain, (Target(name, "ref"),))


def _to_hosts(remote: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "host") for word in remote)
