"""Databases: the statements that a client, or a framework's console, would run."""

import re
from collections.abc import Iterator
from itertools import islice

from verdikt.effects.arguments import word_set
from verdikt.effects.code import classify_code
from verdikt.effects.code.made_statements import find_piped_statement, find_result_statement, runs_results
from verdikt.effects.code.sql import classify_file_access, classify_sql
from verdikt.effects.code.sql_session import (
    classify_session,
    find_database_name,
    find_server,
    is_read_only_connection,
    is_read_only_file,
)
from verdikt.effects.deployment_stage import list_stages
from verdikt.effects.host import is_local_address, is_local_host
from verdikt.effects.installation_names import is_live_name, is_test_name, is_throwaway
from verdikt.effects.invocation import Invocation
from verdikt.effects.zone_effects import derive_effect
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_META = compile_lazily(r"^\s*\\(!)?[ \t]*(.*)$", re.MULTILINE)


def _list_texts(call: Invocation, flags: str) -> list[str]:
    """Return the text that a client is given: by flag, by here-document, through a pipe of constants."""
    texts = [word.text for word in call.args.get_values(flags)]
    if call.command.stdin:
        texts.append(call.command.stdin)
    return texts


def _read_files(call: Invocation, flags: str) -> Iterator[str]:
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


_DESTROYING_NAME = compile_lazily(
    r"(?i)(?:^|[/_.\-])(?:drop|delete|truncate|wipe|reset|destroy|purge|down|rollback)(?:[_.\-]|$)"
)
_RESTORING_NAME = compile_lazily(r"(?i)(?:^|[/_.\-])(?:dump|backup|restore|prod|production)(?:[_.\-]|$)")


def _classify_unread_files(call: Invocation, flags: str) -> Iterator[Effect]:
    """Yield the effects of a script that cannot be read, by what its name says."""
    for word in call.args.get_values(flags) + [r.target for r in call.command.redirects if r.op == "<"]:
        if not word.text or call.facts.text(call.resolve_path(word).path) is not None:
            continue
        is_destroying, is_restoring = _DESTROYING_NAME.search(word.text), _RESTORING_NAME.search(word.text)
        if is_destroying or is_restoring:
            target = Target(word.display_text, "database")
            what = "db.drop" if is_destroying else "db.restore"
            yield call.make_effect(what, (target,), possible=True, note="by the script's name")


_ROW_CHANGES = ("db.write", "db.delete")
_REBUILDS = ("db.drop", "db.delete.all", "db.write.all", "db.schema.drop")


def _is_for_tests(effect: Effect, base: str) -> bool:
    """Return whether what a statement takes away is in a database for tests, or is one, by its name."""
    names = [target.text for target in effect.targets] if effect.note == "database" else [find_database_name(base)]
    return bool(names) and all(is_test_name(name) and not is_live_name(name) for name in names)


def classify_client(
    call: Invocation,
    *,
    dialect: str,
    flags: str,
    files: str = "",
    database: str = "-d --dbname --database -D",
    initial: str = "",
    read_only: str = "",
) -> Iterator[Effect]:
    """Classify a client that takes statements by `flags`, by standard input, by a file or as an operand.

    `initial` are options with a statement that is run before the others, `read_only` is an option with the values that
    keep the session from changing anything.
    """
    base = _find_database(call, database)
    light = is_throwaway(find_database_name(base))
    targets = (Target(base, "database"),) if base else ()
    # A statement may also be the last operand: `cqlsh host 'DROP …'`, `cypher-shell 'MATCH …'`.
    operands = [word.text for word in call.args.operands if " " in word.text.strip() and word.text != base]
    texts = [
        *(word.text for word in call.args.get_values(initial)),
        *_list_texts(call, flags),
        *operands,
        *_read_files(call, files),
    ]
    effects = [(text, _classify_text(call, text, dialect, targets, light=light)) for text in texts]
    is_piped = call.has_piped_input() and not call.args.has_flag(f"{flags} {files}") and not call.command.stdin
    effects.append(("", _classify_made_statements(call, texts, base, targets, light=light, is_piped=is_piped)))
    yield from _classify_local_files(call, "\n".join(texts), base)
    # What comes through a pipe or from a file that can't be read may lift anything.
    is_known_input = not call.has_piped_input() and not call.command.redirects and not call.args.has_flag(files)
    is_read_only = is_known_input and is_read_only_connection(call, dialect, base, read_only)
    is_live = any(is_live_name(word.raw or word.text) for word in call.command.argv[1:] if " " not in word.text)
    is_local = is_local_address(find_server(call, base) or "unknown")
    for effect in classify_session(call, effects, dialect, is_read_only=is_read_only):
        if is_local and effect.what in _REBUILDS and _is_for_tests(effect, base):
            yield call.make_effect("db.schema", effect.targets, note="a database for tests")
            continue
        changes_live_rows = is_live and effect.what in _ROW_CHANGES
        yield derive_effect("db.write.live", effect, effect.targets, note="live data") if changes_live_rows else effect
    if not light:
        yield from _classify_unread_files(call, files)
        unread = [word for word in call.args.get_values(files) if call.facts.text(call.resolve_path(word).path) is None]
        if unread and _is_remote_server(call, base):
            yield call.make_effect("db.write.live", targets, possible=True, note="a script that can't be read")
    yield call.make_effect("db.read", targets)


