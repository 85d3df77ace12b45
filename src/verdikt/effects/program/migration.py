"""Tools that move a schema forth and back, and frameworks that do so by a word."""

import re
import shlex
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from verdikt.effects.arguments import word_set
from verdikt.effects.code import classify_code
from verdikt.effects.code.sql import classify_sql
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.host import is_local_address as is_here
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_TEST = compile_lazily(r"(?i)(?:^|[._-])test(?:ing|s)?(?:$|[._-])")
_LIVE = compile_lazily(r"\b(?:prod|production|live|staging)\b", re.IGNORECASE)


def _live(call: Invocation) -> bool:
    """Whether the environment says that the database is one that others use."""
    near = (*find_preceding(call.command, call.commands), call.command)
    assigned = [pair for command in near for pair in command.assignments]
    exported = [word for command in near if command.name == "export" for word in command.argv[1:]]
    assigned += [(word.text.partition("=")[0], Word(word.text.partition("=")[2])) for word in exported]
    named = call.args.get_values("-e --env --environment --database --settings")
    return any(name.endswith(("ENV", "ENVIRONMENT")) and _LIVE.search(value.text) for name, value in assigned) or any(
        _LIVE.search(word.text) for word in named
    )


def _forward(call: Invocation) -> Effect:
    """Classify a forward migration of a database that others may use, unless its address is on this machine."""
    around = (
        *[c for c in find_preceding(call.command, call.commands) if len(c.via) < len(call.command.via)][-1:],
        call.command,
    )
    addresses = [value.text for c in around for name, value in c.assignments if name.endswith(("URL", "DSN", "URI"))]
    if addresses and all(map(is_here, addresses)):
        return call.make_effect("db.schema", note="on this machine")
    return call.make_effect("db.migrate.live", (Target("the configured database", "database"),))


def _for_tests(judge: Callable[..., Iterator[Effect]]) -> Callable[..., Iterator[Effect]]:
    """Return a classifier of the same command for a test database, which the next test run builds again."""

    @wraps(judge)
    def classify_for_tests(call: Invocation, **settings: Any) -> Iterator[Effect]:
        for effect in judge(call, **settings):
            lost = effect.what in ("db.drop", "db.migrate.back", "db.delete.all")
            yield call.make_effect("db.schema", note="a database for tests") if lost and _is_for_tests(call) else effect

    return classify_for_tests


def _is_for_tests(call: Invocation) -> bool:
    """Whether a variable before the command, or a flag, says that it is for tests."""
    around = [c for c in find_preceding(call.command, call.commands) if len(c.via) < len(call.command.via)]
    if any(_TEST.search(word.text) for word in call.args.get_values("--env --environment")) or any(
        word.text in ("--env=testing", "--env=test") for word in call.command.argv
    ):
        return True
    return any(
        name.endswith(("_ENV", "ENVIRONMENT", "SETTINGS_MODULE")) and _TEST.search(value.text)
        for command in (call.command, *around[-1:])
        for name, value in command.assignments
    )


def _classify_console_code(call: Invocation, language: str, code: Word | None) -> Iterator[Effect]:
    """Program text for a framework's own console, read like any other."""
    if code is None:
        yield call.make_effect("code.run")
    elif not code.is_known:
        yield call.make_effect("code.unknown", possible=True)
    else:
        yield from classify_code(language, code.text, call)


@_for_tests
def classify_migration(
    call: Invocation, *, sure: str = "", lose: str = "", back: str = "", change: str = "", light: bool = False
) -> Iterator[Effect]:
    """Return a migration tool: words that lose everything, words that go back, flags that skip the confirmation."""
    losing, backing, changing = word_set(lose), word_set(back), word_set(change)
    losing, backing, changing = word_set(lose), word_set(back), word_set(change)
    path = [word.text for word in call.args.operands]
    phrases = {" ".join(path[i : i + n]) for n in (1, 2, 3) for i in range(min(len(path), 4))} | {
        part for word in path[:4] for part in word.split(" ")
    }
    target = (Target("the configured database", "database"),)
    asked = bool(sure) and not call.args.has_flag(sure)
    if any(phrase.replace(" ", "+") in losing for phrase in phrases):
        yield call.make_effect("db.drop", target, recoverable=(asked or light) and not _live(call))
    elif any(phrase.replace(" ", "+") in backing for phrase in phrases):
        whole = any(
            word in ("base", "zero", "0", "--all", "-all", "all") or word.endswith(":all") for word in path[1:]
        ) or call.args.has_flag("--all -all")
        yield call.make_effect("db.migrate.back", target, note="back to nothing" if whole else "")
    elif any(phrase.replace(" ", "+") in changing for phrase in phrases):
        yield _forward(call)
    else:
        yield call.make_effect("db.schema")


@_for_tests
def classify_alembic(call: Invocation) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    if names[:1] == ["downgrade"]:
        whole = "base" in names[1:2]
        target = (Target("the configured database", "database"),)
        yield call.make_effect(
            "db.drop" if whole else "db.migrate.back", target, note="back to nothing" if whole else ""
        )
    else:
        yield call.make_effect("db.schema")


