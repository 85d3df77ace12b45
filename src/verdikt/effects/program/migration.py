"""Tools that move a schema forth and back, and frameworks that do so by a word."""

import re
import shlex
from collections.abc import Callable, Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.code.sql import read_sql
from verdikt.effects.program.storage import is_here
from verdikt.effects.program.table import Does, Program, programs
from verdikt.effects.surroundings import before
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import Word

_TEST = regex(r"(?i)(?:^|[._-])test(?:ing|s)?(?:$|[._-])")
_LIVE = regex(r"\b(?:prod|production|live|staging)\b", re.IGNORECASE)


def _live(call: Call) -> bool:
    """Whether the environment says that the database is one that others use."""
    near = (*before(call.command, call.commands), call.command)
    assigned = [pair for command in near for pair in command.assignments]
    exported = [word for command in near if command.name == "export" for word in command.argv[1:]]
    assigned += [(word.text.partition("=")[0], Word(word.text.partition("=")[2])) for word in exported]
    named = call.args.all("-e --env --environment --database --settings")
    return any(name.endswith(("ENV", "ENVIRONMENT")) and _LIVE.search(value.text) for name, value in assigned) or any(
        _LIVE.search(word.text) for word in named
    )


def _forward(call: Call) -> Effect:
    """A schema moved forth: of a database that others may use, unless its address is on this machine."""
    around = (
        *[c for c in before(call.command, call.commands) if len(c.via) < len(call.command.via)][-1:],
        call.command,
    )
    addresses = [value.text for c in around for name, value in c.assignments if name.endswith(("URL", "DSN", "URI"))]
    if addresses and all(map(is_here, addresses)):
        return call.effect("db.schema", note="on this machine")
    return call.effect("db.migrate.live", (Target("the configured database", "database"),))


def _for_tests(judge: Callable[[Call], Iterator[Effect]]) -> Callable[[Call], Iterator[Effect]]:
    """The same, but for a database that is made for tests and made again by the next one."""

    def judged(call: Call) -> Iterator[Effect]:
        for effect in judge(call):
            lost = effect.what in ("db.drop", "db.migrate.back", "db.delete.all")
            yield call.effect("db.schema", note="a database for tests") if lost and _tested(call) else effect

    return judged


def _tested(call: Call) -> bool:
    """Whether a variable before the command, or a flag, says that it is for tests."""
    around = [c for c in before(call.command, call.commands) if len(c.via) < len(call.command.via)]
    if any(_TEST.search(word.text) for word in call.args.all("--env --environment")) or any(
        word.text in ("--env=testing", "--env=test") for word in call.command.argv
    ):
        return True
    return any(
        name.endswith(("_ENV", "ENVIRONMENT", "SETTINGS_MODULE")) and _TEST.search(value.text)
        for command in (call.command, *around[-1:])
        for name, value in command.assignments
    )


def _told(call: Call, language: str, code: Word | None) -> Iterator[Effect]:
    """Program text for a framework's own console, read like any other."""
    from verdikt.effects.code import read_code

    if code is None:
        yield call.effect("code.run")
    elif not code.known:
        yield call.effect("code.unknown", possible=True)
    else:
        yield from read_code(language, code.text, call)


def _migration(sure: str = "", lose: str = "", back: str = "", *, change: str = "", light: bool = False) -> Program:
    """A migration tool: words that lose everything, words that go back, flags with which nobody is asked."""
    losing, backing, changing = words(lose), words(back), words(change)

    def judge(call: Call) -> Iterator[Effect]:
        path = [word.text for word in call.args.operands]
        phrases = {" ".join(path[i : i + n]) for n in (1, 2, 3) for i in range(min(len(path), 4))} | {
            part for word in path[:4] for part in word.split(" ")
        }
        target = (Target("the configured database", "database"),)
        asked = bool(sure) and not call.args.has(sure)
        if any(phrase.replace(" ", "+") in losing for phrase in phrases):
            yield call.effect("db.drop", target, recoverable=(asked or light) and not _live(call))
        elif any(phrase.replace(" ", "+") in backing for phrase in phrases):
            whole = any(
                word in ("base", "zero", "0", "--all", "-all", "all") or word.endswith(":all") for word in path[1:]
            ) or call.args.has("--all -all")
            yield call.effect("db.migrate.back", target, note="back to nothing" if whole else "")
        elif any(phrase.replace(" ", "+") in changing for phrase in phrases):
            yield _forward(call)
        else:
            yield call.effect("db.schema")

    return Program(
        dry="--sql --dry-run --dryRun --help -h",
        values="-e --env --environment --path -path --database -database --url -u --schema -c --config -n --name -m --message --settings",
        call=_for_tests(judge),
    )


