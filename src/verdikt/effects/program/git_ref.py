"""git: what becomes of branches, tags and other refs, and of the history that they lead to."""

from collections.abc import Iterator

from verdikt.effects.arguments import Arguments, word_set
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_SHARED = word_set("main master trunk develop development production staging stable release")


def move_branch(call: Invocation, given: list[Word]) -> Iterator[Effect]:
    """Classify the move of a branch; a shared branch loses the commits it pointed to."""
    name = given[0].text.removeprefix("refs/heads/") if given else ""
    over = len(given) > 1 and name in _SHARED
    yield call.make_effect("git.branch.delete" if over else "git.reset", (Target(name, "ref"),) if name else ())


def branch(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Branches: made, renamed, deleted."""
    refs = tuple(Target(word.display_text, "ref") for word in args.operands)
    unknown = any(not word.is_known for word in args.operands)
    if args.has_flag("-D") or (args.has_flag("-d --delete") and args.has_flag("-f --force")):
        if args.has_flag("-r --remotes"):
            yield call.make_effect("git.write", refs)
        else:
            yield call.make_effect("git.branch.delete", refs, possible=unknown)
    elif args.has_flag("-d --delete") or args.has_flag("-m --move -c --copy"):
        yield call.make_effect("git.write", refs)
    elif args.has_flag("-M -C") or (args.has_flag("-f --force") and refs):
        # `-M main` gives this branch a name; what had the name before is lost only where two are told.
        over = len(refs) > 1 and refs[-1 if args.has_flag("-M -C") else 0].text in _SHARED
        yield call.make_effect(
            "git.branch.delete" if over else "git.reset", refs[-1:] if over and args.has_flag("-M -C") else refs[:1]
        )
    elif args.operands and not args.has_flag(
        "-l --list --contains --merged --no-merged -a -r --all --remotes --show-current"
    ):
        yield call.make_effect("git.write", refs)
    else:
        yield call.make_effect("git.read")


def tag(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Tags: made, moved, deleted."""
    refs = tuple(Target(word.display_text, "ref") for word in args.operands)
    if args.has_flag("-d --delete"):
        yield call.make_effect("git.tag.delete", refs)
    elif args.operands and not args.has_flag("-l --list -v --verify"):
        yield call.make_effect("git.reset" if args.has_flag("-f --force") else "git.write", refs)
    else:
        yield call.make_effect("git.read")


def symbolic(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Return what `HEAD` and its like stand for."""
    refs = tuple(Target(word.display_text, "ref") for word in args.operands[:1])
    what = "git.ref.delete" if args.has_flag("-d --delete") else "git.reset" if len(args.operands) > 1 else "git.read"
    yield call.make_effect(what, refs)


def reflog(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Classify work on the record of earlier refs, without which dropped commits are lost."""
    if args.operands and args.operands[0].text in ("expire", "delete") and not args.has_flag("-n --dry-run"):
        yield call.make_effect("git.history.lose", note="removes the record by which lost commits can be found")
    else:
        yield call.make_effect("git.read")


def collect(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Housekeeping, which is a loss where it waits for nothing."""
    prune = args.get_value("--prune")
    if (
        prune is not None
        and prune.text not in ("never", "false")
        and "week" not in prune.text
        and "month" not in prune.text
    ):
        yield call.make_effect("git.history.lose", note="deletes unreachable commits at once")
    else:
        yield call.make_effect("git.write")


def prune(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Classify the removal of objects that no ref leads to."""
    if args.has_flag("-n --dry-run"):
        yield call.make_effect("git.read")
    else:
        expire = args.get_value("--expire")
        at_once = expire is not None and expire.text in ("now", "all")
        yield call.make_effect("git.history.lose", possible=not at_once, note="deletes unreachable commits")


def rebase(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Yield the effects of a rebase: rewritten commits, and the commands between them."""
    for command in args.get_values("-x --exec"):
        yield from call.classify_shell(command.text)
    yield call.make_effect("git.history.rewrite", tuple(Target(word.display_text, "ref") for word in args.operands))


def rewrite(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Yield the effects of rewriting a whole history."""
    for command in args.get_values(
        "--tree-filter --index-filter --env-filter --msg-filter --commit-filter --setup --parent-filter "
        "--tag-name-filter"
    ):
        yield from call.classify_shell(command.text)
    if not args.has_flag("--dry-run --analyze"):
        yield call.make_effect("git.history.lose", note="rewrites the whole history")


def ref(call: Invocation, args: Arguments) -> Iterator[Effect]:
    """Classify a ref that is set or deleted by hand."""
    if args.has_flag("-d --delete --stdin"):
        yield call.make_effect("git.ref.delete", tuple(Target(word.display_text, "ref") for word in args.operands[:1]))
    else:
        yield from move_branch(call, args.operands)
