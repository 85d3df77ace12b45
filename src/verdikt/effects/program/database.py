"""Databases: the SQL or the commands that a client would run, and the tools that move a schema back and forth."""

import re
from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.code.sql import classify_file_access, classify_sql, is_throwaway
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_META = compile_lazily(r"^\s*\\(!)?[ \t]*(.*)$", re.MULTILINE)


def _find_text(call: Invocation, flags: str) -> list[str]:
    """Return the text that a client is given: by flag, by here-document, through a pipe of constants."""
    texts = [word.text for word in call.args.get_values(flags)]
    if call.command.stdin:
        texts.append(call.command.stdin)
    return texts


def _file(call: Invocation, flags: str) -> Iterator[str]:
    """Return the text of a script that lies in the project, where it can be read."""
    names = call.args.get_values(flags) + [r.target for r in call.command.redirects if r.op == "<"]
    above = next(call.iter_upstream(), None)
    if above is not None and above.name == "cat":
        names += [word for word in above.argv[1:] if not word.text.startswith("-")]
    for word in names:
        target = call.resolve_path(word)
        if target.path and target.zone in (Zone.PROJECT, Zone.TEMP) and not call.command.host:
            text = call.facts.text(target.path)
            if text:
                yield text


_TELLING = compile_lazily(
    r"(?i)(?:^|[/_.\-])(?:drop|delete|truncate|wipe|reset|destroy|purge|down|rollback)(?:[_.\-]|$)"
)
_DUMP = compile_lazily(r"(?i)(?:^|[/_.\-])(?:dump|backup|restore|prod|production)(?:[_.\-]|$)")


def _unread(call: Invocation, flags: str) -> Iterator[Effect]:
    """Yield the effects of a script that cannot be read, by what its name says."""
    for word in call.args.get_values(flags) + [r.target for r in call.command.redirects if r.op == "<"]:
        if not word.text or call.facts.text(call.resolve_path(word).path) is not None:
            continue
        if _TELLING.search(word.text):
            yield call.make_effect(
                "db.drop", (Target(word.display_text, "database"),), possible=True, note="by the script's name"
            )
        elif _DUMP.search(word.text):
            yield call.make_effect(
                "db.restore", (Target(word.display_text, "database"),), possible=True, note="by the script's name"
            )


def _client(dialect: str, flags: str, files: str = "", database: str = "-d --dbname --database -D") -> Program:
    """Describe a client that takes SQL by `flags`, by standard input, or by a file."""

    def judge(call: Invocation) -> Iterator[Effect]:
        name = call.args.get_value(database)
        base = name.text if name is not None else " ".join(word.text for word in call.args.operands[:1])
        light = is_throwaway(base.rsplit("/", 1)[-1])
        # A statement may also be the last operand: `cqlsh host 'DROP …'`, `cypher-shell 'MATCH …'`.
        spoken = _find_text(call, flags) + [word.text for word in call.args.operands if " " in word.text.strip()]
        for text in spoken:
            yield from _classify_text(call, text, dialect, light=light)
        for text in _file(call, files):
            yield from _classify_text(call, text, dialect, light=light)
        if not light:
            yield from _unread(call, files)
        yield call.make_effect("db.read", (Target(base, "database"),) if base else ())

    return Program(
        value_flags=f"{flags} {files} {database} -h --host -p --port -U -u --username --user -P --password -w -v --set --variable -F -o --output -S -c -k --connect-timeout --format --defaults-file -T",
        classify=judge,
    )


def _classify_text(call: Invocation, text: str, dialect: str, *, light: bool) -> Iterator[Effect]:
    for match in _META.finditer(text):
        if match[1]:
            yield from call.classify_shell(match[2])
        elif match[2].lower().startswith("copy") and "program" in match[2].lower():
            yield call.make_effect("db.exec", note="runs a program")
    sql = _META.sub("", text)
    if sql.strip():
        yield from classify_sql(sql, call, dialect, recoverable=light)