@_for_tests
def classify_prisma(call: Invocation) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands[:2]]
    target = (Target("the configured database", "database"),)
    if names == ["migrate", "reset"]:
        yield call.make_effect("db.drop", target, recoverable=not call.args.has_flag("-f --force"))
    elif names == ["db", "push"] and call.args.has_flag("--force-reset --accept-data-loss"):
        yield call.make_effect("db.drop", target)
    elif names in (["migrate", "deploy"], ["db", "execute"], ["migrate", "resolve"]):
        yield _forward(call)
    else:
        yield call.make_effect("db.schema")


@_for_tests
def classify_django(call: Invocation) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    name = names[0] if names else ""
    unasked = call.args.has_flag("--no-input --noinput")
    target = (Target("the configured database", "database"),)
    if name in ("flush", "reset_db", "sqlflush_run", "delete_all", "cleardb", "drop_test_database"):
        yield call.make_effect("db.drop", target, recoverable=not unasked)
    elif name == "migrate" and "zero" in names[1:]:
        yield call.make_effect("db.migrate.back", target, note="back to nothing")
    elif name == "dbshell" and call.has_piped_input():
        yield call.make_effect("db.drop", target, recoverable=True, possible=True)
    elif name in ("changepassword", "createsuperuser", "drf_create_token"):
        yield call.make_effect("db.admin", target)
    elif name in ("shell", "shell_plus"):
        yield from _classify_console_code(call, "python", call.args.get_value("-c --command"))
    else:
        yield call.make_effect("code.run", (Target(name, "other"),))


_RAILS_DROP = word_set(
    "db:drop db:drop:all db:reset db:purge db:schema:load db:setup db:structure:load db:truncate_all "
    "db:migrate:reset db:seed:replant db:nuke"
)
_RAILS_BACK = word_set("db:rollback db:migrate:down db:migrate:redo")


@_for_tests
def classify_rails(call: Invocation) -> Iterator[Effect]:
    target = (Target("the configured database", "database"),)
    environment = [
        word.text.partition("=")[2] for word in call.args.operands if word.text.startswith(("RAILS_ENV=", "RACK_ENV="))
    ]
    live = _live(call) or any(_LIVE.search(text) for text in environment)
    for word in call.args.operands:
        if word.text in _RAILS_DROP:
            yield call.make_effect("db.drop", target, recoverable=not live)
        elif word.text in _RAILS_BACK:
            yield call.make_effect("db.migrate.back", target)
        elif word.text in ("credentials:show", "secrets:show", "credentials:edit"):
            yield call.make_effect("cred.read")
    if call.args.operands[:1] and call.args.operands[0].text in ("runner", "r") and len(call.args.operands) > 1:
        yield from _classify_console_code(call, "ruby", call.args.operands[1])
    yield call.make_effect("code.run")


_ARTISAN_DROP = word_set("migrate:fresh migrate:refresh migrate:reset db:wipe schema:drop")


@_for_tests
def classify_artisan(call: Invocation) -> Iterator[Effect]:
    name = call.args.operands[0].text if call.args.operands else ""
    target = (Target("the configured database", "database"),)
    if name in _ARTISAN_DROP:
        # Without `--force` it refuses to touch a database that others use.
        yield call.make_effect("db.drop", target, recoverable=not (call.args.has_flag("--force") or _live(call)))
    elif name == "migrate:rollback":
        yield call.make_effect("db.migrate.back", target)
    elif name == "tinker" and (text := call.args.get_value("--execute")) is not None:
        yield from classify_code("php", text.text, call)
    else:
        yield call.make_effect("code.run", (Target(name, "other"),))


def classify_wp_query(call: Invocation) -> Iterator[Effect]:
    for word in call.args.operands:
        yield from classify_sql(word.text, call, "mysql")


def classify_inside(call: Invocation) -> Iterator[Effect]:
    """`sail artisan …`: the rest is a command in the project's containers."""
    yield call.make_effect("container.exec")
    yield from call.classify_shell(shlex.join(word.text for word in call.command.argv[1:]))


def classify_console(call: Invocation) -> Iterator[Effect]:
    yield from call.classify_shell(shlex.join(["console", *(word.text for word in call.command.argv[2:])]))


@_for_tests
def classify_mix(call: Invocation) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    name = names[0] if names else ""
    target = (Target("the configured database", "database"),)
    if name in ("ecto.drop", "ecto.reset"):
        yield call.make_effect("db.drop", target, recoverable=not _live(call))
    elif name == "ecto.rollback":
        yield call.make_effect("db.migrate.back", target)
    elif name == "hex.publish":
        yield call.make_effect("pkg.unpublish" if call.args.has_flag("--revert") else "pkg.publish")
    else:
        yield call.make_effect("code.build")


def classify_goose(call: Invocation) -> Iterator[Effect]:
    """`goose DRIVER DSN down`: the verb comes after the connection."""
    if any(word.text in ("down", "down-to", "redo", "reset") for word in call.args.operands[2:4]):
        yield call.make_effect("db.migrate.back", (Target("the configured database", "database"),))
