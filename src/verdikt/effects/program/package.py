"""Package managers: what is installed and from where, what is published, what is taken away from everybody."""

import re
import shlex
from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.storage import is_here
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import Word

_REGISTRIES = words(
    "pypi.org files.pythonhosted.org test.pypi.org upload.pypi.org download.pytorch.org pypi.nvidia.com pypi.ngc.nvidia.com data.pyg.org storage.googleapis.com wheels.vllm.ai "
    "pypi.tuna.tsinghua.edu.cn mirrors.aliyun.com pypi.mirrors.ustc.edu.cn mirrors.ustc.edu.cn mirror.baidu.com "
    "registry.npmjs.org registry.yarnpkg.com registry.npmmirror.com npm.pkg.github.com npm.jsr.io jsr.io rubygems.org crates.io static.crates.io index.crates.io "
    "proxy.golang.org sum.golang.org goproxy.cn goproxy.io packagist.org repo.packagist.org conda.anaconda.org repo.anaconda.com repo1.maven.org deb.debian.org archive.ubuntu.com"
)
_SOURCE = regex(r"^(?:(?:git|hg|svn|bzr)\+|(?:https?|ftp|git|ssh)://|git@|(?:github|gitlab|bitbucket|gist|git):)")
_OWNER_REPO = regex(r"^[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.+)?$")
_SOURCES = (
    "index-url",
    "extra-index-url",
    "find-links",
    "trusted-host",
    "registry",
    "index_url",
    "index-server",
    "npmregistryserver",
)
_PACKAGE = "package"


def foreign(text: str, *, repositories: bool = False) -> bool:
    """Whether a package comes from an address instead of a registry; with `repositories`, `owner/name` is one too."""
    spec = text.split(" @ ", 1)[-1].strip()
    spec = spec.split("@", 1)[1] if re.match(r"^[\w.\[\]-]+@(?:git\+|https?:)", spec) else spec
    if _SOURCE.match(spec):
        return not usual(spec)
    return repositories and bool(_OWNER_REPO.match(spec)) and not spec.endswith((".tgz", ".tar.gz", "/"))


def usual(address: str) -> bool:
    host = address.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1].partition(":")[0]
    return host in _REGISTRIES or is_here(address)


def install(
    call: Call, packages: list[Word], what: str = "pkg.install", *, repositories: bool = False
) -> Iterator[Effect]:
    """An installation, judged by where each package comes from."""
    args = call.args
    address = args.value(
        "-i --index-url --extra-index-url --find-links --index --registry --source -s --default-index --repository --repo-url"
    )
    strange = [word for word in packages if foreign(word.text, repositories=repositories)]
    strange += [
        word
        for word in args.all("-r --requirement -c --constraint --from --with --spec -p --package --git -e --editable")
        if foreign(word.text)
    ]
    if args.has("--git"):
        strange += args.all("--git")
    if address is not None and "://" in address.text and not usual(address.text):
        strange.append(address)
    strange += [word for word in args.all("--trusted-host") if not usual(word.text)]
    if strange:
        yield call.effect("pkg.foreign", tuple(Target(word.shown, _PACKAGE) for word in strange))
    else:
        yield call.effect(what, tuple(Target(word.shown, _PACKAGE) for word in packages))


