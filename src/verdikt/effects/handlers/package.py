"""Package managers: where packages come from, which settings change that, and tasks and scripts by their names."""

import re
import shlex
from collections.abc import Iterator, Mapping

from verdikt.effects.arguments import word_set
from verdikt.effects.host import is_bare_public_address, to_host_target
from verdikt.effects.invocation import Invocation
from verdikt.effects.package_registries import (
    INDEX_VARIABLES,
    find_package_host,
    is_foreign_module,
    is_known_registry,
)
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_SOURCE_ADDRESS = compile_lazily(
    r"^(?:(?:git|hg|svn|bzr)\+|(?:https?|ftp|git|ssh)://|git@|(?:github|gitlab|bitbucket|gist|git):)"
)
_NAMED_ADDRESS = compile_lazily(r"^[\w.\[\]-]+@(?:git\+|https?:)")
_OWNER_REPO = compile_lazily(r"^[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.+)?$")
_INDEX_OPTIONS = (
    "-i --index-url --extra-index-url -f --find-links --index --registry --source -s --default-index --repository "
    "--repo-url --channel -c --server --mirror"
)
_PACKAGE_OPTIONS = "-r --requirement -c --constraint --from --with --spec -p --package -e --editable"

_SETTINGS_OPTIONS = "--userconfig --globalconfig --config-file"
_BUILD_SETTINGS_OPTIONS = "-s --settings -gs --global-settings -c --settings-file"
_SETTINGS_VARIABLES = word_set("PIP_CONFIG_FILE UV_CONFIG_FILE NPM_CONFIG_USERCONFIG npm_config_userconfig")


def _classify_settings_files(call: Invocation, files: list[Word]) -> Iterator[Effect]:
    """Yield the effect of settings that lie among temporary files or elsewhere: they may name any registry."""
    targets = tuple(t for t in map(call.resolve_path, files) if t.zone in (Zone.TEMP, Zone.OUTSIDE))
    if targets:
        yield call.make_effect("pkg.foreign", targets, possible=True, note="settings that may name any registry")


def _is_foreign_package(text: str, *, repositories: bool = False) -> bool:
    """Return whether a package comes from an address instead of a registry; so does `owner/name` with `repositories`."""
    spec = text.split(" @ ", 1)[-1].strip()
    spec = spec.split("@", 1)[1] if _NAMED_ADDRESS.match(spec) else spec
    if _SOURCE_ADDRESS.match(spec):
        return not is_known_registry(spec)
    return repositories and bool(_OWNER_REPO.match(spec)) and not spec.endswith((".tgz", ".tar.gz", "/"))


def classify_install(
    call: Invocation, *, does: str = "pkg.install", on: str = "*", repositories: bool = False
) -> Iterator[Effect]:
    """Yield `does` for the packages that `on` selects, or `pkg.foreign` for what no known registry has."""
    args = call.args
    packages = args.select_words(on) if on else []
    foreign = [word for word in packages if _is_foreign_package(word.text, repositories=repositories)]
    # `go get` runs nothing of it yet.
    if call.name == "go" and [word.text for word in call.command.argv[1:2]] != ["get"]:
        foreign += [word for word in packages[:1] if is_foreign_module(word.text)]
    foreign += [word for word in args.get_values(_PACKAGE_OPTIONS) if _is_foreign_package(word.text)]
    foreign += args.get_values("--git")
    addresses = args.get_values(_INDEX_OPTIONS)
    variables = (*call.list_assignments(), *call.list_exports())
    addresses = addresses or [value for name, value in variables if name in INDEX_VARIABLES][:1]
    named_files = [value for name, value in variables if name in _SETTINGS_VARIABLES]
    yield from _classify_settings_files(call, [*args.get_values(_SETTINGS_OPTIONS), *named_files])
    indexes = [word for word in addresses if "://" in word.text and not is_known_registry(word.text)]
    if indexes:
        yield call.make_effect("net.fetch", tuple(map(to_host_target, indexes)))
    foreign += indexes
    foreign += [word for word in args.get_values("--trusted-host") if not is_known_registry(word.text)]
    targets = tuple(Target(word.display_text, "package") for word in foreign or packages)
    if bare := [target for target in targets if foreign and is_bare_public_address(find_package_host(target.text))]:
        # What is not even named is no index that people share: as with `npx http://203.0.113.9/x.tgz`.
        yield call.make_effect("code.remote", tuple(bare[:1]), note="installs from a bare address")
    yield call.make_effect("pkg.foreign" if foreign else does, targets)


