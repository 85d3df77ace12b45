"""Databases: the statements that a client, or a framework's console, would run."""

import re
from collections.abc import Iterator
from itertools import islice

from verdikt.effects.arguments import word_set
from verdikt.effects.code import classify_code
from verdikt.effects.code.client_files import COPIED_FILE, classify_copied_file, classify_local_files
from verdikt.effects.code.client_scripts import (
    classify_unread_files,
    list_shell_lines,
    read_client_files,
    read_included_texts,
)
from verdikt.effects.code.dot_commands import choose_used_file, classify_dot_commands
from verdikt.effects.code.key_commands import EVERY_KEY, list_store_commands
from verdikt.effects.code.made_statements import classify_made_statements
from verdikt.effects.code.sql import REPLACED_TABLE, classify_file_access, classify_sql
from verdikt.effects.code.sql_session import (
    classify_session,
    is_read_only_connection,
    is_read_only_file,
    is_remote_server,
    names_live_store,
)
from verdikt.effects.connection_files import fill_service
from verdikt.effects.data_store import (
    find_data_store,
    find_database_name,
    is_trial_number,
    list_switches,
    settle_session,
)
from verdikt.effects.deployment_stage import list_stages
from verdikt.effects.host import is_local_address
from verdikt.effects.installation_names import is_for_trials, is_live_name, is_test_name, is_throwaway
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


_ROW_CHANGES = ("db.write", "db.delete")


def classify_client(
    call: Invocation,
    *,
    dialect: str,
    flags: str,
    files: str = "",
    database: str = "-d --dbname --database -D",
    initial: str = "",
    read_only: str = "",
    server: str = "",
) -> Iterator[Effect]:
    """Classify a client that takes statements by `flags`, by standard input, by a file or as an operand.

    `initial` are options with a statement that is run before the others, `read_only` is an option with the values that
    keep the session from changing anything, `server` is the operand that names the server and not the database.
    """
    base = _find_database(call, database, has_operand=not server)
    targets = (Target(base, "database"),) if base else ()
    # A statement may also be the last operand: `cqlsh host 'DROP …'`, `cypher-shell 'MATCH …'`.
    operands = [word.text for word in call.args.operands if " " in word.text.strip() and word.text != base]
    initial_texts = [word.text for word in call.args.get_values(initial)]
    own_texts = [*initial_texts, *_list_texts(call, flags), *operands]
    texts = [*read_included_texts(call, own_texts), *read_client_files(call, files)]
    for line in list_shell_lines(call, texts[len(own_texts) :]):
        yield from call.classify_shell(line)
    names = [find_database_name(fill_service(base, call))] if base else []
    names += [name for text in texts for name in list_switches(text)]
    light = bool(names) and all(map(is_throwaway, names)) and not any(map(is_live_name, names))
    effects = [(text, _classify_text(call, text, dialect, targets, light=light)) for text in texts]
    is_live = names_live_store(call)
    is_remote = is_live or is_remote_server(call, base)
    is_piped = (
        call.has_piped_input() and not call.args.has_flag(f"{flags} {files}") and not any(read_client_files(call, ""))
    )
    made = classify_made_statements(call, texts, targets, light=light, is_piped=is_piped, is_remote=is_remote)
    effects.append(("", made))
    yield from classify_local_files(call, "\n".join(texts), base)
    # What comes through a pipe or from a file that can't be read may lift anything.
    is_known_input = not call.has_piped_input() and not call.command.redirects and not call.args.has_flag(files)
    is_read_only = is_known_input and is_read_only_connection(call, dialect, base, read_only)
    session_effects = list(classify_session(call, effects, dialect, is_read_only=is_read_only))
    servers = call.args.select_words(server) if server else ()
    for effect in settle_session(call, session_effects, servers, names):
        changes_live_rows = is_live and effect.what in _ROW_CHANGES
        yield derive_effect("db.write.live", effect, effect.targets, note="live data") if changes_live_rows else effect
    if not light:
        yield from classify_unread_files(call, files, targets, is_remote=is_remote)
    yield call.make_effect("db.read", targets)


