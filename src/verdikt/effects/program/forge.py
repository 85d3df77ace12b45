"""Forges and trackers from the command line: what others see change, and what goes away for them."""

import re
from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word


def classify_gist(call: Invocation) -> Iterator[Effect]:
    """Classify the upload of a file where others can read it; a secret among them leaks."""
    yield from (effect for effect in call.classify_sent_files(call.args.operands) if effect.what == "cred.send")
    yield call.make_effect("repo.gist", tuple(map(call.resolve_path, call.args.operands)))


_MUTATION = compile_lazily(r"\bmutation\b")
_ADMIN_PATHS = (
    "/collaborators",
    "/hooks",
    "/keys",
    "/actions/secrets",
    "/actions/variables",
    "/branches/",
    "/rulesets",
    "/environments",
    "/permissions",
    "/visibility",
    "/memberships",
    "/invitations",
    "/deploy_keys",
    "/variables",
    "/members",
    "/protected_branches",
    "/transfer",
)


def _targets(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "resource") for word in found)


def classify_api(call: Invocation) -> Iterator[Effect]:
    """`gh api`: by method and path; fields make a POST of it."""
    args = call.args
    given = args.get_value("-X --method")
    fields = args.get_values("-f --raw-field -F --field")
    method = given.text.upper() if given is not None else "POST" if fields or args.has_flag("--input") else "GET"
    path = args.operands[0].text if args.operands else ""
    if path.strip("/") == "graphql":
        texts = " ".join(word.text for word in fields)
        if _MUTATION.search(texts):
            gone = re.search(r"\bdelete[A-Z]", texts) is not None
            yield call.make_effect(
                "repo.delete" if gone else "repo.admin", _targets(args.operands[:1]), recoverable=True if gone else None
            )
        else:
            yield call.make_effect("repo.read", possible="\ufffc" in texts or "@" in texts)
    elif method in ("GET", "HEAD"):
        yield call.make_effect("repo.read")
    elif method == "DELETE":
        light = any(
            part in path
            for part in (
                "/reactions",
                "/labels/",
                "/assignees",
                "/requested_reviewers",
                "/subscription",
                "/starred",
                "/comments/",
            )
        )
        yield call.make_effect("repo.delete", _targets(args.operands[:1]), recoverable=True if light else None)
    elif method in ("PUT", "PATCH") or any(part in path for part in _ADMIN_PATHS) or path.endswith("/merge"):
        light = any(part in path for part in ("/issues/", "/pulls/", "/comments/")) and not path.endswith("/merge")
        words_alone = bool(fields) and all(word.text.startswith(("title=", "body=")) for word in fields)
        what = "repo.write" if light and words_alone else "repo.write.api" if light else "repo.admin"
        yield call.make_effect(what, _targets(args.operands[:1]))  # new words, as `gh pr edit` gives
    elif path.rstrip("/").endswith(("/comments", "/replies", "/reactions")) and "@" not in "".join(
        w.text for w in fields
    ):
        yield call.make_effect("repo.write", _targets(args.operands[:1]))  # as `gh issue comment` does
    else:
        yield call.make_effect("repo.write.api", _targets(args.operands[:1]))


def classify_repo_edit(call: Invocation) -> Iterator[Effect]:
    harmless = all(
        flag in ("-d", "--description", "-h", "--homepage", "--add-topic", "--remove-topic")
        for flag, _ in call.args.flags
    )
    visibility = call.args.get_value("--visibility")
    opened = visibility is not None and visibility.text in ("public", "internal")
    yield call.make_effect(
        "repo.expose" if opened else "repo.write" if harmless else "repo.admin", _targets(call.args.operands)
    )


def classify_repo_create(call: Invocation) -> Iterator[Effect]:
    public = call.args.has_flag("--public --publicGroup")
    yield call.make_effect(
        "repo.admin" if public else "repo.write",
        _targets(call.args.operands),
        note="public for everybody" if public else "",
    )


def classify_by_verb(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    index, kind = command_verbs.find_verb(path)
    targets = _targets(call.args.operands[index + 1 :][:2])
    if kind == "delete":
        yield call.make_effect("repo.delete", targets, recoverable=True)
    elif kind == "write":
        admin = {
            "secret",
            "variable",
            "key",
            "token",
            "ruleset",
            "org",
            "member",
            "deploy-key",
            "ssh-key",
            "gpg-key",
            "auth",
            "runner",
            "webhook",
        } & set(path[: index + 1])
        yield call.make_effect("repo.admin" if admin else "repo.write", targets)
    else:
        yield call.make_effect("repo.read")


def classify_alias(call: Invocation) -> Iterator[Effect]:
    shell = call.args.has_flag("-s --shell")
    for word in call.args.operands[1:]:
        if shell or word.text.startswith("!"):
            yield from call.classify_shell(word.text.removeprefix("!"))
    runs = shell or any(word.text.startswith("!") for word in call.args.operands)
    yield call.make_effect("sys.setting" if runs else "repo.read")
