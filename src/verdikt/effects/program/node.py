"""npm and its kin: packages, scripts, what is published, and programs that are fetched to be run."""

import shlex
from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.package_registry import (
    PACKAGE,
    classify_install,
    classify_setting,
    is_known_registry,
)
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_NPM_INSTALL = word_set(
    "install i in ins inst insta instal isnt isnta isntal isntall add ci clean-install install-test it update up "
    "upgrade link ln dedupe rebuild"
)
_NPM_REMOVE = word_set("uninstall un unlink remove rm r prune")
_GOES_LIVE = compile_lazily(
    r"(?i)(?:deploy|release|publish|promote|rollback|migrate|destroy|reset|drop).*(?:prod|live)|(?:prod"
    r"|live)\w*.*(?:deploy|release|promote|rollback|migrate|destroy|reset|drop)"
)
"""Names of scripts that change what others use."""
_NPM_RUN = word_set("run run-script rum urn test t tst start stop restart")
_NPM_READ = word_set(
    "view v info show list ls ll la outdated search s se find audit doctor explain why fund root prefix bin help "
    "whoami ping docs home bugs repo pack config get sbom query diff completion cache licenses store env explore "
    "edit version set-script pkg stars profile"
)


def classify_npm(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb, rest = (operands[0].text, operands[1:]) if operands else ("", [])
    first = rest[0].text if rest else ""
    bare_install = not verb and call.name in ("yarn", "pnpm", "bun") and not call.args.has_flag("-e --eval --print")
    if verb in _NPM_INSTALL or bare_install:
        yield from classify_install(call, rest, allow_repositories=True)
    elif verb == "global" and call.name == "yarn":
        yield from classify_install(call, rest[1:], allow_repositories=True)
    elif verb in _NPM_REMOVE:
        itself = call.args.has_flag("-g --global") and any(word.text in ("npm", "corepack") for word in rest)
        what = "pkg.system.remove" if itself else "pkg.remove"
        yield call.make_effect(what, tuple(Target(word.display_text, PACKAGE) for word in rest))
    elif verb in ("exec", "x", "dlx"):
        yield from classify_install(call, rest[:1], "pkg.run", allow_repositories=True)
    elif verb in ("init", "create", "innit"):
        yield from classify_install(call, rest[:1], "pkg.run", allow_repositories=call.name == "npm")
    elif verb == "config" and first in ("set", "edit", "delete", "rm"):
        yield classify_setting(call, rest[1].text if len(rest) > 1 else "", rest[2].text if len(rest) > 2 else "")
    elif verb == "set":
        yield classify_setting(call, first, rest[1].text if len(rest) > 1 else "")
    elif verb in ("config", "c", "get") and any(
        "auth" in word.text.lower() or "token" in word.text.lower() for word in rest
    ):
        yield call.make_effect("cred.read", note="shows a credential")
    elif verb == "pkg" and first == "set":
        yield from _npm_scripts(call, rest[1:])
    elif verb in _NPM_READ:
        yield call.make_effect("pkg.read")
    elif verb in _NPM_RUN:
        live = _GOES_LIVE.search(first) is not None
        note = "by the script's name" if live else ""
        yield call.make_effect(
            "infra.apply" if live else "code.run", (Target(first or verb, "other"),), possible=live, note=note
        )
    else:
        yield from _npm_public(call, verb, rest)


def _npm_scripts(call: Invocation, settings: list[Word]) -> Iterator[Effect]:
    """`npm pkg set scripts.postinstall=…`: the manifest gets a script, which is read as if it ran."""
    yield call.make_effect("pkg.setting")
    for word in settings:
        key, _, value = word.text.partition("=")
        if key.startswith("scripts."):
            yield from call.classify_shell(value)


def _npm_public(call: Invocation, verb: str, rest: list[Word]) -> Iterator[Effect]:
    """Classify what others see: publishing, rights, tags, accounts."""
    first = rest[0].text if rest else ""
    targets = tuple(Target(word.display_text, PACKAGE) for word in rest)
    if verb == "npm" and call.name == "yarn":
        yield from _npm_public(call, first, rest[1:])
    elif verb in ("publish", "stage"):
        yield call.make_effect("pkg.publish", targets)
    elif verb == "unpublish":
        yield call.make_effect("pkg.unpublish", targets)
    elif verb in ("owner", "author", "dist-tag", "dist-tags", "tag", "access", "team", "org", "token", "hook", "trust"):
        reading = first in ("ls", "list", "get", "") or first.startswith(("ls-", "list-"))
        yield call.make_effect("pkg.read" if reading else "pkg.admin", targets)
    elif verb in ("deprecate", "undeprecate"):
        yield call.make_effect("pkg.admin", targets)
    elif verb in ("login", "adduser", "add-user", "logout"):
        yield call.make_effect("cred.write", note="stores a credential for the registry")
    elif call.name in ("yarn", "pnpm", "bun") and verb:
        # A script or a tool of the project, without `run` before it.
        yield call.make_effect("code.run", (Target(verb, "other"),))
        texts = [word.text for word in call.command.argv]
        yield from call.classify_shell(shlex.join(texts[texts.index(verb) :]))
    else:
        yield call.make_effect("pkg.read")


def classify_npx(call: Invocation) -> Iterator[Effect]:
    for word in call.args.operands[:1]:
        if word.text.startswith(("http://", "https://")) and not is_known_registry(word.text):
            yield call.make_effect("code.remote", (Target(word.display_text, "host"),), note="runs what it downloads")
    yield from classify_install(call, call.args.operands[:1], "pkg.run", allow_repositories=True)
    yield from _classify_installed_program(call, call.args.operands[:1])


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


def _classify_installed_program(call: Invocation, packages: list[Word]) -> Iterator[Effect]:
    for word in packages:
        name = word.text[:1] + word.text[1:].partition("@")[0]
        if name in _BRINGS:
            texts = [other.text for other in call.command.argv]
            yield from call.classify_shell(shlex.join([_BRINGS[name], *texts[texts.index(word.text) + 1 :]]))
