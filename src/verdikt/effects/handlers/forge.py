"""Forges: requests to their interfaces by method and path, and aliases that are shell commands."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily

_MUTATION = compile_lazily(r"\bmutation\b")
_DELETE_MUTATION = compile_lazily(r"\bdelete[A-Z]")
_ADMIN_PATH = compile_lazily(
    r"/(?:collaborators|hooks|keys|deploy_keys|actions/secrets|actions/variables|variables|branches/|protected_branches"
    r"|rulesets|environments|permissions|visibility|memberships|members|invitations|transfer)|/merge$"
)
_MINOR_DELETE = compile_lazily(r"/(?:reactions|labels/|assignees|requested_reviewers|subscription|starred|comments/)")
_DISCUSSION_PATH = compile_lazily(r"/(?:issues|pulls|comments)/(?!.*/merge$)")
_REPLY_PATH = compile_lazily(r"/(?:comments|replies|reactions)/?$")


_MOVED_BRANCH = compile_lazily(r"/git/refs/heads/(.+)")


def classify_api(call: Invocation) -> Iterator[Effect]:
    """Classify `gh api PATH` by method and path; fields make a POST of it."""
    args = call.args
    fields = [word.text for word in args.get_values("-f --raw-field -F --field")]
    method_word = args.get_value("-X --method")
    has_body = bool(fields) or args.has_flag("--input")
    method = method_word.text.upper() if method_word is not None else "POST" if has_body else "GET"
    targets = tuple(Target(word.display_text, "resource") for word in args.operands[:1])
    path = args.operands[0].text if args.operands else ""
    if path.strip("/") == "graphql":
        yield _classify_graphql(call, " ".join(fields), targets)
    elif method in ("GET", "HEAD"):
        yield call.make_effect("repo.read")
    elif method == "DELETE":
        yield call.make_effect("repo.delete", targets, recoverable=True if _MINOR_DELETE.search(path) else None)
    elif (branch := _MOVED_BRANCH.search(path)) and "force=true" in fields:
        yield call.make_effect("git.push.force", (Target(branch[1], "ref"),))
    else:
        yield call.make_effect(_classify_change(method, path, fields), targets)


def _classify_graphql(call: Invocation, query: str, targets: tuple[Target, ...]) -> Effect:
    if not _MUTATION.search(query):
        # A query from a file or a variable is not known.
        return call.make_effect("repo.read", possible="\ufffc" in query or "@" in query)
    if _DELETE_MUTATION.search(query):
        return call.make_effect("repo.delete", targets, recoverable=True)
    return call.make_effect("repo.admin", targets)


def _classify_change(method: str, path: str, fields: list[str]) -> str:
    """Return the effect of a request that changes something; new words are what `gh pr edit` gives, too."""
    if method in ("PUT", "PATCH") or _ADMIN_PATH.search(path):
        if not _DISCUSSION_PATH.search(path):
            return "repo.admin"
        has_words_alone = bool(fields) and all(field.startswith(("title=", "body=")) for field in fields)
        return "repo.write" if has_words_alone else "repo.write.api"
    # As `gh issue comment` does; `@` takes a file's content.
    is_reply = _REPLY_PATH.search(path) and not any("@" in field for field in fields)
    return "repo.write" if is_reply else "repo.write.api"


def classify_alias(call: Invocation) -> Iterator[Effect]:
    """Classify `gh alias set NAME TEXT`: with `!` or `--shell` the text is a shell command."""
    is_shell = call.args.has_flag("-s --shell")
    texts = [word.text for word in call.args.operands[1:] if is_shell or word.text.startswith("!")]
    for text in texts:
        yield from call.classify_shell(text.removeprefix("!"))
    yield call.make_effect("sys.setting" if is_shell or texts else "repo.read")


def classify_close(call: Invocation) -> Iterator[Effect]:
    """Classify closing an issue: one that is named is ordinary work, all that a list has are many people's."""
    operands = call.args.operands
    targets = tuple(Target(word.display_text, "resource") for word in operands)
    is_many = call.command.repeated or any(not word.is_known for word in operands)
    yield call.make_effect("repo.close" if is_many else "repo.write", targets)