def _make_file_database(dialect: str) -> Program:
    """Classify work on a database that is a file: the zone of the file decides."""

    def judge(call: Invocation) -> Iterator[Effect]:
        operands = call.args.operands
        file = operands[0] if operands else Word(":memory:")
        target = call.resolve_path(file, with_state=True) if file.text not in (":memory:", "") else None
        harmless = target is None or target.zone is Zone.TEMP
        light = target is not None and (target.state == "tracked" or is_throwaway(target.path.rsplit("/", 1)[-1]))
        spoken = (
            [word.text for word in operands[1:]] + _find_text(call, "-cmd -c -s --cmd") + list(_file(call, "-init -f"))
        )
        for text in spoken:
            yield from _classify_dot_commands(call, text)
            sql = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("."))
            if harmless:
                yield from classify_file_access(sql, call)
            else:
                yield from classify_sql(sql, call, dialect, recoverable=light)
        if target is not None:
            yield from call.make_effects("fs.read", [file])

    return Program(value_flags="-cmd -init -separator -c -s -f -newline -nullvalue", single_dash=True, classify=judge)


def _classify_dot_commands(call: Invocation, text: str) -> Iterator[Effect]:
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word in (".shell", ".system", ".sh"):
            yield from call.classify_shell(rest)
            yield call.make_effect("db.exec", note="runs a program")
        elif word in (".output", ".once", ".backup", ".save", ".clone", ".excel") and rest:
            yield from call.make_effects("fs.overwrite", [Word(rest.split()[-1].strip("\"'"))])
        elif word in (".read", ".restore", ".load") and rest:
            yield call.make_effect("db.write", note=word)


_MONGO_DROP = compile_lazily(
    r"\.\s*(?:dropDatabase|drop|dropCollection|dropAllUsers)\s*\(|\bdb\s*\[[^]]+\]\s*\.\s*drop\s*\("
)
_MONGO_ALL = compile_lazily(
    r"\.\s*(?:deleteMany|remove|updateMany)\s*\(\s*(?:\{\s*\}|\))|\.\s*bulkWrite\s*\(\s*\[\s*\{\s*deleteMany"
)
_MONGO_ADMIN = compile_lazily(
    r"\.\s*(?:shutdownServer|createUser|dropUser|grantRolesToUser|adminCommand|setProfilingLevel|fsyncLock)\s*\("
)
_QUOTED = compile_lazily(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)


def _mongo(call: Invocation) -> Iterator[Effect]:
    base = call.args.operands[0].text if call.args.operands else ""
    light = True if is_throwaway(base.rsplit("/", 1)[-1]) else None
    target = (Target(base or "the database", "database"),)
    for text in [*_find_text(call, "--eval -e"), *_file(call, "-f --file")]:
        code = _QUOTED.sub('""', text)
        if _MONGO_DROP.search(code):
            yield call.make_effect("db.drop", target, recoverable=light)
        elif _MONGO_ALL.search(code):
            yield call.make_effect("db.delete.all", target, recoverable=light, note="every document")
        elif _MONGO_ADMIN.search(code):
            yield call.make_effect("db.admin", target)
    yield call.make_effect("db.read", target)


_REDIS_ADMIN = word_set(
    "config shutdown eval evalsha script slaveof replicaof debug module acl failover cluster fcall function migrate "
    "restore swapdb"
)
_REDIS_READ = word_set("get list info help cat doctor stats usage load")


def _redis(call: Invocation) -> Iterator[Effect]:
    lines = [[word.text for word in call.args.operands]] if call.args.operands else []
    lines += [line.split() for line in (call.command.stdin or "").splitlines() if line.strip()]
    host = call.args.get_value("-h -u --uri")
    target = (Target(host.display_text if host is not None else "redis", "database"),)
    port = call.args.get_value("-p")
    # A server of this machine with a port of its own was most likely started for a test.
    aside = True if host is None and port is not None and port.text != "6379" else None
    for line in lines:
        name, rest = line[0].lower(), [part.lower() for part in line[1:]]
        if name in ("flushall", "flushdb") or (name == "call" and {"flushall", "flushdb"} & set(rest)):
            yield call.make_effect("db.drop", target, recoverable=aside, note="every key")
        elif name in _REDIS_ADMIN and not (rest and rest[0] in _REDIS_READ):
            whole = any("flush" in part for part in rest)
            yield call.make_effect("db.drop" if whole else "db.admin", target, recoverable=True if whole else None)
        elif name in ("del", "unlink") and call.command.repeated:
            yield call.make_effect("db.delete.all", target, recoverable=True, note="many keys")
        else:
            yield call.make_effect("db.write")


