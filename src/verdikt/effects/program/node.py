"""npm and its kin: packages, scripts, what is published, and programs that are fetched to be run."""

import shlex
from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.registry import BUILD, LOGIN, PACKAGE, PUBLISH, READ, UNPUBLISH, install, setting, usual
from verdikt.effects.program.table import Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import Word

_NPM_INSTALL = words(
    "install i in ins inst insta instal isnt isnta isntal isntall add ci clean-install install-test it update up upgrade link ln dedupe rebuild"
)
_NPM_REMOVE = words("uninstall un unlink remove rm r prune")
_GOES_LIVE = regex(
    r"(?i)(?:deploy|release|publish|promote|rollback|migrate|destroy|reset|drop).*(?:prod|live)|(?:prod|live)\w*.*(?:deploy|release|promote|rollback|migrate|destroy|reset|drop)"
)
"""Names of scripts that change what others use."""
_NPM_RUN = words("run run-script rum urn test t tst start stop restart")
_NPM_READ = words(
    "view v info show list ls ll la outdated search s se find audit doctor explain why fund root prefix bin help whoami ping docs home bugs repo pack config get sbom query diff completion cache licenses store env explore edit version set-script pkg stars profile"
)


def _npm(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    verb, rest = (operands[0].text, operands[1:]) if operands else ("", [])
    first = rest[0].text if rest else ""
    if verb in _NPM_INSTALL or (not verb and call.name in ("yarn", "pnpm", "bun")):
        yield from install(call, rest, repositories=True)
    elif verb == "global" and call.name == "yarn":
        yield from install(call, rest[1:], repositories=True)
    elif verb in _NPM_REMOVE:
        itself = call.args.has("-g --global") and any(word.text in ("npm", "corepack") for word in rest)
        what = "pkg.system.remove" if itself else "pkg.remove"
        yield call.effect(what, tuple(Target(word.shown, PACKAGE) for word in rest))
    elif verb in ("exec", "x", "dlx"):
        yield from install(call, rest[:1], "pkg.run", repositories=True)
    elif verb in ("init", "create", "innit"):
        yield from install(call, rest[:1], "pkg.run", repositories=call.name == "npm")
    elif verb == "config" and first in ("set", "edit", "delete", "rm"):
        yield setting(call, rest[1].text if len(rest) > 1 else "", rest[2].text if len(rest) > 2 else "")
    elif verb == "set":
        yield setting(call, first, rest[1].text if len(rest) > 1 else "")
    elif verb in ("config", "c", "get") and any(
        "auth" in word.text.lower() or "token" in word.text.lower() for word in rest
    ):
        yield call.effect("cred.read", note="shows a credential")
    elif verb == "pkg" and first == "set":
        yield from _npm_scripts(call, rest[1:])
    elif verb in _NPM_READ:
        yield call.effect("pkg.read")
    elif verb in _NPM_RUN:
        live = _GOES_LIVE.search(first) is not None
        note = "by the script's name" if live else ""
        yield call.effect(
            "infra.apply" if live else "code.run", (Target(first or verb, "other"),), possible=live, note=note
        )
    else:
        yield from _npm_public(call, verb, rest)


def _npm_scripts(call: Call, settings: list[Word]) -> Iterator[Effect]:
    """`npm pkg set scripts.postinstall=…`: the manifest gets a script, which is read as if it ran."""
    yield call.effect("pkg.setting")
    for word in settings:
        key, _, value = word.text.partition("=")
        if key.startswith("scripts."):
            yield from call.shell(value)


def _npm_public(call: Call, verb: str, rest: list[Word]) -> Iterator[Effect]:
    """What others see: publishing, rights, tags, accounts."""
    first = rest[0].text if rest else ""
    targets = tuple(Target(word.shown, PACKAGE) for word in rest)
    if verb == "npm" and call.name == "yarn":
        yield from _npm_public(call, first, rest[1:])
    elif verb in ("publish", "stage"):
        yield call.effect("pkg.publish", targets)
    elif verb == "unpublish":
        yield call.effect("pkg.unpublish", targets)
    elif verb in ("owner", "author", "dist-tag", "dist-tags", "tag", "access", "team", "org", "token", "hook", "trust"):
        reading = first in ("ls", "list", "get", "") or first.startswith(("ls-", "list-"))
        yield call.effect("pkg.read" if reading else "pkg.admin", targets)
    elif verb in ("deprecate", "undeprecate"):
        yield call.effect("pkg.admin", targets)
    elif verb in ("login", "adduser", "add-user", "logout"):
        yield call.effect("cred.write", note="stores a credential for the registry")
    elif call.name in ("yarn", "pnpm", "bun") and verb:
        # A script or a tool of the project, without `run` before it.
        yield call.effect("code.run", (Target(verb, "other"),))
        texts = [word.text for word in call.command.argv]
        yield from call.shell(shlex.join(texts[texts.index(verb) :]))
    else:
        yield call.effect("pkg.read")


def _npx(call: Call) -> Iterator[Effect]:
    for word in call.args.operands[:1]:
        if word.text.startswith(("http://", "https://")) and not usual(word.text):
            yield call.effect("code.remote", (Target(word.shown, "host"),), note="runs what it downloads")
    yield from install(call, call.args.operands[:1], "pkg.run", repositories=True)
    yield from _brought(call, call.args.operands[:1])


_BRINGS = {
    "@angular/cli": "ng",
    "@anthropic-ai/claude-code": "claude",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "@github/copilot": "copilot",
    "opencode-ai": "opencode",
    "@changesets/cli": "changeset",
    "@nestjs/cli": "nest",
    "@railway/cli": "railway",
    "@sentry/cli": "sentry-cli",
    "@shopify/cli": "shopify",
    "aws-cdk": "cdk",
    "firebase-tools": "firebase",
    "netlify-cli": "netlify",
    "eas-cli": "eas",
    "appwrite-cli": "appwrite",
}
"""A package → the program that it brings, where their names differ."""


def _brought(call: Call, packages: list[Word]) -> Iterator[Effect]:
    for word in packages:
        name = word.text[:1] + word.text[1:].partition("@")[0]
        if name in _BRINGS:
            texts = [other.text for other in call.command.argv]
            yield from call.shell(shlex.join([_BRINGS[name], *texts[texts.index(word.text) + 1 :]]))


_NPM_VALUES = "--registry -w --workspace --prefix --tag --access --userconfig --cache --omit --include --otp --loglevel -C --dir --filter -F -p --package -c --call --cwd --reporter --new-version"

PROGRAMS: dict[str, Program] = {
    **programs("npm pnpm yarn bun cnpm yarnpkg", Program(values=_NPM_VALUES, dry="--dry-run", call=_npm)),
    **programs("npx bunx pnpx", Program(values="-p --package -c --call -w --workspace --registry --cache", call=_npx)),
    "lerna": Program(BUILD, subs={"publish": PUBLISH}),
    "changeset": Program(BUILD, subs={"publish": PUBLISH}),
    **programs(
        "semantic-release release-it np auto-release goreleaser",
        Program(PUBLISH, dry="-d --dry-run --snapshot --preview", subs={"check": READ, "init": READ, "build": BUILD}),
    ),
    **programs(
        "vsce ovsx", Program(subs={"publish": PUBLISH, "unpublish": UNPUBLISH, "login": LOGIN, "package": BUILD})
    ),
    "jsr": Program(dry="--dry-run", subs={"publish": PUBLISH}),
}
