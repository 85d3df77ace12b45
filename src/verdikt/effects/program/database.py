"""Databases: the SQL or the commands that a client would run, and the tools that move a schema back and forth."""

import re
import shlex
from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.code.sql import read_sql, throwaway
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Word

_META = re.compile(r"^\s*\\(!)?[ \t]*(.*)$", re.MULTILINE)


def _spoken(call: Call, flags: str) -> list[str]:
    """The text that a client is given: by flag, by here-document, through a pipe of constants."""
    texts = [word.text for word in call.args.all(flags)]
    if call.command.stdin:
        texts.append(call.command.stdin)
    return texts


def _file(call: Call, flags: str) -> Iterator[str]:
    """The text of a script that lies in the project, where it can be read."""
    names = call.args.all(flags) + [r.target for r in call.command.redirects if r.op == "<"]
    above = next(call.upstream(), None)
    if above is not None and above.name == "cat":
        names += [word for word in above.argv[1:] if not word.text.startswith("-")]
    for word in names:
        target = call.path(word)
        if target.path and target.zone in (Zone.PROJECT, Zone.TEMP) and not call.command.where:
            text = call.facts.text(target.path)
            if text:
                yield text


def _client(dialect: str, flags: str, files: str = "", database: str = "-d --dbname --database -D") -> Program:
    """A client that is told SQL by `flags`, by standard input, or by a file."""

    def judge(call: Call) -> Iterator[Effect]:
        name = call.args.value(database)
        base = name.text if name is not None else " ".join(word.text for word in call.args.operands[:1])
        light = throwaway(base.rsplit("/", 1)[-1])
        # A statement may also be the last operand: `cqlsh host 'DROP …'`, `cypher-shell 'MATCH …'`.
        spoken = _spoken(call, flags) + [word.text for word in call.args.operands if " " in word.text.strip()]
        for text in spoken:
            yield from _said(call, text, dialect, light=light)
        for text in _file(call, files):
            yield from _said(call, text, dialect, light=light)
        yield call.effect("db.read", (Target(base, "database"),) if base else ())

    return Program(
        values=f"{flags} {files} {database} -h --host -p --port -U -u --username --user -P --password -w -v --set --variable -F -o --output -S -c -k --connect-timeout --format --defaults-file -T",
        call=judge,
    )


def _said(call: Call, text: str, dialect: str, *, light: bool) -> Iterator[Effect]:
    for match in _META.finditer(text):
        if match[1]:
            yield from call.shell(match[2])
        elif match[2].lower().startswith("copy") and "program" in match[2].lower():
            yield call.effect("db.exec", note="runs a program")
    sql = _META.sub("", text)
    if sql.strip():
        yield from read_sql(sql, call, dialect, recoverable=light)


def _embedded(dialect: str) -> Program:
    """A database that is a file: what happens to it is judged by where the file lies."""

    def judge(call: Call) -> Iterator[Effect]:
        operands = call.args.operands
        file = operands[0] if operands else Word(":memory:")
        target = call.path(file, look=True) if file.text not in (":memory:", "") else None
        harmless = target is None or target.zone is Zone.TEMP
        light = target is not None and (target.state == "tracked" or throwaway(target.path.rsplit("/", 1)[-1]))
        spoken = (
            [word.text for word in operands[1:]] + _spoken(call, "-cmd -c -s --cmd") + list(_file(call, "-init -f"))
        )
        for text in spoken:
            yield from _dotted(call, text)
            sql = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("."))
            if not harmless:
                yield from read_sql(sql, call, dialect, recoverable=light)
        if target is not None:
            yield from call.on("fs.read", [file])

    return Program(values="-cmd -init -separator -c -s -f -newline -nullvalue", single=True, call=judge)


def _dotted(call: Call, text: str) -> Iterator[Effect]:
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word in (".shell", ".system", ".sh"):
            yield from call.shell(rest)
            yield call.effect("db.exec", note="runs a program")
        elif word in (".output", ".once", ".backup", ".save", ".clone", ".excel") and rest:
            yield from call.on("fs.overwrite", [Word(rest.split()[-1].strip("\"'"))])
        elif word in (".read", ".restore", ".load") and rest:
            yield call.effect("db.write", note=word)