def _classify_made_statements(
    call: Invocation, texts: list[str], base: str, targets: tuple[Target, ...], *, light: bool, is_piped: bool
) -> Iterator[Effect]:
    """Yield the effects of statements that are made while the command runs: by a query, or before a pipe."""
    is_piped = is_piped and not any(True for _ in _read_files(call, ""))
    made = {what for text in texts if (what := find_result_statement(text))}
    made |= {what for what in (find_piped_statement(call) if is_piped else "",) if what}
    note = "statements that are made while it runs"
    for what in sorted(made):
        yield call.make_effect(what, targets, recoverable=light or None, note=note)
    if not made and (is_piped or any(map(runs_results, texts))) and not light and _is_remote_server(call, base):
        yield call.make_effect("db.write.live", targets, possible=True, note=note)


def _is_remote_server(call: Invocation, base: str) -> bool:
    """Return whether a client talks to a server that others depend on; a bare name is a container beside this one."""
    server = find_server(call, base)
    if any(is_live_name(word.raw or word.text) for word in call.command.argv[1:] if " " not in word.text):
        return True
    return "." in server and not is_local_address(server)


_CLIENT_FILE = compile_lazily(
    r"(?im)^\s*\\(copy)\b.*?\b(from|to)\s+(?!program\b|p?std)'?([^\s']+)"
    r"|^\s*\\(lo_import|ir?|include(?:_relative)?|o|out|w|write)\s+()'?([^\s'|]+)"
    r"|\b(load)\s+(?:data|xml)\s+(?:\w+\s+)?local\s+(infile)\s+['\"]([^'\"]+)"
)
"""What makes the client itself read or write a file: command, direction, file."""
_WRITING_COMMANDS = ("o", "out", "w", "write")
_CLIENT_PROGRAM = compile_lazily(
    r"(?im)^\s*\\(?:copy\b.*?\b(?:from|to)\s+program\s+'((?:[^']|'')*)'|(?:o|out|g|gx|w|write)\s+\|(.*))"
)


def _classify_local_files(call: Invocation, text: str, base: str) -> Iterator[Effect]:
    """Yield what a client does with files and programs of this machine, whose contents go to the server."""
    if "\\" not in text and "infile" not in text.lower():
        return
    found = False
    for match in _CLIENT_FILE.finditer(text):
        command, direction, name = (part for part in match.groups() if part is not None)
        is_write = direction.lower() == "to" or command.lower() in _WRITING_COMMANDS
        yield from call.make_effects("fs.overwrite" if is_write else "fs.read", [Word(name, name)])
        found = True
    for match in _CLIENT_PROGRAM.finditer(text):
        yield from call.classify_shell((match[1] or match[2] or "").replace("''", "'"))
        found = True
    server = find_server(call, base)
    if found and server and not is_local_address(server):
        yield call.make_effect("net.connect", (Target(server, "host"),), note="gets what the client reads")


def _find_database(call: Invocation, options: str) -> str:
    """Return the database that an option or the first operand names; a statement names none."""
    if (name := call.args.get_value(options)) is not None:
        return name.text
    first = call.args.operands[0].text if call.args.operands else ""
    return first if " " not in first.strip() or "=" in first else ""


def classify_console(call: Invocation, *, language: str, on: str, when: str) -> Iterator[Effect]:
    """Classify the program text for a framework's console: `rails runner CODE`, `manage.py shell -c CODE`."""
    if not call.args.has_flag(when):
        return
    is_for_tests = "test" in list_stages(call)
    for word in call.args.select_words(on)[:1]:
        if not word.is_known:
            yield call.make_effect("code.unknown", possible=True)
            continue
        for effect in classify_code(language, word.text, call):
            is_rebuilt = is_for_tests and effect.what.startswith("db.")
            yield call.make_effect("db.schema", note="a database for tests") if is_rebuilt else effect


def _classify_text(
    call: Invocation, text: str, dialect: str, targets: tuple[Target, ...], *, light: bool
) -> Iterator[Effect]:
    if dialect in _STATEMENTS:
        code = _QUOTED.sub('""', text)
        effects = (row for row in _STATEMENTS[dialect] if re.search(row[0], code))
        for _, what, note in islice(effects, 1):
            yield call.make_effect(what, targets, recoverable=light or None, note=note)
        return
    for match in _META.finditer(text):
        if match[1]:
            yield from call.classify_shell(match[2])
        elif match[2].lower().startswith("copy") and "program" in match[2].lower():
            yield call.make_effect("db.exec", note="runs a program")
        elif copied := _COPIED_FILE.match(match[2]):
            yield from _classify_copied_file(copied[1], call)
    sql = _META.sub("", text)
    if sql.strip():
        yield from classify_sql(sql, call, dialect, recoverable=light)