def _pip(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    yield from _pip_verb(call, operands[0].text if operands else "", operands[1:])


def _pip_verb(call: Call, verb: str, rest: list[Word]) -> Iterator[Effect]:
    if verb in ("install", "sync"):
        yield from install(call, rest, "pkg.system" if call.args.has("--break-system-packages") else "pkg.install")
    elif verb in ("download", "wheel", "compile"):
        yield call.effect("net.fetch")
    elif verb == "uninstall":
        # One package comes back with one command; of everything there was nobody has the list.
        whole = call.args.has("-r --requirement") or not rest or any(not word.known for word in rest)
        yield call.effect("pkg.remove.all" if whole else "pkg.remove", tuple(Target(w.shown, _PACKAGE) for w in rest))
    elif verb == "config" and rest and rest[0].text in ("set", "edit"):
        yield _setting(call, rest[1].text if len(rest) > 1 else "", rest[2].text if len(rest) > 2 else "")
    else:
        yield call.effect("pkg.read")


def _setting(call: Call, key: str, value: str) -> Effect:
    """A package manager's setting: where packages come from and who one is matter, the rest does not."""
    key, _, inline = key.partition("=")
    value = value or inline
    if key in ("script-shell", "shell", "git", "init-module", "node-options", "onload-script"):
        return call.effect("pkg.source", (Target(f"{key}={value}", "other"),), note="another program runs the scripts")
    if any(secret in key.lower() for secret in ("token", "password", "_auth", "credential")):
        return call.effect("cred.write", (Target(key, "other"),))
    unsafe = key.lower() in ("strict-ssl", "http.sslverify", "ssl_verify") and value.lower() in ("false", "0", "no")
    if unsafe or (key.lower().endswith(_SOURCES) and not usual(value)):
        return call.effect("pkg.source", (Target(value or key, "host"),))
    return call.effect("pkg.setting", (Target(key, "other"),))


def _poetry_config(call: Call) -> Iterator[Effect]:
    texts = [word.text for word in call.args.operands]
    yield _setting(call, *[*texts, "", ""][:2])


def _added(call: Call) -> Iterator[Effect]:
    yield from install(call, call.args.operands)


def _uv(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text if operands else ""
    if verb == "pip":
        yield from _pip_verb(call, operands[1].text if len(operands) > 1 else "", operands[2:])
    elif verb == "run":
        yield from install(call, [], "code.run")
    elif verb == "tool" and len(operands) > 1:
        if operands[1].text == "run":
            yield from install(call, operands[2:3], "pkg.run")
        elif operands[1].text == "uninstall":
            gone = tuple(Target(word.shown, _PACKAGE) for word in operands[2:])
            yield call.effect("pkg.remove" if gone else "pkg.system.remove", gone)
        else:
            yield from install(call, operands[2:])
    elif verb in ("add", "sync", "lock"):
        yield from install(call, operands[1:])
    elif verb == "publish":
        yield call.effect("pkg.publish")
    else:
        yield call.effect("pkg.read" if verb in ("tree", "version", "cache", "python", "self", "") else "code.build")


def _uvx(call: Call) -> Iterator[Effect]:
    yield from install(call, call.args.operands[:1], "pkg.run")


def _pipx(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text if operands else ""
    if verb in ("install", "inject", "upgrade"):
        yield from install(call, operands[1:])
    elif verb == "run":
        yield from install(call, operands[1:2], "pkg.run")
    elif verb in ("uninstall-all", "reinstall-all"):
        yield call.effect("pkg.system.remove" if verb == "uninstall-all" else "pkg.install")
    elif verb == "uninstall":
        yield call.effect("pkg.remove", tuple(Target(word.shown, _PACKAGE) for word in operands[1:]))
    else:
        yield call.effect("pkg.read")


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
        yield call.effect(what, tuple(Target(word.shown, _PACKAGE) for word in rest))
    elif verb in ("exec", "x", "dlx"):
        yield from install(call, rest[:1], "pkg.run", repositories=True)
    elif verb in ("init", "create", "innit"):
        yield from install(call, rest[:1], "pkg.run", repositories=call.name == "npm")
    elif verb == "config" and first in ("set", "edit", "delete", "rm"):
        yield _setting(call, rest[1].text if len(rest) > 1 else "", rest[2].text if len(rest) > 2 else "")
    elif verb == "set":
        yield _setting(call, first, rest[1].text if len(rest) > 1 else "")
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
    targets = tuple(Target(word.shown, _PACKAGE) for word in rest)
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
    yield from install(call, call.args.operands[:1], "pkg.run", repositories=True)
    yield from _brought(call, call.args.operands[:1])


_BRINGS = {
    "@angular/cli": "ng",
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


_GO_SOURCES = words("GOPROXY GOSUMDB GONOSUMDB GOINSECURE GONOSUMCHECK GOFLAGS")


def _go_env(call: Call) -> Iterator[Effect]:
    for word in call.args.operands:
        key, equals, value = word.text.partition("=")
        strange = key in _GO_SOURCES and any(
            part not in ("direct", "off", "on", "") and not usual(part) for part in value.split(",")
        )
        if equals and call.args.has("-w"):
            yield call.effect("pkg.source" if strange else "pkg.setting", (Target(word.shown, "other"),))


def _tasks(call: Call) -> Iterator[Effect]:
    """Maven goals, Gradle and sbt tasks: the names say what is published."""
    for word in call.args.operands:
        name = word.text.rsplit(":", 1)[-1]
        goal = word.text
        low = name.lower()
        if goal.endswith(("flyway:clean", "flywayClean", "liquibase:dropAll", "dropAll")):
            yield call.effect("db.drop", (Target("the configured database", "database"),))
        elif low in ("publishtomavenlocal", "publishlocal", "publishm2", "installdist"):
            yield call.effect("code.build")
        elif low in ("deploy", "deploy-file", "perform", "uploadarchives", "upload") or (
            low.startswith(("publish", "closeandrelease", "releasestaging")) and "local" not in low
        ):
            yield call.effect("pkg.publish", (Target(goal, "other"),))
    yield call.effect("code.build")


_PUBLISH = Does("pkg.publish", "*", _PACKAGE, bare=True)
_UNPUBLISH = Does("pkg.unpublish", "*", _PACKAGE, bare=True)
_ADMIN = Does("pkg.admin", "*", _PACKAGE, bare=True)
_READ = Does("pkg.read")
_BUILD = Does("code.build")
_REMOVE = Does("pkg.remove", "*", _PACKAGE, bare=True)
_LOGIN = Does("cred.write", note="stores a credential for the registry")
ADD = Program(call=_added)

_PIP_VALUES = (
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target --prefix --root --src --platform --python-version --python -p --log --proxy --timeout --retries "
    "--cache-dir -d --dest -w --wheel-dir --trusted-host --no-binary --only-binary --index --default-index --group --extra --format --exclude --progress-bar -e --editable --from --with --spec --package"
)
_NPM_VALUES = "--registry -w --workspace --prefix --tag --access --userconfig --cache --omit --include --otp --loglevel -C --dir --filter -F -p --package -c --call --cwd --reporter --new-version"

PROGRAMS: dict[str, Program] = {
    **programs(
        "pip pip3 pip2 pip3.9 pip3.10 pip3.11 pip3.12 pip3.13 pip3.14 pip-sync",
        Program(values=_PIP_VALUES, dry="--dry-run", call=_pip),
    ),
    "uv": Program(values=_PIP_VALUES + " --directory --project -m --module", dry="--dry-run", call=_uv),
    "uvx": Program(values=_PIP_VALUES, call=_uvx),
    "pipx": Program(values="--spec --python --pip-args --index-url -i --suffix", call=_pipx),
    **programs(
        "poetry pdm hatch flit rye pipenv",
        Program(
            values="-C --directory -P --project -G --group -E --extras --source -r --repository -u --username -p --password --python -e --env --build-dir",
            dry="--dry-run",
            subs={
                "add": ADD,
                "install": ADD,
                "sync": ADD,
                "update": ADD,
                "lock": _READ,
                "remove": _REMOVE,
                "uninstall": _REMOVE,
                "publish": _PUBLISH,
                "run": Does("code.run"),
                "env remove": Does(
                    "pkg.system.remove", "*", "other", when="--all", bare=True, note="every environment"
                ),
                "env prune": Does("pkg.system.remove", note="every environment"),
                "env use": _READ,
                "--rm": _REMOVE,
                "config": Program(call=_poetry_config),
                "source add": Does("pkg.source", "1", "host"),
                "self": _READ,
                "build": _BUILD,
            },
        ),
    ),
    "twine": Program(
        values="-r --repository --repository-url -u -p --config-file",
        subs={"upload": _PUBLISH, "register": _PUBLISH, "check": _READ},
    ),
    "setup.py": Program(_BUILD, Does("pkg.publish", when="upload register")),
    **programs("anaconda", Program(subs={"upload": _PUBLISH, "remove": _UNPUBLISH, "login": _LOGIN})),
    **programs(
        "conda mamba micromamba",
        Program(
            values="-n --name -p --prefix -c --channel -f --file --add --set --prepend --append --remove",
            dry="-d --dry-run",
            subs={
                "install": ADD,
                "create": ADD,
                "update": ADD,
                "env create": ADD,
                "env update": ADD,
                "env remove": Does(
                    "pkg.system.remove", "-n --name -p --prefix", "other", bare=True, note="a whole environment"
                ),
                "env list": _READ,
                "remove": (
                    Does(
                        "pkg.system.remove",
                        "-n --name -p --prefix",
                        "other",
                        when="--all",
                        bare=True,
                        note="a whole environment",
                    ),
                    Does("pkg.remove", "*", _PACKAGE),
                ),
                "uninstall": _REMOVE,
                "config": Does("pkg.source", "--add|--set|--prepend|--append", "other"),
                "run": Does("code.run"),
            },
        ),
    ),
    **programs("npm pnpm yarn bun cnpm yarnpkg", Program(values=_NPM_VALUES, dry="--dry-run", call=_npm)),
    **programs("npx bunx pnpx", Program(values="-p --package -c --call -w --workspace --registry --cache", call=_npx)),
    "lerna": Program(_BUILD, subs={"publish": _PUBLISH}),
    "changeset": Program(_BUILD, subs={"publish": _PUBLISH}),
    **programs(
        "semantic-release release-it np auto-release goreleaser",
        Program(
            _PUBLISH, dry="-d --dry-run --snapshot --preview", subs={"check": _READ, "init": _READ, "build": _BUILD}
        ),
    ),
    **programs(
        "vsce ovsx", Program(subs={"publish": _PUBLISH, "unpublish": _UNPUBLISH, "login": _LOGIN, "package": _BUILD})
    ),
    "jsr": Program(dry="--dry-run", subs={"publish": _PUBLISH}),
    "cargo": Program(
        _BUILD,
        values="-p --package --bin --example --test --features --target --manifest-path --version --vers --git --branch --tag --rev --path --registry --token -j --jobs --profile --add --remove -Z --index -a -r --root",
        dry="--dry-run -n",
        subs={
            "install": ADD,
            "add": ADD,
            "uninstall": _REMOVE,
            "remove": _REMOVE,
            "rm": _REMOVE,
            "publish": _PUBLISH,
            "yank": Does(
                "pkg.admin",
                "*",
                _PACKAGE,
                unless="--undo",
                bare=True,
                note="new projects can no longer use the version",
            ),
            "owner": Does("pkg.admin", "*", _PACKAGE, when="-a --add -r --remove", bare=True),
            "login": _LOGIN,
            "logout": _LOGIN,
            "release": Does("pkg.publish", when="--execute -x"),
        },
    ),
    "go": Program(
        _BUILD,
        values="-o -C -mod -modfile -tags -ldflags -gcflags -p -run -bench -timeout -coverprofile -exec -toolexec",
        single=True,
        subs={"install": ADD, "get": ADD, "env": Program(call=_go_env), "telemetry": _READ},
    ),
    "gem": Program(
        _READ,
        values="-v --version -s --source -i --install-dir -n --bindir -k --key --host -a --add -r --remove",
        subs={
            "install": ADD,
            "update": ADD,
            "push": _PUBLISH,
            "yank": _UNPUBLISH,
            "owner": Does("pkg.admin", "*", _PACKAGE, when="-a --add -r --remove"),
            "sources": Does("pkg.source", "-a --add", "host"),
            "signin": _LOGIN,
            "uninstall": _REMOVE,
            "cleanup": _REMOVE,
            "build": _BUILD,
        },
    ),
    **programs(
        "bundle bundler",
        Program(
            values="--path --gemfile -j --jobs --without --with --group",
            subs={
                "install": ADD,
                "update": ADD,
                "add": ADD,
                "exec": Does("code.run"),
                "remove": _REMOVE,
                "config": _READ,
            },
        ),
    ),
    "composer": Program(
        values="-d --working-dir",
        dry="--dry-run",
        subs={
            "install": ADD,
            "update": ADD,
            "require": ADD,
            "remove": _REMOVE,
            "global require": ADD,
            "exec": Does("code.run"),
        },
    ),
    **programs(
        "mvn mvnw",
        Program(
            values="-f --file -P --activate-profiles -pl --projects -D --define -s --settings -T --threads -l --log-file",
            call=_tasks,
        ),
    ),
    **programs(
        "gradle gradlew",
        Program(
            values="-p --project-dir -x --exclude-task -b --build-file -c --settings-file -I --init-script -g",
            dry="-m --dry-run",
            call=_tasks,
        ),
    ),
    "sbt": Program(call=_tasks),
    "dotnet": Program(
        _BUILD,
        values="-c --configuration -o --output -f --framework -r --runtime -k --api-key -s --source -p --project -v --verbosity",
        dry="--dry-run",
        subs={
            "nuget push": _PUBLISH,
            "nuget delete": _UNPUBLISH,
            "nuget add source": Does("pkg.source", "0", "host"),
            "restore": ADD,
            "add package": ADD,
            "tool install": ADD,
            "ef database drop": (
                Does("db.drop", when="-f --force"),
                Does("db.drop", unless="-f --force", recoverable=True),
            ),
            "ef database update": Does("db.schema"),
            "user-secrets list": Does("cred.read"),
        },
    ),
    "nuget": Program(
        _READ,
        subs={
            "push": _PUBLISH,
            "delete": _UNPUBLISH,
            "install": ADD,
            "sources": Does("pkg.source", when="add", bare=True),
        },
    ),
    "pod": Program(
        _BUILD, subs={"trunk push": _PUBLISH, "trunk delete": _UNPUBLISH, "trunk deprecate": _ADMIN, "install": ADD}
    ),
    **programs(
        "cabal stack", Program(_BUILD, subs={"upload": Does("pkg.publish", "*", _PACKAGE, when="--publish", bare=True)})
    ),
    "luarocks": Program(_READ, subs={"install": ADD, "upload": _PUBLISH, "remove": _REMOVE}),
    "cpan": Program(Does("pkg.install", "*", _PACKAGE)),
    "cpanm": ADD,
    "conan": Program(_BUILD, subs={"upload": _PUBLISH, "install": ADD, "remove": _REMOVE}),
    "flutter": Program(_BUILD, dry="-n --dry-run", subs={"pub publish": _PUBLISH, "clean": _BUILD}),
    "pub": Program(_READ, dry="-n --dry-run", subs={"publish": _PUBLISH}),
    **programs(
        "rustup nvm fnm volta pyenv rbenv asdf mise sdk jenv n goenv tfenv nodenv rtx sdkman",
        Program(
            Does("pkg.install", when="install update upgrade use"),
            _READ,
            subs={
                "exec": Does("code.run"),
                "run": Does("code.run"),
                "uninstall": Does("pkg.system.remove", "*", _PACKAGE),
                "self uninstall": Does("pkg.system.remove"),
            },
        ),
    ),
}
