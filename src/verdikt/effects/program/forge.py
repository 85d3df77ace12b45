"""Forges and trackers from the command line: what others see change, and what goes away for them."""

import re
from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import Word


def _gist(call: Call) -> Iterator[Effect]:
    """A file where others can read it; a secret among them is one that gets out."""
    yield from (effect for effect in call.sent(call.args.operands) if effect.what == "cred.send")
    yield call.effect("repo.gist", tuple(map(call.path, call.args.operands)))


_READ = Does("repo.read")
_WRITE = Does("repo.write", "*", "resource", bare=True)
_MERGE = Does("repo.merge", "*", "resource", bare=True)
_RELEASE = Does("repo.release", "*", "resource", bare=True)
_ADMIN = Does("repo.admin", "*", "resource", bare=True)
_DELETE = Does("repo.delete", "*", "resource", bare=True)
_LOST = Does("cred.destroy", "*", "other", bare=True, note="nobody can read it back first")
_CLOSE = Does("repo.close", "*", "resource", bare=True)
_SECRET = Does("cred.read", note="shows a credential")
_LOGIN = Does("cred.write", note="stores a credential for the forge")
_LIGHT = Does("repo.delete", "*", "resource", recoverable=True, bare=True)
_MUTATION = regex(r"\bmutation\b")
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
    return tuple(Target(word.shown, "resource") for word in found)


def _api(call: Call) -> Iterator[Effect]:
    """`gh api`: by method and path; fields make a POST of it."""
    args = call.args
    given = args.value("-X --method")
    fields = args.all("-f --raw-field -F --field")
    method = given.text.upper() if given is not None else "POST" if fields or args.has("--input") else "GET"
    path = args.operands[0].text if args.operands else ""
    if path.strip("/") == "graphql":
        texts = " ".join(word.text for word in fields)
        if _MUTATION.search(texts):
            gone = re.search(r"\bdelete[A-Z]", texts) is not None
            yield call.effect(
                "repo.delete" if gone else "repo.admin", _targets(args.operands[:1]), recoverable=True if gone else None
            )
        else:
            yield call.effect("repo.read", possible="\ufffc" in texts or "@" in texts)
    elif method in ("GET", "HEAD"):
        yield call.effect("repo.read")
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
        yield call.effect("repo.delete", _targets(args.operands[:1]), recoverable=True if light else None)
    elif method in ("PUT", "PATCH") or any(part in path for part in _ADMIN_PATHS) or path.endswith("/merge"):
        light = any(part in path for part in ("/issues/", "/pulls/", "/comments/")) and not path.endswith("/merge")
        words_alone = bool(fields) and all(word.text.startswith(("title=", "body=")) for word in fields)
        what = "repo.write" if light and words_alone else "repo.write.api" if light else "repo.admin"
        yield call.effect(what, _targets(args.operands[:1]))  # new words, as `gh pr edit` gives
    elif path.rstrip("/").endswith(("/comments", "/replies", "/reactions")) and "@" not in "".join(
        w.text for w in fields
    ):
        yield call.effect("repo.write", _targets(args.operands[:1]))  # as `gh issue comment` does
    else:
        yield call.effect("repo.write.api", _targets(args.operands[:1]))


def _repo_edit(call: Call) -> Iterator[Effect]:
    harmless = all(
        flag in ("-d", "--description", "-h", "--homepage", "--add-topic", "--remove-topic")
        for flag, _ in call.args.flags
    )
    visibility = call.args.value("--visibility")
    opened = visibility is not None and visibility.text in ("public", "internal")
    yield call.effect(
        "repo.expose" if opened else "repo.write" if harmless else "repo.admin", _targets(call.args.operands)
    )


def _repo_create(call: Call) -> Iterator[Effect]:
    public = call.args.has("--public --publicGroup")
    yield call.effect(
        "repo.admin" if public else "repo.write",
        _targets(call.args.operands),
        note="public for everybody" if public else "",
    )