_RUN_SETTINGS = word_set("script-shell shell git init-module node-options onload-script")
_CREDENTIAL_SETTING = compile_lazily(r"(?i)token|password|_auth|credential")
_SOURCE_SETTING = compile_lazily(
    r"(?i)(?:index[-_]url|find-links|trusted-host|registry|index-server|npmregistryserver"
    r"|^go(?:proxy|sumdb|nosumdb|insecure|nosumcheck|flags))$"
)
_VERIFY_SETTINGS = word_set("strict-ssl http.sslverify ssl_verify")
_NO_ADDRESSES = word_set("direct off on")


def classify_setting(call: Invocation) -> Iterator[Effect]:
    """Yield the effect of `KEY VALUE` or of each `KEY=VALUE`: only package sources and credentials matter."""
    texts = iter([word.text for word in call.args.operands] or [""])
    for text in texts:
        key, equals, value = text.partition("=")
        yield _classify_pair(call, key, value if equals else next(texts, ""))


def _classify_pair(call: Invocation, key: str, value: str) -> Effect:
    if key in _RUN_SETTINGS:
        target = Target(f"{key}={value}", "other")
        return call.make_effect("pkg.source", (target,), note="another program runs the scripts")
    if _CREDENTIAL_SETTING.search(key):
        return call.make_effect("cred.write", (Target(key, "other"),))
    is_unverified = key.lower() in _VERIFY_SETTINGS and value.lower() in ("false", "0", "no")
    addresses = [part for part in value.split(",") if part not in _NO_ADDRESSES]
    if is_unverified or (_SOURCE_SETTING.search(key) and not all(map(is_known_registry, addresses))):
        return call.make_effect("pkg.source", (Target(value or key, "host"),))
    return call.make_effect("pkg.setting", (Target(key, "other"),))


def classify_manifest_setting(call: Invocation) -> Iterator[Effect]:
    """Classify `npm pkg set scripts.postinstall=…`: the manifest gets a script, which is read as if it ran."""
    yield call.make_effect("pkg.setting")
    for word in call.args.operands:
        key, _, value = word.text.partition("=")
        if key.startswith("scripts."):
            yield from call.classify_shell(value)


def classify_script(call: Invocation) -> Iterator[Effect]:
    """Classify `yarn x`, which runs a script or a tool of the project; `yarn` alone installs its packages."""
    if not call.args.operands:
        if not call.args.has_flag("-e --eval --print"):
            yield from classify_install(call)
        return
    name = call.args.operands[0].text
    yield call.make_effect("code.run", (Target(name, "other"),))
    texts = [word.text for word in call.command.argv]
    yield from call.classify_shell(shlex.join(texts[texts.index(name) :]))


def classify_package_program(call: Invocation, *, programs: Mapping[str, str]) -> Iterator[Effect]:
    """Classify `npx PACKAGE …`; `programs` maps a package to the program that it brings, where their names differ."""
    yield from classify_install(call, does="pkg.run", on="0", repositories=True)
    for word in call.args.operands[:1]:
        name = word.text[:1] + word.text[1:].partition("@")[0]
        if name in programs:
            texts = [other.text for other in call.command.argv]
            yield from call.classify_shell(shlex.join([programs[name], *texts[texts.index(word.text) + 1 :]]))


_MEMORY_DATABASE = compile_lazily(r"jdbc:(?:h2:mem|hsqldb:mem|derby:memory|sqlite::memory):")
"""Addresses of databases that end with the program."""
_DROP_TASK = compile_lazily(r"(?i)(?:flyway:?clean|dropall)$")
_PUBLISH_TASK = compile_lazily(
    r"(?:^|:)(?:deploy|deploy-file|perform|uploadarchives|upload|publish(?!m2$)[^:]*|closeandrelease[^:]*|releasestaging[^:]*)$",
    re.IGNORECASE,
)


def classify_tasks(call: Invocation) -> Iterator[Effect]:
    """Classify Maven goals, Gradle and sbt tasks: the names say what is published; what is local is built."""
    for word in call.args.operands:
        if _DROP_TASK.search(word.text) and not _MEMORY_DATABASE.search(call.full_text):
            yield call.make_effect("db.drop", (Target("the configured database", "other"),))
        elif _PUBLISH_TASK.search(word.text) and "local" not in word.text.lower():
            yield call.make_effect("pkg.publish", (Target(word.text, "other"),))
    for word in call.args.get_values("-D --define"):  # `-DremoteRepositories=https://…`
        if "://" in word.text and "repo" in word.text.lower() and not is_known_registry(word.text):
            yield call.make_effect("pkg.foreign", (Target(word.text, "package"),))
    yield from _classify_settings_files(call, call.args.get_values(_BUILD_SETTINGS_OPTIONS))
    yield call.make_effect("code.build")