def _alembic(call: Call) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    if names[:1] == ["downgrade"]:
        whole = "base" in names[1:2]
        target = (Target("the configured database", "database"),)
        yield call.effect("db.drop" if whole else "db.migrate.back", target, note="back to nothing" if whole else "")
    else:
        yield call.effect("db.schema")


def _prisma(call: Call) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands[:2]]
    target = (Target("the configured database", "database"),)
    if names == ["migrate", "reset"]:
        yield call.effect("db.drop", target, recoverable=not call.args.has("-f --force"))
    elif names == ["db", "push"] and call.args.has("--force-reset --accept-data-loss"):
        yield call.effect("db.drop", target)
    elif names in (["migrate", "deploy"], ["db", "execute"], ["migrate", "resolve"]):
        yield _forward(call)
    else:
        yield call.effect("db.schema")


def _django(call: Call) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    name = names[0] if names else ""
    unasked = call.args.has("--no-input --noinput")
    target = (Target("the configured database", "database"),)
    if name in ("flush", "reset_db", "sqlflush_run", "delete_all", "cleardb", "drop_test_database"):
        yield call.effect("db.drop", target, recoverable=not unasked)
    elif name == "migrate" and "zero" in names[1:]:
        yield call.effect("db.migrate.back", target, note="back to nothing")
    elif name == "dbshell" and call.reads_pipe():
        yield call.effect("db.drop", target, recoverable=True, possible=True)
    elif name in ("changepassword", "createsuperuser", "drf_create_token"):
        yield call.effect("db.admin", target)
    elif name in ("shell", "shell_plus"):
        yield from _told(call, "python", call.args.value("-c --command"))
    else:
        yield call.effect("code.run", (Target(name, "other"),))


_RAILS_DROP = words(
    "db:drop db:drop:all db:reset db:purge db:schema:load db:setup db:structure:load db:truncate_all db:migrate:reset db:seed:replant db:nuke"
)
_RAILS_BACK = words("db:rollback db:migrate:down db:migrate:redo")


def _rails(call: Call) -> Iterator[Effect]:
    target = (Target("the configured database", "database"),)
    environment = [
        word.text.partition("=")[2] for word in call.args.operands if word.text.startswith(("RAILS_ENV=", "RACK_ENV="))
    ]
    live = _live(call) or any(_LIVE.search(text) for text in environment)
    for word in call.args.operands:
        if word.text in _RAILS_DROP:
            yield call.effect("db.drop", target, recoverable=not live)
        elif word.text in _RAILS_BACK:
            yield call.effect("db.migrate.back", target)
        elif word.text in ("credentials:show", "secrets:show", "credentials:edit"):
            yield call.effect("cred.read")
    if call.args.operands[:1] and call.args.operands[0].text in ("runner", "r") and len(call.args.operands) > 1:
        yield from _told(call, "ruby", call.args.operands[1])
    yield call.effect("code.run")


_ARTISAN_DROP = words("migrate:fresh migrate:refresh migrate:reset db:wipe schema:drop")


def _artisan(call: Call) -> Iterator[Effect]:
    name = call.args.operands[0].text if call.args.operands else ""
    target = (Target("the configured database", "database"),)
    if name in _ARTISAN_DROP:
        # Without `--force` it refuses to touch a database that others use.
        yield call.effect("db.drop", target, recoverable=not (call.args.has("--force") or _live(call)))
    elif name == "migrate:rollback":
        yield call.effect("db.migrate.back", target)
    elif name == "tinker" and (text := call.args.value("--execute")) is not None:
        from verdikt.effects.code import read_code

        yield from read_code("php", text.text, call)
    else:
        yield call.effect("code.run", (Target(name, "other"),))