_COPIED_FILE = compile_lazily(r"(?i)copy\b.*?\bfrom\s+'([^']+)'")
"""psql: `\\copy t from 'file'` reads a file of this machine."""
_HOST_SETTING = compile_lazily(r"\b(?:host|hostaddr)=(\S+)|://(?:[^@/]*@)?([^/:?]+)")


def _classify_copied_file(path: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a file of this machine that a client copies to its server, which may be another machine."""
    given = call.args.get_value("-h --host")
    named = [_HOST_SETTING.search(word.text) for word in (*call.args.operands, *call.args.get_values("-d --dbname"))]
    hosts = [given.text] if given is not None else [match[1] or match[2] for match in named if match]
    if any(not is_local_host(name) for name in hosts):
        yield from call.classify_sent_files([Word(path)])
    else:
        yield from call.make_effects("fs.read", [Word(path)])


_QUOTED = compile_lazily(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_STATEMENTS = {
    "mongo": (
        (
            r"\.\s*(?:dropDatabase|drop|dropCollection|dropAllUsers)\s*\(|\bdb\s*\[[^]]+\]\s*\.\s*drop\s*\(",
            "db.drop",
            "",
        ),
        (r"\.\s*(?:deleteMany|remove|updateMany)\s*\(\s*(?:\{\s*\}|\))", "db.delete.all", "every document"),
        (r"\.\s*bulkWrite\s*\(\s*\[\s*\{\s*deleteMany", "db.delete.all", "every document"),
        (r"\.\s*(?:shutdownServer|createUser|dropUser|grantRolesToUser|adminCommand)\s*\(", "db.admin", ""),
        (r"\.\s*(?:setProfilingLevel|fsyncLock)\s*\(", "db.admin", ""),
    ),
    "cypher": (
        (r"(?i)\bDROP\s+DATABASE\b", "db.drop", ""),
        (r"(?is)\A(?!.*(?:\bWHERE\b|\(\s*\w*\s*:\s*\w+\s*\{)).*\bDELETE\b", "db.delete.all", "every node"),
    ),
}
"""Query languages besides SQL: patterns of the statements that lose or open something, the worst first."""


def classify_file_database(call: Invocation, *, dialect: str) -> Iterator[Effect]:
    """Classify work on a database that is a file: the zone of the file decides."""
    operands = call.args.operands
    file = operands[0] if operands else Word(":memory:")
    target = call.resolve_path(file, with_state=True) if file.text not in (":memory:", "") else None
    harmless = target is None or target.zone is Zone.TEMP
    light = target is not None and (target.state == "tracked" or is_throwaway(target.path.rsplit("/", 1)[-1]))
    spoken = (
        [word.text for word in operands[1:]]
        + _list_texts(call, "-cmd -c -s --cmd")
        + list(_read_files(call, "-init -f"))
    )
    harmless = harmless or is_read_only_file(call, file.text, spoken)
    for text in spoken:
        yield from _classify_dot_commands(call, text)
        sql = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("."))
        if harmless:
            yield from classify_file_access(sql, call)
        else:
            yield from classify_sql(sql, call, dialect, recoverable=light)
    if target is not None:
        yield from call.make_effects("fs.read", [file])


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


_REDIS_ADMIN = word_set(
    "config shutdown eval evalsha script slaveof replicaof debug module acl failover cluster fcall function migrate "
    "restore swapdb"
)
_REDIS_READ = word_set("get list info help cat doctor stats usage load")


def classify_redis(call: Invocation) -> Iterator[Effect]:
    lines = [[word.text for word in call.args.operands]] if call.args.operands else []
    lines += [line.split() for line in (call.command.stdin or "").splitlines() if line.strip()]
    host = call.args.get_value("-h -u --uri")
    target = (Target(host.display_text if host is not None else "redis", "database"),)
    port = call.args.get_value("-p")
    # A server of this machine with a port of its own was most likely started for a test.
    is_own = host is None or is_local_address(host.text)
    aside = True if is_own and port is not None and port.text != "6379" else None
    if host is not None and call.args.has_flag("-x -X") and not is_local_address(host.text):
        yield call.make_effect("net.send", (Target(host.display_text, "host"),), note="what is handed to it")
    for line in lines:
        name, rest = line[0].lower(), [part.lower() for part in line[1:]]
        if name in ("flushall", "flushdb") or (name == "call" and {"flushall", "flushdb"} & set(rest)):
            # In a container of this machine it is most likely a cache, which fills again.
            is_cache = host is None and call.context.kind == "container"
            yield call.make_effect("db.drop", target, recoverable=aside, possible=is_cache, note="every key")
        elif name in _REDIS_ADMIN and not (rest and rest[0] in _REDIS_READ):
            whole = any("flush" in part for part in rest)
            # `SCRIPT FLUSH` empties a cache of scripts; a script that is run may call FLUSHALL.
            kept = host is None or not name.startswith("eval")
            yield call.make_effect("db.drop" if whole else "db.admin", target, recoverable=kept if whole else None)
        elif name in ("del", "unlink") and call.command.repeated:
            yield call.make_effect("db.delete.all", target, recoverable=True, note="many keys")
        else:
            yield call.make_effect("db.write")