def _find_database(call: Invocation, options: str, *, has_operand: bool) -> str:
    """Return the database that an option or the first operand names; a statement names none."""
    if (name := call.args.get_value(options)) is not None:
        return name.text
    first = call.args.operands[0].text if has_operand and call.args.operands else ""
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
        elif copied := COPIED_FILE.match(match[2]):
            yield from classify_copied_file(copied[1], call)
    sql = _META.sub("", text)
    if sql.strip():
        yield from classify_sql(sql, call, dialect, recoverable=light)


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
    statements = [word.text for word in operands[1:]] + _list_texts(call, "-cmd -c -s --cmd")
    statements = [*read_included_texts(call, statements), *read_client_files(call, "-init -f")]
    file = choose_used_file(call, "\n".join(statements), file)
    target = call.resolve_path(file, with_state=True) if file.text not in (":memory:", "") else None
    harmless = target is None or target.zone is Zone.TEMP
    light = target is not None and (target.state == "tracked" or is_throwaway(target.path.rsplit("/", 1)[-1]))
    name = target.path.rsplit("/", 1)[-1] if target is not None and target.zone is Zone.PROJECT else ""
    harmless = harmless or is_test_name(name) or is_read_only_file(call, file.text, statements)
    yield from classify_dot_commands(call, "\n".join(statements))
    for text in statements:
        sql = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("."))
        if harmless:
            yield from classify_file_access(sql, call)
        else:
            for effect in classify_sql(sql, call, dialect, recoverable=light):
                # The rows of a table that is made again come from other files, as a rule.
                if effect.note == REPLACED_TABLE:
                    yield call.make_effect("db.schema" if is_for_trials(name) else "db.drop", recoverable=True)
                else:
                    yield effect
    if target is not None:
        yield from call.make_effects("fs.read", [file])


_REDIS_ADMIN = word_set(
    "config shutdown eval evalsha script slaveof replicaof debug module acl failover cluster fcall function migrate "
    "restore swapdb"
)
_REDIS_READ = word_set("get list info help cat doctor stats usage load")


def classify_redis(call: Invocation) -> Iterator[Effect]:
    """Classify the commands for a store of keys: operands, input, and scripts."""
    number = call.args.get_value("-n")
    databases = [number.text] if number is not None else []
    lines = list_store_commands(call)
    host = call.args.get_value("-h -u --uri")
    target = (Target(host.display_text if host is not None else "redis", "database"),)
    # `--cluster call HOST:PORT …`
    servers = [word for word in call.args.operands if call.args.has_flag("--cluster") and ":" in word.text]
    if host is not None and call.args.has_flag("-x -X") and not is_local_address(host.text):
        yield call.make_effect("net.send", (Target(host.display_text, "host"),), note="what is handed to it")
    for name, *rest in lines:
        if name == "select":
            databases = rest[:1]
        elif name in ("flushall", "flushdb") or (name == "call" and {"flushall", "flushdb"} & set(rest)):
            store = find_data_store(call, servers)
            is_trial = store.is_here and name == "flushdb" and any(map(is_trial_number, databases or store.names))
            yield call.make_effect(
                "db.schema" if is_trial else "db.drop", target, recoverable=store.is_here or None, note="every key"
            )
        elif name in _REDIS_ADMIN and not (rest and rest[0] in _REDIS_READ):
            whole = any("flush" in part for part in rest)
            # `SCRIPT FLUSH` empties a cache of scripts; a script that is run may call FLUSHALL.
            kept = host is None or not name.startswith("eval")
            yield call.make_effect("db.drop" if whole else "db.admin", target, recoverable=kept if whole else None)
        elif name in ("del", "unlink") and (call.command.repeated or rest == [EVERY_KEY]):
            is_kept = find_data_store(call, servers).is_here or rest != [EVERY_KEY]
            yield call.make_effect("db.delete.all", target, recoverable=is_kept or None, note="many keys")
    yield call.make_effect("db.write")