def _wp_query(call: Call) -> Iterator[Effect]:
    for word in call.args.operands:
        yield from read_sql(word.text, call, "mysql")


def _inside(call: Call) -> Iterator[Effect]:
    """`sail artisan …`: the rest is a command in the project's containers."""
    yield call.effect("container.exec")
    yield from call.shell(shlex.join(word.text for word in call.command.argv[1:]))


def _console(call: Call) -> Iterator[Effect]:
    yield from call.shell(shlex.join(["console", *(word.text for word in call.command.argv[2:])]))


def _mix(call: Call) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    name = names[0] if names else ""
    target = (Target("the configured database", "database"),)
    if name in ("ecto.drop", "ecto.reset"):
        yield call.effect("db.drop", target, recoverable=not _live(call))
    elif name == "ecto.rollback":
        yield call.effect("db.migrate.back", target)
    elif name == "hex.publish":
        yield call.effect("pkg.unpublish" if call.args.has("--revert") else "pkg.publish")
    else:
        yield call.effect("code.build")


def _goose(call: Call) -> Iterator[Effect]:
    """`goose DRIVER DSN down`: the verb comes after the connection."""
    if any(word.text in ("down", "down-to", "redo", "reset") for word in call.args.operands[2:4]):
        yield call.effect("db.migrate.back", (Target("the configured database", "database"),))


_DROP_DATABASE = Does("db.drop", "*", "database", bare=True)
_SCHEMA = Does("db.schema")


