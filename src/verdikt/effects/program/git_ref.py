"""git: what becomes of branches, tags and other refs, and of the history that they lead to."""

from collections.abc import Iterator

from verdikt.effects.argument import Arguments, words
from verdikt.effects.call import Call
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_SHARED = words("main master trunk develop development production staging stable release")


def moved(call: Call, given: list[Word]) -> Iterator[Effect]:
    """A branch that is put elsewhere; one that others work with is as good as gone from where it was."""
    name = given[0].text.removeprefix("refs/heads/") if given else ""
    over = len(given) > 1 and name in _SHARED
    yield call.effect("git.branch.delete" if over else "git.reset", (Target(name, "ref"),) if name else ())


def branch(call: Call, args: Arguments) -> Iterator[Effect]:
    """Branches: made, renamed, deleted."""
    refs = tuple(Target(word.shown, "ref") for word in args.operands)
    unknown = any(not word.known for word in args.operands)
    if args.has("-D") or (args.has("-d --delete") and args.has("-f --force")):
        if args.has("-r --remotes"):
            yield call.effect("git.write", refs)
        else:
            yield call.effect("git.branch.delete", refs, possible=unknown)
    elif args.has("-d --delete") or args.has("-m --move -c --copy"):
        yield call.effect("git.write", refs)
    elif args.has("-M -C") or (args.has("-f --force") and refs):
        # `-M main` gives this branch a name; what had the name before is lost only where two are told.
        over = len(refs) > 1 and refs[-1 if args.has("-M -C") else 0].text in _SHARED
        yield call.effect(
            "git.branch.delete" if over else "git.reset", refs[-1:] if over and args.has("-M -C") else refs[:1]
        )
    elif args.operands and not args.has(
        "-l --list --contains --merged --no-merged -a -r --all --remotes --show-current"
    ):
        yield call.effect("git.write", refs)
    else:
        yield call.effect("git.read")


def tag(call: Call, args: Arguments) -> Iterator[Effect]:
    """Tags: made, moved, deleted."""
    refs = tuple(Target(word.shown, "ref") for word in args.operands)
    if args.has("-d --delete"):
        yield call.effect("git.tag.delete", refs)
    elif args.operands and not args.has("-l --list -v --verify"):
        yield call.effect("git.reset" if args.has("-f --force") else "git.write", refs)
    else:
        yield call.effect("git.read")


def symbolic(call: Call, args: Arguments) -> Iterator[Effect]:
    """What `HEAD` and its like stand for."""
    refs = tuple(Target(word.shown, "ref") for word in args.operands[:1])
    what = "git.ref.delete" if args.has("-d --delete") else "git.reset" if len(args.operands) > 1 else "git.read"
    yield call.effect(what, refs)


def reflog(call: Call, args: Arguments) -> Iterator[Effect]:
    """The record of where refs were, without which what they left is lost."""
    if args.operands and args.operands[0].text in ("expire", "delete") and not args.has("-n --dry-run"):
        yield call.effect("git.history.lose", note="removes the record by which lost commits can be found")
    else:
        yield call.effect("git.read")


def collect(call: Call, args: Arguments) -> Iterator[Effect]:
    """Housekeeping, which is a loss where it waits for nothing."""
    prune = args.value("--prune")
    if (
        prune is not None
        and prune.text not in ("never", "false")
        and "week" not in prune.text
        and "month" not in prune.text
    ):
        yield call.effect("git.history.lose", note="deletes unreachable commits at once")
    else:
        yield call.effect("git.write")


def prune(call: Call, args: Arguments) -> Iterator[Effect]:
    """What no ref leads to is thrown away."""
    if args.has("-n --dry-run"):
        yield call.effect("git.read")
    else:
        expire = args.value("--expire")
        at_once = expire is not None and expire.text in ("now", "all")
        yield call.effect("git.history.lose", possible=not at_once, note="deletes unreachable commits")


def rebase(call: Call, args: Arguments) -> Iterator[Effect]:
    """Commits made anew, and commands between them."""
    for command in args.all("-x --exec"):
        yield from call.shell(command.text)
    yield call.effect("git.history.rewrite", tuple(Target(word.shown, "ref") for word in args.operands))


def rewrite(call: Call, args: Arguments) -> Iterator[Effect]:
    """A history written anew."""
    for command in args.all(
        "--tree-filter --index-filter --env-filter --msg-filter --commit-filter --setup --parent-filter --tag-name-filter"
    ):
        yield from call.shell(command.text)
    if not args.has("--dry-run --analyze"):
        yield call.effect("git.history.lose", note="rewrites the whole history")


def ref(call: Call, args: Arguments) -> Iterator[Effect]:
    """A ref set or deleted by hand."""
    if args.has("-d --delete --stdin"):
        yield call.effect("git.ref.delete", tuple(Target(word.shown, "ref") for word in args.operands[:1]))
    else:
        yield from moved(call, args.operands)