_MONGO_DROP = re.compile(
    r"\.\s*(?:dropDatabase|drop|dropCollection|dropAllUsers)\s*\(|\bdb\s*\[[^]]+\]\s*\.\s*drop\s*\("
)
_MONGO_ALL = re.compile(
    r"\.\s*(?:deleteMany|remove|updateMany)\s*\(\s*(?:\{\s*\}|\))|\.\s*bulkWrite\s*\(\s*\[\s*\{\s*deleteMany"
)
_MONGO_ADMIN = re.compile(
    r"\.\s*(?:shutdownServer|createUser|dropUser|grantRolesToUser|adminCommand|setProfilingLevel|fsyncLock)\s*\("
)
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)


def _mongo(call: Call) -> Iterator[Effect]:
    base = call.args.operands[0].text if call.args.operands else ""
    light = True if throwaway(base.rsplit("/", 1)[-1]) else None
    target = (Target(base or "the database", "database"),)
    for text in [*_spoken(call, "--eval -e"), *_file(call, "-f --file")]:
        code = _QUOTED.sub('""', text)
        if _MONGO_DROP.search(code):
            yield call.effect("db.drop", target, recoverable=light)
        elif _MONGO_ALL.search(code):
            yield call.effect("db.delete.all", target, recoverable=light, note="every document")
        elif _MONGO_ADMIN.search(code):
            yield call.effect("db.admin", target)
    yield call.effect("db.read", target)


_REDIS_ADMIN = words(
    "config shutdown eval evalsha script slaveof replicaof debug module acl failover cluster fcall function migrate restore swapdb"
)
_REDIS_READ = words("get list info help cat doctor stats usage load")


def _redis(call: Call) -> Iterator[Effect]:
    lines = [[word.text for word in call.args.operands]] if call.args.operands else []
    lines += [line.split() for line in (call.command.stdin or "").splitlines() if line.strip()]
    host = call.args.value("-h -u --uri")
    target = (Target(host.shown if host is not None else "redis", "database"),)
    for line in lines:
        name, rest = line[0].lower(), [part.lower() for part in line[1:]]
        if name in ("flushall", "flushdb"):
            yield call.effect("db.drop", target, note="every key")
        elif name in _REDIS_ADMIN and not (rest and rest[0] in _REDIS_READ):
            whole = any("flush" in part for part in rest)
            yield call.effect("db.drop" if whole else "db.admin", target, recoverable=True if whole else None)
        elif name in ("del", "unlink") and call.command.repeated:
            yield call.effect("db.delete.all", target, recoverable=True, note="many keys")
        else:
            yield call.effect("db.write")


def _cypher(call: Call) -> Iterator[Effect]:
    for text in [*_spoken(call, ""), *(word.text for word in call.args.operands), *_file(call, "-f --file")]:
        code = _QUOTED.sub('""', text)
        if re.search(r"\bDROP\s+DATABASE\b", code, re.IGNORECASE):
            yield call.effect("db.drop", (Target("the graph", "database"),))
        elif re.search(r"\bDELETE\b", code, re.IGNORECASE) and not re.search(
            r"\bWHERE\b|\(\s*\w*\s*:\s*\w+\s*\{", code, re.IGNORECASE
        ):
            yield call.effect("db.delete.all", (Target("the graph", "database"),), note="every node")
    yield call.effect("db.read")


def _dropdb(call: Call) -> Iterator[Effect]:
    for word in call.args.operands[:1]:
        yield call.effect(
            "db.drop", (Target(word.shown, "database"),), recoverable=True if throwaway(word.text) else None
        )


def _mysqladmin(call: Call) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    if "drop" in names:
        base = names[names.index("drop") + 1] if names.index("drop") + 1 < len(names) else ""
        yield call.effect("db.drop", (Target(base, "database"),), recoverable=True if throwaway(base) else None)
    elif {"shutdown", "password", "kill", "flush-privileges"} & set(names):
        yield call.effect("db.admin")
    else:
        yield call.effect("db.read")