def _cypher(call: Invocation) -> Iterator[Effect]:
    for text in [*_find_text(call, ""), *(word.text for word in call.args.operands), *_file(call, "-f --file")]:
        code = _QUOTED.sub('""', text)
        if re.search(r"\bDROP\s+DATABASE\b", code, re.IGNORECASE):
            yield call.make_effect("db.drop", (Target("the graph", "database"),))
        elif re.search(r"\bDELETE\b", code, re.IGNORECASE) and not re.search(
            r"\bWHERE\b|\(\s*\w*\s*:\s*\w+\s*\{", code, re.IGNORECASE
        ):
            yield call.make_effect("db.delete.all", (Target("the graph", "database"),), note="every node")
    yield call.make_effect("db.read")


def _dropdb(call: Invocation) -> Iterator[Effect]:
    for word in call.args.operands[:1]:
        yield call.make_effect(
            "db.drop", (Target(word.display_text, "database"),), recoverable=True if is_throwaway(word.text) else None
        )


def _mysqladmin(call: Invocation) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    if "drop" in names:
        base = names[names.index("drop") + 1] if names.index("drop") + 1 < len(names) else ""
        yield call.make_effect("db.drop", (Target(base, "database"),), recoverable=True if is_throwaway(base) else None)
    elif {"shutdown", "password", "kill", "flush-privileges"} & set(names):
        yield call.make_effect("db.admin")
    else:
        yield call.make_effect("db.read")


def _pg_restore(call: Invocation) -> Iterator[Effect]:
    base = call.args.get_value("-d --dbname")
    if base is None:
        yield from call.make_effects("fs.read", call.args.operands)
    elif call.args.has_flag("-c --clean"):
        yield call.make_effect(
            "db.restore",
            (Target(base.display_text, "database"),),
            recoverable=True if is_throwaway(base.text) else None,
        )
    else:
        yield call.make_effect("db.restore", (Target(base.display_text, "database"),), recoverable=True)


