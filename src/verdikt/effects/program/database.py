"""Databases: the SQL or the commands that a client would run, and the tools that move a schema back and forth."""

import re
from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.code.sql import read_sql, throwaway, touched_files
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.regex import regex
from verdikt.shell.command import Word

_META = regex(r"^\s*\\(!)?[ \t]*(.*)$", re.MULTILINE)


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


_TELLING = regex(r"(?i)(?:^|[/_.\-])(?:drop|delete|truncate|wipe|reset|destroy|purge|down|rollback)(?:[_.\-]|$)")
_DUMP = regex(r"(?i)(?:^|[/_.\-])(?:dump|backup|restore|prod|production)(?:[_.\-]|$)")


def _unread(call: Call, flags: str) -> Iterator[Effect]:
    """A script that nobody here can read: its name may tell what it is for."""
    for word in call.args.all(flags) + [r.target for r in call.command.redirects if r.op == "<"]:
        if not word.text or call.facts.text(call.path(word).path) is not None:
            continue
        if _TELLING.search(word.text):
            yield call.effect("db.drop", (Target(word.shown, "database"),), possible=True, note="by the script's name")
        elif _DUMP.search(word.text):
            yield call.effect(
                "db.restore", (Target(word.shown, "database"),), possible=True, note="by the script's name"
            )


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
        if not light:
            yield from _unread(call, files)
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
            if harmless:
                yield from touched_files(sql, call)
            else:
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


_MONGO_DROP = regex(r"\.\s*(?:dropDatabase|drop|dropCollection|dropAllUsers)\s*\(|\bdb\s*\[[^]]+\]\s*\.\s*drop\s*\(")
_MONGO_ALL = regex(
    r"\.\s*(?:deleteMany|remove|updateMany)\s*\(\s*(?:\{\s*\}|\))|\.\s*bulkWrite\s*\(\s*\[\s*\{\s*deleteMany"
)
_MONGO_ADMIN = regex(
    r"\.\s*(?:shutdownServer|createUser|dropUser|grantRolesToUser|adminCommand|setProfilingLevel|fsyncLock)\s*\("
)
_QUOTED = regex(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)


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
    port = call.args.value("-p")
    # A server of this machine with a port of its own was most likely started for a test.
    aside = True if host is None and port is not None and port.text != "6379" else None
    for line in lines:
        name, rest = line[0].lower(), [part.lower() for part in line[1:]]
        if name in ("flushall", "flushdb") or (name == "call" and {"flushall", "flushdb"} & set(rest)):
            yield call.effect("db.drop", target, recoverable=aside, note="every key")
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


_DROP_DATABASE = Does("db.drop", "*", "database", bare=True)

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
    **programs(
        "curator_cli curator",
        Program(
            Does("db.delete.all", when="delete-indices delete-snapshots delete_indices delete_snapshots", bare=True),
            dry="--dry-run",
        ),
    ),
}