def _pg_restore(call: Call) -> Iterator[Effect]:
    base = call.args.value("-d --dbname")
    if base is None:
        yield from call.on("fs.read", call.args.operands)
    elif call.args.has("-c --clean"):
        yield call.effect(
            "db.restore", (Target(base.shown, "database"),), recoverable=True if throwaway(base.text) else None
        )
    else:
        yield call.effect("db.restore", (Target(base.shown, "database"),), recoverable=True)


_LIVE = re.compile(r"\b(?:prod|production|live|staging)\b", re.IGNORECASE)


def _live(call: Call) -> bool:
    """Whether the environment says that the database is one that others use."""
    assigned = [pair for command in (*call.commands, call.command) for pair in command.assignments]
    exported = [Word(word.text) for command in call.commands if command.name == "export" for word in command.argv[1:]]
    assigned += [(word.text.partition("=")[0], Word(word.text.partition("=")[2])) for word in exported]
    named = call.args.all("-e --env --environment --database --settings")
    return any(name.endswith(("ENV", "ENVIRONMENT")) and _LIVE.search(value.text) for name, value in assigned) or any(
        _LIVE.search(word.text) for word in named
    )


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
            yield call.effect("db.migrate.live", target)
        else:
            yield call.effect("db.schema")

    return Program(
        dry="--sql --dry-run --dryRun --help -h",
        values="-e --env --environment --path -path --database -database --url -u --schema -c --config -n --name -m --message --settings",
        call=judge,
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
        yield call.effect("db.migrate.live", target)
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
    elif name == "shell":
        code = call.args.value("-c --command")
        yield call.effect("code.run" if code is None else "code.unknown", possible=True)
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
        yield call.effect("code.unknown", possible=True)
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


def _by_verb(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    _, kind = verb.find(path)
    target = (Target(" ".join(path[:3]), "database"),)
    if kind == "delete":
        yield call.effect("db.drop", target)
    elif kind == "write":
        yield call.effect("db.admin" if {"user", "auth", "password", "secret"} & set(path) else "db.write", target)
    else:
        yield call.effect("db.read")


def _goose(call: Call) -> Iterator[Effect]:
    """`goose DRIVER DSN down`: the verb comes after the connection."""
    if any(word.text in ("down", "down-to", "redo", "reset") for word in call.args.operands[2:4]):
        yield call.effect("db.migrate.back", (Target("the configured database", "database"),))


_DROP_DATABASE = Does("db.drop", "*", "database", bare=True)
_SCHEMA = Does("db.schema")

PROGRAMS: dict[str, Program] = {
    **programs("psql pgcli", _client("postgres", "-c --command", "-f --file")),
    **programs("mysql mariadb mycli", _client("mysql", "-e --execute", "")),
    **programs("cockroach ysqlsh yugabyte", _client("postgres", "-e --execute -c", "-f --file")),
    "clickhouse-client": _client("clickhouse", "-q --query", "--queries-file"),
    "clickhouse": _client("clickhouse", "-q --query", "--queries-file"),
    "cqlsh": _client("", "-e --execute", "-f --file", "-k --keyspace"),
    **programs("sqlcmd bcp osql", _client("tsql", "-Q -q", "-i")),
    **programs("snowsql", _client("snowflake", "-q --query", "-f --filename")),
    **programs("beeline hive impala-shell spark-sql trino presto", _client("hive", "-e --execute -q", "-f --file")),
    **programs("sqlplus usql isql db2 monetdb-client mclient vsql nzsql", _client("", "-c --command -e", "-f --file")),
    **programs("sqlite3 sqlite sqlite-utils litecli sqlcipher", _embedded("sqlite")),
    "duckdb": _embedded("duckdb"),
    **programs(
        "mongosh mongo",
        Program(
            values="--eval -e -f --file -u --username -p --password --host --port --authenticationDatabase", call=_mongo
        ),
    ),
    **programs("mongodump mongoexport mongostat mongotop", Program(Does("db.read"))),
    "mongorestore": Program(
        Does("db.restore", "*", "database", when="--drop", bare=True),
        Does("db.restore", "*", "database", unless="--drop", recoverable=True, bare=True),
        dry="--dryRun",
        values="--db -d --uri --host --port -u -p --archive --nsInclude",
    ),
    "mongoimport": Program(
        Does("db.restore", when="--drop"), Does("db.write"), values="--db -d --collection -c --file --uri"
    ),
    **programs(
        "redis-cli valkey-cli keydb-cli dragonfly-cli iredis",
        Program(values="-h -p -n -a --user --pass -u --uri -s -r -i --pattern -x -t -d", call=_redis),
    ),
    "cypher-shell": Program(
        values="-a -u -p -d -f --file --address --username --password --database --format", call=_cypher
    ),
    "influx": Program(
        values="-o --org -t --token --host -b --bucket -n --name --start --stop -p --predicate",
        subs={
            "delete": Does("db.delete.all", "-b --bucket", "database", bare=True),
            "query": Does("db.read"),
            "write": Does("db.write"),
            "setup": Does("db.admin"),
        },
        call=_by_verb,
    ),
    "dropdb": Program(values="-h --host -p --port -U --username --maintenance-db", call=_dropdb),
    "dropuser": Program(Does("db.admin", "*", "database"), values="-h --host -p --port -U --username"),
    "createuser": Program(Does("db.admin", "*", "database"), values="-h --host -p --port -U --username"),
    **programs(
        "createdb pg_dump pg_dumpall pg_isready pgbench pg_basebackup pg_config vacuumdb reindexdb clusterdb mysqldump mariadb-dump mysqlshow mysqlcheck sqldiff pg_lsclusters pg_amcheck",
        Program(Does("db.read")),
    ),
    "pg_restore": Program(
        values="-d --dbname -h --host -p --port -U --username -j --jobs -t --table -n --schema -f --file -F --format",
        dry="-l --list",
        call=_pg_restore,
    ),
    "pg_ctl": Program(
        Does("db.read"),
        values="-D --pgdata -m --mode -l --log -o",
        subs={
            "stop": Does("sys.service.stop"),
            "restart": Does("sys.service"),
            "start": Does("db.read"),
            "promote": Does("db.admin"),
        },
    ),
    "pg_ctlcluster": Program(Does("sys.service.stop", when="stop"), Does("sys.service", when="start restart reload")),
    "pg_dropcluster": Program(_DROP_DATABASE),
    "pg_resetwal": Program(Does("db.restore", "*", "database", recoverable=True), dry="-n --dry-run"),
    "initdb": Program(Does("fs.write", "-D --pgdata"), values="-D --pgdata"),
    **programs("mysqladmin mariadb-admin", Program(values="-u --user -h --host -P --port -S", call=_mysqladmin)),
    "mysql_secure_installation": Program(Does("db.admin")),
    # moving a schema
    "alembic": Program(values="-c --config -n --name -x -m --message --rev-id --head", dry="--sql", call=_alembic),
    "flask": Program(
        Does("code.run"), subs={"db downgrade": Does("db.migrate.back", bare=True), "db upgrade": _SCHEMA}
    ),
    "prisma": Program(
        values="--schema --name -n --url --file --to-migrations --from-migrations", dry="--help -h", call=_prisma
    ),
    **programs(
        "manage.py django-admin django-admin.py",
        Program(
            values="--settings --pythonpath --database -v --verbosity -c --command",
            dry="--plan --dry-run --check",
            call=_django,
        ),
    ),
    **programs(
        "rails rake", Program(values="-e --environment -f --rakefile -C --directory", dry="-n --dry-run", call=_rails)
    ),
    "artisan": Program(values="--database --path --env --seeder --class", dry="--pretend", call=_artisan),
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
    **programs(
        "curator_cli curator",
        Program(Does("db.delete.all", when="delete-indices delete-snapshots", bare=True), dry="--dry-run"),
    ),
}