PROGRAMS: dict[str, Program] = {
    "alembic": Program(
        values="-c --config -n --name -x -m --message --rev-id --head", dry="--sql", call=_for_tests(_alembic)
    ),
    "flask": Program(
        Does("code.run"), subs={"db downgrade": Does("db.migrate.back", bare=True), "db upgrade": _SCHEMA}
    ),
    "prisma": Program(
        values="--schema --name -n --url --file --to-migrations --from-migrations",
        dry="--help -h",
        call=_for_tests(_prisma),
    ),
    **programs(
        "manage.py django-admin django-admin.py",
        Program(
            values="--settings --pythonpath --database -v --verbosity -c --command",
            dry="--plan --dry-run --check",
            call=_for_tests(_django),
        ),
    ),
    **programs(
        "rails rake",
        Program(values="-e --environment -f --rakefile -C --directory", dry="-n --dry-run", call=_for_tests(_rails)),
    ),
    "artisan": Program(
        values="--execute --database --path --env --seeder --class", dry="--pretend", call=_for_tests(_artisan)
    ),
    **programs("sail ddev lando lerd", Program(call=_inside)),
    "symfony": Program(Does("code.build"), subs={"console": Program(call=_console)}),
    **programs(
        "doctrine console doctrine-migrations",
        Program(
            Does("code.run"),
            subs={
                "doctrine:database:drop": Does("db.drop", "*", "database", bare=True, when="--force"),
                "doctrine:schema:drop": Does("db.drop", bare=True, when="--force"),
                "orm:schema-tool:drop": Does("db.drop", bare=True, when="--force"),
            },
        ),
    ),
    "wp": Program(
        Does("code.run"),
        values="--path --url --user --ssh",
        dry="--dry-run",
        subs={
            **dict.fromkeys(("db drop", "db reset", "db clean", "site empty"), Does("db.drop", bare=True)),
            **dict.fromkeys(
                ("user delete", "post delete", "plugin delete", "theme delete", "site delete"),
                Does("db.write.live", bare=True),
            ),
            "db query": Program(call=_wp_query),
            "db import": Does("db.restore", recoverable=True),
            "db export": Does("db.read"),
            "search-replace": Does("db.write.live"),
            "eval": Does("code.unknown", possible=True),
        },
    ),
    **programs(
        "drush drupal",
        Program(
            Does("code.run"),
            subs={
                **dict.fromkeys(
                    ("sql:drop", "sql-drop", "site:install", "site-install", "si"), Does("db.drop", bare=True)
                ),
                **dict.fromkeys(("entity:delete", "user:cancel"), Does("db.write.live", bare=True)),
                **dict.fromkeys(("sql:query", "sqlq", "sql-query"), Program(call=_wp_query)),
            },
        ),
    ),
    "bench": Program(
        Does("code.run"), subs={"drop-site": Does("db.drop", bare=True), "reinstall": Does("db.drop", bare=True)}
    ),
    "phinx": Program(
        _SCHEMA,
        values="-e --environment -c --configuration -t --target",
        subs={"rollback": Does("db.migrate.back", bare=True)},
    ),
    "mix": Program(call=_mix),
    "flyway": Program(
        _SCHEMA,
        values="-url -user -password -configFiles -locations",
        single=True,
        subs={
            "clean": _DROP_DATABASE,
            "undo": Does("db.migrate.back", bare=True),
            "info": Does("db.read"),
            "validate": Does("db.read"),
        },
    ),
    "liquibase": Program(
        _SCHEMA,
        values="--url --username --password --changelog-file --changeLogFile",
        subs={
            "drop-all": _DROP_DATABASE,
            "dropAll": _DROP_DATABASE,
            "rollback": Does("db.migrate.back", bare=True),
            "rollback-count": Does("db.migrate.back", bare=True),
            "rollbackCount": Does("db.migrate.back", bare=True),
            "rollback-to-date": Does("db.migrate.back", bare=True),
            "status": Does("db.read"),
            "update-sql": Does("db.read"),
        },
    ),
    "knex": _migration(lose="migrate:reset", back="migrate:rollback migrate:down"),
    **programs(
        "sequelize sequelize-cli",
        _migration(light=True, lose="db:drop", back="db:migrate:undo db:migrate:undo:all db:seed:undo:all"),
    ),
    "typeorm": _migration(lose="schema:drop", back="migration:revert", change="schema:sync"),
    "mikro-orm": _migration(lose="schema:drop schema:fresh migration:fresh database:drop", back="migration:down"),
    **programs(
        "dbmate migrate migra node-pg-migrate db-migrate sql-migrate sqitch yoyo aerich tern pgroll bytebase",
        _migration("-f --force -y --yes", lose="drop reset", back="down down-to rollback redo revert downgrade"),
    ),
    "goose": Program(
        # Also the name of an agent, which knows none of these words.
        Does("agent.run"),
        values="-dir",
        single=True,
        subs={
            **dict.fromkeys(("down", "down-to", "redo", "reset"), Does("db.migrate.back", bare=True)),
            **dict.fromkeys(("up", "up-to", "up-by-one", "status", "version", "create", "fix", "validate"), _SCHEMA),
        },
        call=_goose,
    ),
    "drizzle-kit": Program(
        _SCHEMA, subs={"push": Does("db.migrate.live", when="--force", bare=True), "drop": Does("db.migrate.back")}
    ),
    "atlas": Program(
        _SCHEMA,
        values="-u --url --to --dev-url --env -f --file",
        dry="--dry-run",
        subs={
            "schema clean": Does("db.drop"),
            "schema apply": Does("db.migrate.live", when="--auto-approve", bare=True),
            "migrate down": Does("db.migrate.back", bare=True),
        },
    ),
    "hasura": Program(
        Does("db.read"),
        dry="--dry-run",
        subs={
            "metadata clear": Does("db.migrate.back", bare=True),
            "migrate apply": Does("db.migrate.live", when="--down", bare=True),
            "migrate delete": Does("db.migrate.back", bare=True),
        },
    ),
    "dbt": Program(
        Does("db.schema"),
        values="--select -s --models -m --exclude --target -t --profiles-dir --project-dir --vars",
        subs={
            "run": (Does("db.migrate.live", when="-f --full-refresh"), _SCHEMA),
            "build": (Does("db.migrate.live", when="-f --full-refresh"), _SCHEMA),
            "test": Does("db.read"),
            "compile": Does("db.read"),
            "clean": Does("code.build"),
        },
    ),
}
