"""Forges and trackers from the command line: what others see change, and what goes away for them."""

import re
from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word


def _gist(call: Invocation) -> Iterator[Effect]:
    """Classify the upload of a file where others can read it; a secret among them leaks."""
    yield from (effect for effect in call.classify_sent_files(call.args.operands) if effect.what == "cred.send")
    yield call.make_effect("repo.gist", tuple(map(call.resolve_path, call.args.operands)))


_READ = EffectSpec("repo.read")
_WRITE = EffectSpec("repo.write", "*", "resource", without_target=True)
_MERGE = EffectSpec("repo.merge", "*", "resource", without_target=True)
_RELEASE = EffectSpec("repo.release", "*", "resource", without_target=True)
_ADMIN = EffectSpec("repo.admin", "*", "resource", without_target=True)
_DELETE = EffectSpec("repo.delete", "*", "resource", without_target=True)
_LOST = EffectSpec("cred.destroy", "*", "other", without_target=True, note="it cannot be read back first")
_CLOSE = EffectSpec("repo.close", "*", "resource", without_target=True)
_SECRET = EffectSpec("cred.read", note="shows a credential")
_LOGIN = EffectSpec("cred.write", note="stores a credential for the forge")
_LIGHT = EffectSpec("repo.delete", "*", "resource", recoverable=True, without_target=True)
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


def _api(call: Invocation) -> Iterator[Effect]:
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


def _repo_edit(call: Invocation) -> Iterator[Effect]:
    harmless = all(
        flag in ("-d", "--description", "-h", "--homepage", "--add-topic", "--remove-topic")
        for flag, _ in call.args.flags
    )
    visibility = call.args.get_value("--visibility")
    opened = visibility is not None and visibility.text in ("public", "internal")
    yield call.make_effect(
        "repo.expose" if opened else "repo.write" if harmless else "repo.admin", _targets(call.args.operands)
    )


def _repo_create(call: Invocation) -> Iterator[Effect]:
    public = call.args.has_flag("--public --publicGroup")
    yield call.make_effect(
        "repo.admin" if public else "repo.write",
        _targets(call.args.operands),
        note="public for everybody" if public else "",
    )


def _by_verb(call: Invocation) -> Iterator[Effect]:
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


def _alias(call: Invocation) -> Iterator[Effect]:
    shell = call.args.has_flag("-s --shell")
    for word in call.args.operands[1:]:
        if shell or word.text.startswith("!"):
            yield from call.classify_shell(word.text.removeprefix("!"))
    runs = shell or any(word.text.startswith("!") for word in call.args.operands)
    yield call.make_effect("sys.setting" if runs else "repo.read")


_GH: dict[str, Program | EffectSpec | tuple[EffectSpec, ...]] = {
    "api": Program(
        classify=_api,
        value_flags="-X --method -f --raw-field -F --field -H --header -q --jq -t --template --input --hostname -p --preview --cache",
    ),
    "alias set": Program(classify=_alias),
    "auth token": _SECRET,
    "auth status": EffectSpec("cred.read", when="-t --show-token"),
    "auth login": _LOGIN,
    "auth refresh": _LOGIN,
    "auth setup-git": _LOGIN,
    "auth logout": EffectSpec("cred.delete", recoverable=True),
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
        classify=_repo_edit,
        value_flags="-d --description -h --homepage --visibility --default-branch --add-topic --remove-topic",
    ),
    "repo create": Program(
        classify=_repo_create,
        value_flags="-d --description -s --source -r --remote -t --team --template -g --gitignore -l --license",
    ),
    "repo clone": _READ,
    "repo fork": _WRITE,
    "repo sync": (EffectSpec("git.push.force", "*", "ref", when="--force", without_target=True), _WRITE),
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
    "gist create": Program(classify=_gist),
    "gist edit": EffectSpec("repo.gist", "*", "path", without_target=True),
    "gist delete": _DELETE,
    "gist clone": _READ,
    "codespace delete": _LIGHT,
    "cs delete": _LIGHT,
    "codespace ssh": EffectSpec("infra.run"),
    "codespace create": _WRITE,
    "cache delete": _LIGHT,
    "label create": _WRITE,
    "label delete": _LIGHT,
    "label list": _READ,
    "label clone": _WRITE,
    "extension install": EffectSpec("pkg.foreign", "*", "package"),
    "extension upgrade": EffectSpec("pkg.install", "*", "package"),
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

_GLAB: dict[str, Program | EffectSpec | tuple[EffectSpec, ...]] = {
    "api": _GH["api"],
    "alias set": _GH["alias set"],
    "auth login": _LOGIN,
    "auth status": EffectSpec("cred.read", when="-t --show-token"),
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
    "repo create": Program(classify=_repo_create),
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
    "snippet create": EffectSpec("repo.gist", "*", "path", without_target=True),
    "token create": EffectSpec("cred.create"),
    "config set": _READ,
    "config get": _READ,
}

PROGRAMS: dict[str, Program] = {
    "gh": Program(
        value_flags="-R --repo -t --title -b --body -F --body-file -B --base -H --head -l --label -a --assignee -r --reviewer -m --milestone -L --limit -s --state -S --search --json -q --jq --template -n --notes --notes-file --target -j --job -w --workflow --hostname -e --env -o --org --user",
        dry_run_flags="--dry-run",
        subcommands=_GH,
        classify=_by_verb,
    ),
    **alias_programs(
        "glab gl",
        Program(
            value_flags="-R --repo -t --title -d --description -b --target-branch -s --source-branch -l --label -a --assignee -m --message -g --group -F --output",
            dry_run_flags="--dry-run",
            subcommands=_GLAB,
            classify=_by_verb,
        ),
    ),
    "hub": Program(
        _READ,
        subcommands={
            "delete": _DELETE,
            "pull-request": _WRITE,
            "create": _WRITE,
            "fork": _WRITE,
            "merge": _MERGE,
            "release create": _RELEASE,
            "release delete": _DELETE,
            "release edit": _RELEASE,
            "issue create": _WRITE,
            "gist create": EffectSpec("repo.gist", "*", "path", without_target=True),
            "api": _GH["api"],
        },
    ),
    "tea": Program(
        _READ,
        value_flags="-r --repo -l --login -o --output -R",
        subcommands={
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
    **alias_programs(
        "jira acli linear",
        Program(
            value_flags="-p --project -t --type -s --summary -b --body -l --label -a --assignee -q --jql --limit",
            classify=_by_verb,
        ),
    ),
    "circleci": Program(
        _READ,
        subcommands={
            "context store-secret": _ADMIN,
            "context delete": _LIGHT,
            "orb publish": _RELEASE,
            "setup": _LOGIN,
            "local execute": EffectSpec("code.run"),
        },
    ),
    **alias_programs(
        "act gitlab-runner drone woodpecker-cli buildkite-agent travis",
        Program(
            EffectSpec("code.run"),
            subcommands={
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
