"""git: what becomes of branches, tags and other refs, and of the history that they lead to."""

from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_SHARED = word_set("main master trunk develop development production staging stable release")


def move_branch(call: Invocation, given: list[Word]) -> Iterator[Effect]:
    """Classify the move of a branch; a shared branch loses the commits it pointed to."""
    name = given[0].text.removeprefix("refs/heads/") if given else ""
    over = len(given) > 1 and name in _SHARED
    yield call.make_effect("git.branch.delete" if over else "git.reset", (Target(name, "ref"),) if name else ())


def classify_branch(call: Invocation) -> Iterator[Effect]:
    """Branches: made, renamed, deleted."""
    args = call.args
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


def classify_rebase(call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a rebase: rewritten commits, and the commands between them."""
    args = call.args
    for command in args.get_values("-x --exec"):
        yield from call.classify_shell(command.text)
    yield call.make_effect("git.history.rewrite", tuple(Target(word.display_text, "ref") for word in args.operands))


def classify_rewrite(call: Invocation) -> Iterator[Effect]:
    """Yield the effects of rewriting a whole history."""
    args = call.args
    for command in args.get_values(
        "--tree-filter --index-filter --env-filter --msg-filter --commit-filter --setup --parent-filter "
        "--tag-name-filter"
    ):
        yield from call.classify_shell(command.text)
    if not args.has_flag("--dry-run --analyze"):
        yield call.make_effect("git.history.lose", note="rewrites the whole history")


def classify_ref(call: Invocation) -> Iterator[Effect]:
    """Classify a ref that is set or deleted by hand."""
    args = call.args
    if args.has_flag("-d --delete --stdin"):
        yield call.make_effect("git.ref.delete", tuple(Target(word.display_text, "ref") for word in args.operands[:1]))
    else:
        yield from move_branch(call, args.operands)
