"""Package managers: what is installed and from where, what is published, what is taken away from everybody."""

from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.registry import (
    ADD,
    ADMIN,
    BUILD,
    LOGIN,
    PACKAGE,
    PUBLISH,
    READ,
    REMOVE,
    UNPUBLISH,
    install,
    setting,
    usual,
)
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word


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
        yield call.effect("pkg.remove.all" if whole else "pkg.remove", tuple(Target(w.shown, PACKAGE) for w in rest))
    elif verb == "config" and rest and rest[0].text in ("set", "edit"):
        yield setting(call, rest[1].text if len(rest) > 1 else "", rest[2].text if len(rest) > 2 else "")
    else:
        yield call.effect("pkg.read")


def _poetry_config(call: Call) -> Iterator[Effect]:
    texts = [word.text for word in call.args.operands]
    yield setting(call, *[*texts, "", ""][:2])


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
            gone = tuple(Target(word.shown, PACKAGE) for word in operands[2:])
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
        yield call.effect("pkg.remove", tuple(Target(word.shown, PACKAGE) for word in operands[1:]))
    else:
        yield call.effect("pkg.read")


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


_PIP_VALUES = (
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target --prefix --root --src --platform --python-version --python -p --log --proxy --timeout --retries "
    "--cache-dir -d --dest -w --wheel-dir --trusted-host --no-binary --only-binary --index --default-index --group --extra --format --exclude --progress-bar -e --editable --from --with --spec --package"
)

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
                "lock": READ,
                "remove": REMOVE,
                "uninstall": REMOVE,
                "publish": PUBLISH,
                "run": Does("code.run"),
                "env remove": Does(
                    "pkg.system.remove", "*", "other", when="--all", bare=True, note="every environment"
                ),
                "env prune": Does("pkg.system.remove", note="every environment"),
                "env use": READ,
                "--rm": REMOVE,
                "config": Program(call=_poetry_config),
                "source add": Does("pkg.source", "1", "host"),
                "self": READ,
                "build": BUILD,
            },
        ),
    ),
    "twine": Program(
        values="-r --repository --repository-url -u -p --config-file",
        subs={"upload": PUBLISH, "register": PUBLISH, "check": READ},
    ),
    "setup.py": Program(BUILD, Does("pkg.publish", when="upload register")),
    **programs("anaconda", Program(subs={"upload": PUBLISH, "remove": UNPUBLISH, "login": LOGIN})),
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
                "env list": READ,
                "remove": (
                    Does(
                        "pkg.system.remove",
                        "-n --name -p --prefix",
                        "other",
                        when="--all",
                        bare=True,
                        note="a whole environment",
                    ),
                    Does("pkg.remove", "*", PACKAGE),
                ),
                "uninstall": REMOVE,
                "config": Does("pkg.source", "--add|--set|--prepend|--append", "other"),
                "run": Does("code.run"),
            },
        ),
    ),
    "cargo": Program(
        BUILD,
        values="-p --package --bin --example --test --features --target --manifest-path --version --vers --git --branch --tag --rev --path --registry --token -j --jobs --profile --add --remove -Z --index -a -r --root",
        dry="--dry-run -n",
        subs={
            "install": ADD,
            "add": ADD,
            "uninstall": REMOVE,
            "remove": REMOVE,
            "rm": REMOVE,
            "publish": PUBLISH,
            "yank": Does(
                "pkg.admin",
                "*",
                PACKAGE,
                unless="--undo",
                bare=True,
                note="new projects can no longer use the version",
            ),
            "owner": Does("pkg.admin", "*", PACKAGE, when="-a --add -r --remove", bare=True),
            "login": LOGIN,
            "logout": LOGIN,
            "release": Does("pkg.publish", when="--execute -x"),
        },
    ),
    "go": Program(
        BUILD,
        values="-o -C -mod -modfile -tags -ldflags -gcflags -p -run -bench -timeout -coverprofile -exec -toolexec",
        single=True,
        subs={"install": ADD, "get": ADD, "env": Program(call=_go_env), "telemetry": READ},
    ),
    "gem": Program(
        READ,
        values="-v --version -s --source -i --install-dir -n --bindir -k --key --host -a --add -r --remove",
        subs={
            "install": ADD,
            "update": ADD,
            "push": PUBLISH,
            "yank": UNPUBLISH,
            "owner": Does("pkg.admin", "*", PACKAGE, when="-a --add -r --remove"),
            "sources": Does("pkg.source", "-a --add", "host"),
            "signin": LOGIN,
            "uninstall": REMOVE,
            "cleanup": REMOVE,
            "build": BUILD,
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
                "remove": REMOVE,
                "config": READ,
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
            "remove": REMOVE,
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
        BUILD,
        values="-c --configuration -o --output -f --framework -r --runtime -k --api-key -s --source -p --project -v --verbosity",
        dry="--dry-run",
        subs={
            "nuget push": PUBLISH,
            "nuget delete": UNPUBLISH,
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
        READ,
        subs={
            "push": PUBLISH,
            "delete": UNPUBLISH,
            "install": ADD,
            "sources": Does("pkg.source", when="add", bare=True),
        },
    ),
    "pod": Program(
        BUILD, subs={"trunk push": PUBLISH, "trunk delete": UNPUBLISH, "trunk deprecate": ADMIN, "install": ADD}
    ),
    **programs(
        "cabal stack", Program(BUILD, subs={"upload": Does("pkg.publish", "*", PACKAGE, when="--publish", bare=True)})
    ),
    "luarocks": Program(READ, subs={"install": ADD, "upload": PUBLISH, "remove": REMOVE}),
    "cpan": Program(Does("pkg.install", "*", PACKAGE)),
    "cpanm": ADD,
    "conan": Program(BUILD, subs={"upload": PUBLISH, "install": ADD, "remove": REMOVE}),
    "flutter": Program(BUILD, dry="-n --dry-run", subs={"pub publish": PUBLISH, "clean": BUILD}),
    "pub": Program(READ, dry="-n --dry-run", subs={"publish": PUBLISH}),
    **programs(
        "rustup nvm fnm volta pyenv rbenv asdf mise sdk jenv n goenv tfenv nodenv rtx sdkman",
        Program(
            Does("pkg.install", when="install update upgrade use"),
            READ,
            subs={
                "exec": Does("code.run"),
                "run": Does("code.run"),
                "uninstall": Does("pkg.system.remove", "*", PACKAGE),
                "self uninstall": Does("pkg.system.remove"),
            },
        ),
    ),
}
