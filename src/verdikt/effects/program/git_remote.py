"""What git sends and fetches: branches pushed, overwritten and deleted elsewhere, and where elsewhere is."""

from collections.abc import Iterator

from verdikt.effects.arguments import Arguments
from verdikt.effects.execution_context import find_preceding, find_working_directory
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.git_setting import setting, skip_hooks
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Word


def classify_push(call: Invocation) -> Iterator[Effect]:
    """Yield what a push publishes, overwrites and deletes, and whether it goes to an unknown remote."""
    args = call.args
    if args.has_flag("-n --dry-run"):
        yield call.make_effect("git.read")
        return
    if args.has_flag("--no-verify"):
        yield skip_hooks(call, "skips the pre-push hook")
    remote, specs = args.operands[:1], args.operands[1:]
    if args.has_flag("--mirror"):
        yield call.make_effect("git.push.mirror", _hosts(remote))
        return
    if args.has_flag("--prune"):
        yield call.make_effect(
            "git.push.delete", _hosts(remote), possible=True, note="deletes branches that are not here"
        )
        return
    yield from _refs(call, args, specs)
    if remote and _just_added(call, remote[0].text):
        yield call.make_effect("net.send.file", _hosts(remote), note="pushes to an address that was added only now")
    if remote and ("://" in remote[0].text or "@" in remote[0].text or remote[0].text.startswith("ext::")):
        yield call.make_effect("net.send.file", _hosts(remote), note="pushes to an address that is no named remote")
    if (command := args.get_value("--receive-pack --exec")) is not None:
        yield from call.classify_shell(command.text)


def _just_added(call: Invocation, remote: str) -> bool:
    """Whether a remote was added shortly before; the first one of a new repository is nothing special."""
    if remote in ("origin", "upstream") or len(call.commands) < 2:
        return False
    return any(
        command.name == "git" and [word.text for word in command.argv[1:4]] == ["remote", "add", remote]
        for command in find_preceding(call.command, call.commands)
    )


def _refs(call: Invocation, args: Arguments, specs: list[Word]) -> Iterator[Effect]:
    """Yield what a push does to each branch that it names, or to the current one."""
    leased = args.has_flag("--force-with-lease --force-if-includes")
    forced = args.has_flag("-f --force")  # which also takes away the lease
    plain = "git.push.lease" if leased else "git.push"
    for spec in specs:
        text, target = spec.text, (Target(_branch_of(spec.text), "ref"),)
        if args.has_flag("-d --delete") or (text.startswith((":", "+:")) and len(text) > 1):
            yield call.make_effect("git.push.delete", target, possible=not spec.is_known)
        elif forced or text.startswith("+"):
            yield call.make_effect("git.push.force", target, possible=not spec.is_known)
        else:
            yield call.make_effect(plain, target)
    if specs:
        return
    name = "the current branch"
    if forced:
        everything = args.has_flag("--all --tags --branches")
        name = "everything" if everything else call.facts.git(find_working_directory(call)).branch or name
    yield call.make_effect("git.push.force" if forced else plain, (Target(name, "ref"),))


def _hosts(remote: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "host") for word in remote)


def _branch_of(spec: str) -> str:
    """Return the branch at the remote that a refspec names."""
    name = spec.lstrip("+").rpartition(":")[2] or spec.lstrip("+:")
    if name.endswith("*"):
        return "everything"
    return name.removeprefix("refs/heads/").removeprefix("refs/tags/")


def classify_fetch(call: Invocation) -> Iterator[Effect]:
    """`clone`, `fetch`, `pull`, `ls-remote`: where from, and the programs that they may be told to run."""
    args = call.args
    for word in args.operands:
        if word.text.startswith("ext::"):
            yield from call.classify_shell(word.text[5:])
            yield call.make_effect("code.unknown", note="the ext:: transport runs a program")
            return
    for given in args.get_values("-c --config"):
        yield from setting(call, given.text)
    if (hooks := args.get_value("--template")) is not None and call.resolve_path(hooks).zone is Zone.TEMP:
        yield call.make_effect("code.unknown", (call.resolve_path(hooks),), note="hooks that come with a template")
    if (command := args.get_value("--upload-pack -u")) is not None and call.subcommand != "pull":
        yield from call.classify_shell(command.text)
    yield call.make_effect("git.fetch", tuple(Target(word.display_text, "host") for word in args.operands[:1]))
    if call.subcommand == "clone" and len(args.operands) > 1:
        yield from call.make_effects("fs.write", args.operands[1:2])


def classify_submodule(call: Invocation) -> Iterator[Effect]:
    """Repositories inside the repository."""
    args = call.args
    verb = args.operands[0].text if args.operands else "status"
    if verb == "foreach":
        yield from call.classify_shell(" ".join(word.text for word in args.operands[1:]))
    elif verb == "deinit" and args.has_flag("-f --force"):
        yield call.make_effect("git.discard", tuple(call.resolve_path(word) for word in args.operands[1:]))
    elif verb in ("status", "summary"):
        yield call.make_effect("git.read")
    else:
        yield call.make_effect("git.fetch" if verb in ("update", "add") else "git.write")