def _by_verb(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    index, kind = verb.find(path)
    targets = _targets(call.args.operands[index + 1 :][:2])
    if kind == "delete":
        yield call.effect("repo.delete", targets, recoverable=True)
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
        yield call.effect("repo.admin" if admin else "repo.write", targets)
    else:
        yield call.effect("repo.read")


def _alias(call: Call) -> Iterator[Effect]:
    shell = call.args.has("-s --shell")
    for word in call.args.operands[1:]:
        if shell or word.text.startswith("!"):
            yield from call.shell(word.text.removeprefix("!"))
    runs = shell or any(word.text.startswith("!") for word in call.args.operands)
    yield call.effect("sys.setting" if runs else "repo.read")


_GH: dict[str, Program | Does | tuple[Does, ...]] = {
    "api": Program(
        call=_api,
        values="-X --method -f --raw-field -F --field -H --header -q --jq -t --template --input --hostname -p --preview --cache",
    ),
    "alias set": Program(call=_alias),
    "auth token": _SECRET,
    "auth status": Does("cred.read", when="-t --show-token"),
    "auth login": _LOGIN,
    "auth refresh": _LOGIN,
    "auth setup-git": _LOGIN,
    "auth logout": Does("cred.delete", recoverable=True),
    "browse": _READ,
    "pr merge": _MERGE,
    "pr close": _CLOSE,
    "pr update-branch": _WRITE,
    "pr ready": _WRITE,
    "pr checkout": _READ,
    "pr review": _WRITE,
    "pr lock": _WRITE,
    "issue close": _WRITE,
    "issue delete": _DELETE,
    "issue transfer": _ADMIN,
    "issue develop": _WRITE,
    "run rerun": _WRITE,
    "run cancel": _CLOSE,
    "run delete": _LIGHT,
    "run watch": _READ,
    "run download": _READ,
    "run view": _READ,
    "run list": _READ,
    "workflow run": _WRITE,
    "workflow enable": _WRITE,
    "workflow disable": _ADMIN,
    "repo delete": _DELETE,
    "repo edit": Program(
        call=_repo_edit,
        values="-d --description -h --homepage --visibility --default-branch --add-topic --remove-topic",
    ),
    "repo create": Program(
        call=_repo_create,
        values="-d --description -s --source -r --remote -t --team --template -g --gitignore -l --license",
    ),
    "repo clone": _READ,
    "repo fork": _WRITE,
    "repo sync": (Does("git.push.force", "*", "ref", when="--force", bare=True), _WRITE),
    "repo set-default": _READ,
    "repo archive": _ADMIN,
    "repo unarchive": _ADMIN,
    "repo rename": _ADMIN,
    "repo deploy-key add": _ADMIN,
    "repo deploy-key delete": _ADMIN,
    "repo autolink create": _ADMIN,
    "release create": _RELEASE,
    "release edit": _RELEASE,
    "release upload": _RELEASE,
    "release delete": _DELETE,
    "release delete-asset": _DELETE,
    "release download": _READ,
    "secret list": _READ,
    "secret set": _ADMIN,
    "secret remove": _LOST,
    "secret delete": _LOST,
    "variable list": _READ,
    "variable get": _READ,
    "variable set": _ADMIN,
    "variable delete": _ADMIN,
    "ssh-key add": _ADMIN,
    "ssh-key delete": _ADMIN,
    "gpg-key add": _ADMIN,
    "gpg-key delete": _ADMIN,
    "ruleset delete": _ADMIN,
    "gist create": Program(call=_gist),
    "gist edit": Does("repo.gist", "*", "path", bare=True),
    "gist delete": _DELETE,
    "gist clone": _READ,
    "codespace delete": _LIGHT,
    "cs delete": _LIGHT,
    "codespace ssh": Does("infra.run"),
    "codespace create": _WRITE,
    "cache delete": _LIGHT,
    "label create": _WRITE,
    "label delete": _LIGHT,
    "label list": _READ,
    "label clone": _WRITE,
    "extension install": Does("pkg.foreign", "*", "package"),
    "extension upgrade": Does("pkg.install", "*", "package"),
    "extension remove": _READ,
    "copilot": _READ,
    "config set": _READ,
    "config get": _READ,
    "config list": _READ,
    "search": _READ,
    "status": _READ,
    "project delete": _DELETE,
    "project item-delete": _LIGHT,
    "attestation verify": _READ,
    "org list": _READ,
}

_GLAB: dict[str, Program | Does | tuple[Does, ...]] = {
    "api": _GH["api"],
    "alias set": _GH["alias set"],
    "auth login": _LOGIN,
    "auth status": Does("cred.read", when="-t --show-token"),
    "mr merge": _MERGE,
    "mr accept": _MERGE,
    "mr close": _CLOSE,
    "mr delete": _DELETE,
    "mr checkout": _READ,
    "mr approve": _WRITE,
    "mr rebase": _WRITE,
    "issue close": _WRITE,
    "issue delete": _DELETE,
    "repo delete": _DELETE,
    "repo clone": _READ,
    "repo archive": _READ,
    "repo fork": _WRITE,
    "repo create": Program(call=_repo_create),
    "repo transfer": _ADMIN,
    "repo members add": _ADMIN,
    "repo mirror": _ADMIN,
    "release create": _RELEASE,
    "release delete": _DELETE,
    "release upload": _RELEASE,
    "ci run": _WRITE,
    "ci retry": _WRITE,
    "ci cancel": _CLOSE,
    "ci delete": _LIGHT,
    "ci status": _READ,
    "ci view": _READ,
    "ci trace": _READ,
    "ci lint": _READ,
    "variable set": _ADMIN,
    "variable update": _ADMIN,
    "variable delete": _LOST,
    "variable get": _SECRET,
    "variable export": _SECRET,
    "variable list": _READ,
    "ssh-key add": _ADMIN,
    "deploy-key add": _ADMIN,
    "snippet create": Does("repo.gist", "*", "path", bare=True),
    "token create": Does("cred.create"),
    "config set": _READ,
    "config get": _READ,
}

PROGRAMS: dict[str, Program] = {
    "gh": Program(
        values="-R --repo -t --title -b --body -F --body-file -B --base -H --head -l --label -a --assignee -r --reviewer -m --milestone -L --limit -s --state -S --search --json -q --jq --template -n --notes --notes-file --target -j --job -w --workflow --hostname -e --env -o --org --user",
        dry="--dry-run",
        subs=_GH,
        call=_by_verb,
    ),
    **programs(
        "glab gl",
        Program(
            values="-R --repo -t --title -d --description -b --target-branch -s --source-branch -l --label -a --assignee -m --message -g --group -F --output",
            dry="--dry-run",
            subs=_GLAB,
            call=_by_verb,
        ),
    ),
    "hub": Program(
        _READ,
        subs={
            "delete": _DELETE,
            "pull-request": _WRITE,
            "create": _WRITE,
            "fork": _WRITE,
            "merge": _MERGE,
            "release create": _RELEASE,
            "release delete": _DELETE,
            "release edit": _RELEASE,
            "issue create": _WRITE,
            "gist create": Does("repo.gist", "*", "path", bare=True),
            "api": _GH["api"],
        },
    ),
    "tea": Program(
        _READ,
        values="-r --repo -l --login -o --output -R",
        subs={
            "repos delete": _DELETE,
            "repo delete": _DELETE,
            "releases delete": _DELETE,
            "release delete": _DELETE,
            "pulls merge": _MERGE,
            "pr merge": _MERGE,
            "pulls close": _CLOSE,
            "releases create": _RELEASE,
            "release create": _RELEASE,
            "login add": _LOGIN,
            "branches protect": _ADMIN,
            "webhooks create": _ADMIN,
        },
    ),
    **programs(
        "jira acli linear",
        Program(
            values="-p --project -t --type -s --summary -b --body -l --label -a --assignee -q --jql --limit",
            call=_by_verb,
        ),
    ),
    "circleci": Program(
        _READ,
        subs={
            "context store-secret": _ADMIN,
            "context delete": _LIGHT,
            "orb publish": _RELEASE,
            "setup": _LOGIN,
            "local execute": Does("code.run"),
        },
    ),
    **programs(
        "act gitlab-runner drone woodpecker-cli buildkite-agent travis",
        Program(
            Does("code.run"),
            subs={
                "register": _ADMIN,
                "unregister": _ADMIN,
                "secret add": _ADMIN,
                "token": _SECRET,
                "encrypt": _READ,
                "list": _READ,
                "verify": _READ,
            },
        ),
    ),
}
