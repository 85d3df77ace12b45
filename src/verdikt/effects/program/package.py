"""Package managers: what is installed and from where, what is published, what is taken away from everybody."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.package_registry import (
    ADD,
    ADMIN,
    BUILD,
    LOGIN,
    PACKAGE,
    PUBLISH,
    READ,
    REMOVE,
    UNPUBLISH,
    classify_install,
    classify_setting,
    is_known_registry,
)
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word


def _pip(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    yield from _pip_verb(call, operands[0].text if operands else "", operands[1:])


def _pip_verb(call: Invocation, verb: str, rest: list[Word]) -> Iterator[Effect]:
    if verb in ("install", "sync"):
        yield from classify_install(
            call, rest, "pkg.system" if call.args.has_flag("--break-system-packages") else "pkg.install"
        )
    elif verb in ("download", "wheel", "compile"):
        yield call.make_effect("net.fetch")
    elif verb == "uninstall":
        # One package is reinstalled with one command; of everything that was installed there is no list.
        whole = call.args.has_flag("-r --requirement") or not rest or any(not word.is_known for word in rest)
        yield call.make_effect(
            "pkg.remove.all" if whole else "pkg.remove", tuple(Target(w.display_text, PACKAGE) for w in rest)
        )
    elif verb == "config" and rest and rest[0].text in ("set", "edit"):
        yield classify_setting(call, rest[1].text if len(rest) > 1 else "", rest[2].text if len(rest) > 2 else "")
    else:
        yield call.make_effect("pkg.read")


def _poetry_config(call: Invocation) -> Iterator[Effect]:
    texts = [word.text for word in call.args.operands]
    yield classify_setting(call, *[*texts, "", ""][:2])


def _uv(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text if operands else ""
    if verb == "pip":
        yield from _pip_verb(call, operands[1].text if len(operands) > 1 else "", operands[2:])
    elif verb == "run":
        yield from classify_install(call, [], "code.run")
    elif verb == "tool" and len(operands) > 1:
        if operands[1].text == "run":
            yield from classify_install(call, operands[2:3], "pkg.run")
        elif operands[1].text == "uninstall":
            gone = tuple(Target(word.display_text, PACKAGE) for word in operands[2:])
            yield call.make_effect("pkg.remove" if gone else "pkg.system.remove", gone)
        else:
            yield from classify_install(call, operands[2:])
    elif verb in ("add", "sync", "lock"):
        yield from classify_install(call, operands[1:])
    elif verb == "publish":
        yield call.make_effect("pkg.publish")
    else:
        yield call.make_effect(
            "pkg.read" if verb in ("tree", "version", "cache", "python", "self", "") else "code.build"
        )


def _uvx(call: Invocation) -> Iterator[Effect]:
    yield from classify_install(call, call.args.operands[:1], "pkg.run")


def _pipx(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text if operands else ""
    if verb in ("install", "inject", "upgrade"):
        yield from classify_install(call, operands[1:])
    elif verb == "run":
        yield from classify_install(call, operands[1:2], "pkg.run")
    elif verb in ("uninstall-all", "reinstall-all"):
        yield call.make_effect("pkg.system.remove" if verb == "uninstall-all" else "pkg.install")
    elif verb == "uninstall":
        yield call.make_effect("pkg.remove", tuple(Target(word.display_text, PACKAGE) for word in operands[1:]))
    else:
        yield call.make_effect("pkg.read")


_GO_SOURCES = word_set("GOPROXY GOSUMDB GONOSUMDB GOINSECURE GONOSUMCHECK GOFLAGS")


def _go_env(call: Invocation) -> Iterator[Effect]:
    for word in call.args.operands:
        key, equals, value = word.text.partition("=")
        strange = key in _GO_SOURCES and any(
            part not in ("direct", "off", "on", "") and not is_known_registry(part) for part in value.split(",")
        )
        if equals and call.args.has_flag("-w"):
            yield call.make_effect("pkg.source" if strange else "pkg.setting", (Target(word.display_text, "other"),))


def _tasks(call: Invocation) -> Iterator[Effect]:
    """Maven goals, Gradle and sbt tasks: the names say what is published."""
    for word in call.args.operands:
        name = word.text.rsplit(":", 1)[-1]
        goal = word.text
        low = name.lower()
        if goal.endswith(("flyway:clean", "flywayClean", "liquibase:dropAll", "dropAll")):
            yield call.make_effect("db.drop", (Target("the configured database", "database"),))
        elif low in ("publishtomavenlocal", "publishlocal", "publishm2", "installdist"):
            yield call.make_effect("code.build")
        elif low in ("deploy", "deploy-file", "perform", "uploadarchives", "upload") or (
            low.startswith(("publish", "closeandrelease", "releasestaging")) and "local" not in low
        ):
            yield call.make_effect("pkg.publish", (Target(goal, "other"),))
    yield call.make_effect("code.build")


_PIP_VALUES = (
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target --prefix --root "
    "--src --platform --python-version --python -p --log --proxy --timeout --retries --cache-dir -d --dest -w "
    "--wheel-dir --trusted-host --no-binary --only-binary --index --default-index --group --extra --format --exclude "
    "--progress-bar -e --editable --from --with --spec --package"
)

PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "pip pip3 pip2 pip3.9 pip3.10 pip3.11 pip3.12 pip3.13 pip3.14 pip-sync",
        Program(value_flags=_PIP_VALUES, dry_run_flags="--dry-run", classify=_pip),
    ),
    "uv": Program(
        value_flags=_PIP_VALUES + " --directory --project -m --module", dry_run_flags="--dry-run", classify=_uv
    ),
    "uvx": Program(value_flags=_PIP_VALUES, classify=_uvx),
    "pipx": Program(value_flags="--spec --python --pip-args --index-url -i --suffix", classify=_pipx),
    **alias_programs(
        "poetry pdm hatch flit rye pipenv",
        Program(
            value_flags="-C --directory -P --project -G --group -E --extras --source -r --repository -u --username -p --password --python -e --env --build-dir",
            dry_run_flags="--dry-run",
            subcommands={
                "add": ADD,
                "install": ADD,
                "sync": ADD,
                "update": ADD,
                "lock": READ,
                "remove": REMOVE,
                "uninstall": REMOVE,
                "publish": PUBLISH,
                "run": EffectSpec("code.run"),
                "env remove": EffectSpec(
                    "pkg.system.remove", "*", "other", when="--all", without_target=True, note="every environment"
                ),
                "env prune": EffectSpec("pkg.system.remove", note="every environment"),
                "env use": READ,
                "--rm": REMOVE,
                "config": Program(classify=_poetry_config),
                "source add": EffectSpec("pkg.source", "1", "host"),
                "self": READ,
                "build": BUILD,
            },
        ),
    ),
    "twine": Program(
        value_flags="-r --repository --repository-url -u -p --config-file",
        subcommands={"upload": PUBLISH, "register": PUBLISH, "check": READ},
    ),
    "setup.py": Program(BUILD, EffectSpec("pkg.publish", when="upload register")),
    **alias_programs("anaconda", Program(subcommands={"upload": PUBLISH, "remove": UNPUBLISH, "login": LOGIN})),
    **alias_programs(
        "conda mamba micromamba",
        Program(
            value_flags="-n --name -p --prefix -c --channel -f --file --add --set --prepend --append --remove",
            dry_run_flags="-d --dry-run",
            subcommands={
                "install": ADD,
                "create": ADD,
                "update": ADD,
                "env create": ADD,
                "env update": ADD,
                "env remove": EffectSpec(
                    "pkg.system.remove",
                    "-n --name -p --prefix",
                    "other",
                    without_target=True,
                    note="a whole environment",
                ),
                "env list": READ,
                "remove": (
                    EffectSpec(
                        "pkg.system.remove",
                        "-n --name -p --prefix",
                        "other",
                        when="--all",
                        without_target=True,
                        note="a whole environment",
                    ),
                    EffectSpec("pkg.remove", "*", PACKAGE),
                ),
                "uninstall": REMOVE,
                "config": EffectSpec("pkg.source", "--add|--set|--prepend|--append", "other"),
                "run": EffectSpec("code.run"),
            },
        ),
    ),
    "cargo": Program(
        BUILD,
        value_flags="-p --package --bin --example --test --features --target --manifest-path --version --vers --git --branch --tag --rev --path --registry --token -j --jobs --profile --add --remove -Z --index -a -r --root",
        dry_run_flags="--dry-run -n",
        subcommands={
            "install": ADD,
            "add": ADD,
            "uninstall": REMOVE,
            "remove": REMOVE,
            "rm": REMOVE,
            "publish": PUBLISH,
            "yank": EffectSpec(
                "pkg.admin",
                "*",
                PACKAGE,
                unless="--undo",
                without_target=True,
                note="new projects can no longer use the version",
            ),
            "owner": EffectSpec("pkg.admin", "*", PACKAGE, when="-a --add -r --remove", without_target=True),
            "login": LOGIN,
            "logout": LOGIN,
            "release": EffectSpec("pkg.publish", when="--execute -x"),
        },
    ),
    "go": Program(
        BUILD,
        value_flags="-o -C -mod -modfile -tags -ldflags -gcflags -p -run -bench -timeout -coverprofile -exec -toolexec",
        single_dash=True,
        subcommands={"install": ADD, "get": ADD, "env": Program(classify=_go_env), "telemetry": READ},
    ),
    "gem": Program(
        READ,
        value_flags="-v --version -s --source -i --install-dir -n --bindir -k --key --host -a --add -r --remove",
        subcommands={
            "install": ADD,
            "update": ADD,
            "push": PUBLISH,
            "yank": UNPUBLISH,
            "owner": EffectSpec("pkg.admin", "*", PACKAGE, when="-a --add -r --remove"),
            "sources": EffectSpec("pkg.source", "-a --add", "host"),
            "signin": LOGIN,
            "uninstall": REMOVE,
            "cleanup": REMOVE,
            "build": BUILD,
        },
    ),
    **alias_programs(
        "bundle bundler",
        Program(
            value_flags="--path --gemfile -j --jobs --without --with --group",
            subcommands={
                "install": ADD,
                "update": ADD,
                "add": ADD,
                "exec": EffectSpec("code.run"),
                "remove": REMOVE,
                "config": READ,
            },
        ),
    ),
    "composer": Program(
        value_flags="-d --working-dir",
        dry_run_flags="--dry-run",
        subcommands={
            "install": ADD,
            "update": ADD,
            "require": ADD,
            "remove": REMOVE,
            "global require": ADD,
            "exec": EffectSpec("code.run"),
        },
    ),
    **alias_programs(
        "mvn mvnw",
        Program(
            value_flags="-f --file -P --activate-profiles -pl --projects -D --define -s --settings -T --threads -l --log-file",
            classify=_tasks,
        ),
    ),
    **alias_programs(
        "gradle gradlew",
        Program(
            value_flags="-p --project-dir -x --exclude-task -b --build-file -c --settings-file -I --init-script -g",
            dry_run_flags="-m --dry-run",
            classify=_tasks,
        ),
    ),
    "sbt": Program(classify=_tasks),
    "dotnet": Program(
        BUILD,
        value_flags="-c --configuration -o --output -f --framework -r --runtime -k --api-key -s --source -p --project -v --verbosity",
        dry_run_flags="--dry-run",
        subcommands={
            "nuget push": PUBLISH,
            "nuget delete": UNPUBLISH,
            "nuget add source": EffectSpec("pkg.source", "0", "host"),
            "restore": ADD,
            "add package": ADD,
            "tool install": ADD,
            "ef database drop": (
                EffectSpec("db.drop", when="-f --force"),
                EffectSpec("db.drop", unless="-f --force", recoverable=True),
            ),
            "ef database update": EffectSpec("db.schema"),
            "user-secrets list": EffectSpec("cred.read"),
        },
    ),
    "nuget": Program(
        READ,
        subcommands={
            "push": PUBLISH,
            "delete": UNPUBLISH,
            "install": ADD,
            "sources": EffectSpec("pkg.source", when="add", without_target=True),
        },
    ),
    "pod": Program(
        BUILD, subcommands={"trunk push": PUBLISH, "trunk delete": UNPUBLISH, "trunk deprecate": ADMIN, "install": ADD}
    ),
    **alias_programs(
        "cabal stack",
        Program(
            BUILD,
            subcommands={"upload": EffectSpec("pkg.publish", "*", PACKAGE, when="--publish", without_target=True)},
        ),
    ),
    "luarocks": Program(READ, subcommands={"install": ADD, "upload": PUBLISH, "remove": REMOVE}),
    "cpan": Program(EffectSpec("pkg.install", "*", PACKAGE)),
    "cpanm": ADD,
    "conan": Program(BUILD, subcommands={"upload": PUBLISH, "install": ADD, "remove": REMOVE}),
    "flutter": Program(BUILD, dry_run_flags="-n --dry-run", subcommands={"pub publish": PUBLISH, "clean": BUILD}),
    "pub": Program(READ, dry_run_flags="-n --dry-run", subcommands={"publish": PUBLISH}),
    **alias_programs(
        "rustup nvm fnm volta pyenv rbenv asdf mise sdk jenv n goenv tfenv nodenv rtx sdkman",
        Program(
            EffectSpec("pkg.install", when="install update upgrade use"),
            READ,
            subcommands={
                "exec": EffectSpec("code.run"),
                "run": EffectSpec("code.run"),
                "uninstall": EffectSpec("pkg.system.remove", "*", PACKAGE),
                "self uninstall": EffectSpec("pkg.system.remove"),
            },
        ),
    ),
}
