"""Package managers: what is installed and from where, what is published, what is taken away from everybody."""

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
from verdikt.shell.command import Word


def classify_pip(call: Invocation) -> Iterator[Effect]:
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


def classify_poetry_config(call: Invocation) -> Iterator[Effect]:
    texts = [word.text for word in call.args.operands]
    yield classify_setting(call, *[*texts, "", ""][:2])


def classify_uv(call: Invocation) -> Iterator[Effect]:
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


def classify_uvx(call: Invocation) -> Iterator[Effect]:
    yield from classify_install(call, call.args.operands[:1], "pkg.run")


def classify_pipx(call: Invocation) -> Iterator[Effect]:
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


def classify_go_env(call: Invocation) -> Iterator[Effect]:
    for word in call.args.operands:
        key, equals, value = word.text.partition("=")
        strange = key in _GO_SOURCES and any(
            part not in ("direct", "off", "on", "") and not is_known_registry(part) for part in value.split(",")
        )
        if equals and call.args.has_flag("-w"):
            yield call.make_effect("pkg.source" if strange else "pkg.setting", (Target(word.display_text, "other"),))


def classify_tasks(call: Invocation) -> Iterator[Effect]:
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