def _by_verb(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    _, kind = command_verbs.find_verb(path)
    target = (Target(" ".join(path[:3]), "database"),)
    if kind == "delete":
        yield call.make_effect("db.drop", target)
    elif kind == "write":
        yield call.make_effect("db.admin" if {"user", "auth", "password", "secret"} & set(path) else "db.write", target)
    else:
        yield call.make_effect("db.read")


_DROP_DATABASE = EffectSpec("db.drop", "*", "database", without_target=True)

PROGRAMS: dict[str, Program] = {
    **alias_programs("psql pgcli", _client("postgres", "-c --command", "-f --file")),
    **alias_programs("mysql mariadb mycli", _client("mysql", "-e --execute", "")),
    **alias_programs("cockroach ysqlsh yugabyte", _client("postgres", "-e --execute -c", "-f --file")),
    "clickhouse-client": _client("clickhouse", "-q --query", "--queries-file"),
    "clickhouse": _client("clickhouse", "-q --query", "--queries-file"),
    "cqlsh": _client("", "-e --execute", "-f --file", "-k --keyspace"),
    **alias_programs("sqlcmd bcp osql", _client("tsql", "-Q -q", "-i")),
    **alias_programs("snowsql", _client("snowflake", "-q --query", "-f --filename")),
    **alias_programs(
        "beeline hive impala-shell spark-sql trino presto", _client("hive", "-e --execute -q", "-f --file")
    ),
    **alias_programs(
        "sqlplus usql isql db2 monetdb-client mclient vsql nzsql", _client("", "-c --command -e", "-f --file")
    ),
    **alias_programs("sqlite3 sqlite sqlite-utils litecli sqlcipher", _make_file_database("sqlite")),
    "duckdb": _make_file_database("duckdb"),
    **alias_programs(
        "mongosh mongo",
        Program(
            value_flags="--eval -e -f --file -u --username -p --password --host --port --authenticationDatabase",
            classify=_mongo,
        ),
    ),
    **alias_programs("mongodump mongoexport mongostat mongotop", Program(EffectSpec("db.read"))),
    "mongorestore": Program(
        EffectSpec("db.restore", "*", "database", when="--drop", without_target=True),
        EffectSpec("db.restore", "*", "database", unless="--drop", recoverable=True, without_target=True),
        dry_run_flags="--dryRun",
        value_flags="--db -d --uri --host --port -u -p --archive --nsInclude",
    ),
    "mongoimport": Program(
        EffectSpec("db.restore", when="--drop"),
        EffectSpec("db.write"),
        value_flags="--db -d --collection -c --file --uri",
    ),
    **alias_programs(
        "redis-cli valkey-cli keydb-cli dragonfly-cli iredis",
        Program(value_flags="-h -p -n -a --user --pass -u --uri -s -r -i --pattern -x -t -d", classify=_redis),
    ),
    "cypher-shell": Program(
        value_flags="-a -u -p -d -f --file --address --username --password --database --format", classify=_cypher
    ),
    "influx": Program(
        value_flags="-o --org -t --token --host -b --bucket -n --name --start --stop -p --predicate",
        subcommands={
            "delete": EffectSpec("db.delete.all", "-b --bucket", "database", without_target=True),
            "query": EffectSpec("db.read"),
            "write": EffectSpec("db.write"),
            "setup": EffectSpec("db.admin"),
        },
        classify=_by_verb,
    ),
    "dropdb": Program(value_flags="-h --host -p --port -U --username --maintenance-db", classify=_dropdb),
    "dropuser": Program(EffectSpec("db.admin", "*", "database"), value_flags="-h --host -p --port -U --username"),
    "createuser": Program(EffectSpec("db.admin", "*", "database"), value_flags="-h --host -p --port -U --username"),
    **alias_programs(
        "createdb pg_dump pg_dumpall pg_isready pgbench pg_basebackup pg_config vacuumdb reindexdb clusterdb "
        "mysqldump mariadb-dump mysqlshow mysqlcheck sqldiff pg_lsclusters pg_amcheck",
        Program(EffectSpec("db.read")),
    ),
    "pg_restore": Program(
        value_flags="-d --dbname -h --host -p --port -U --username -j --jobs -t --table -n --schema -f --file -F --format",
        dry_run_flags="-l --list",
        classify=_pg_restore,
    ),
    "pg_ctl": Program(
        EffectSpec("db.read"),
        value_flags="-D --pgdata -m --mode -l --log -o",
        subcommands={
            "stop": EffectSpec("sys.service.stop"),
            "restart": EffectSpec("sys.service"),
            "start": EffectSpec("db.read"),
            "promote": EffectSpec("db.admin"),
        },
    ),
    "pg_ctlcluster": Program(
        EffectSpec("sys.service.stop", when="stop"), EffectSpec("sys.service", when="start restart reload")
    ),
    "pg_dropcluster": Program(_DROP_DATABASE),
    "pg_resetwal": Program(EffectSpec("db.restore", "*", "database", recoverable=True), dry_run_flags="-n --dry-run"),
    "initdb": Program(EffectSpec("fs.write", "-D --pgdata"), value_flags="-D --pgdata"),
    **alias_programs(
        "mysqladmin mariadb-admin", Program(value_flags="-u --user -h --host -P --port -S", classify=_mysqladmin)
    ),
    "mysql_secure_installation": Program(EffectSpec("db.admin")),
    # moving a schema
    **alias_programs(
        "curator_cli curator",
        Program(
            EffectSpec(
                "db.delete.all",
                when="delete-indices delete-snapshots delete_indices delete_snapshots",
                without_target=True,
            ),
            dry_run_flags="--dry-run",
        ),
    ),
}
