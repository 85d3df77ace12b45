"""Where the data lies that a client works on, and whether its names say that it is for development or tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.connection_files import SERVICE_VARIABLES, fill_service, read_connection_files
from verdikt.effects.deployment_stage import list_stages
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.host import is_local_address, parse_host
from verdikt.effects.installation_names import is_for_trials, is_live_name
from verdikt.knowledge import find_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command, Word

_SERVER_OPTIONS = (
    "-h --host --hostname -H -S --server --address --addr --endpoint --bootstrap-server --broker-list --zookeeper "
    "--brokers --broker -b"
)
_STORE_OPTIONS = "-u --url --uri --dsn -url -database --database --dbname --db -d -D --connection -conn"
"""Options whose value may be an address, or the name of what is at one."""
_SERVER_VARIABLES = ("HOST", "HOSTADDR", "SERVICE", "URL", "DSN", "URI", "_CONN")
_NAME_VARIABLES = ("PGDATABASE", "DB_DATABASE")
_SERVER_KEYS = frozenset(("host", "hostaddr", "server", "data source", "addr", "address", "service"))
_NAME_KEYS = frozenset(("dbname", "database", "databasename", "initial catalog"))
_PAIR = compile_lazily(r"(?:^|[;?&\s])([A-Za-z][\w ]*?)\s*=\s*('[^']*'|[^;&\s]+)")
_PASSWORD = compile_lazily(r"(?i)(?<=://)[^@/\s]*@|^[^@/\s]*@(?=tcp\()|\b(?:password|pwd)=[^;&\s]*")
"""The part of an address that may be unknown without a change of where it leads."""
_FIRST_PAIR = compile_lazily(r"[A-Za-z][\w ]*=")
_PROTOCOL_ADDRESS = compile_lazily(r"@?\b(?:tcp|unix)\(([^)]*)\)/([^?]*)")
_SWITCH = compile_lazily(
    r"(?im)^\s*\\c(?:onnect)?\s+(\S+)|(?:^|;)\s*use\s+[`\"\[]?([\w$-]+)|getSiblingDB\(\s*['\"]([^'\"]+)"
    r"|new\s+Mongo\(\s*['\"]([^'\"]+)"
)
"""What makes a session go on with another database."""
_QUALIFIER = compile_lazily(r"(?!public\b|dbo\b)[`\"\[]?([\w$-]+)[`\"\]]?\.")
_WHOLE_STORES = frozenset(("database", "keyspace", "catalog"))
STORE_LOSSES = (
    "db.drop",
    "db.delete",
    "db.write.all",
    "db.write.live",
    "db.schema.drop",
    "db.restore",
    "db.migrate",
    "queue.delete",
    "queue.write",
)
_NAMED_KINDS = ("database", "resource")
_REMOTE_SHELLS = find_role("remote_machine")
_CAMEL_CASE = compile_lazily(r"(?<=[a-z0-9])(?=[A-Z])")
_FIRST_TRIAL_NUMBER = 8
"""Of sixteen numbered databases, applications take the first ones, and tests take the last."""


class DataStore(NamedTuple):
    """The servers and the databases that a command names, by option, address and variable."""

    servers: tuple[str, ...]
    names: tuple[str, ...]
    is_here: bool
    """Whether it is on this machine, by what is said or because nothing is said, and nothing says that it is live."""

    is_live: bool
    """Whether an address says that people depend on it."""

    @property
    def is_named_here(self) -> bool:
        """Whether it is said to be served by this machine; a file is no server."""
        return self.is_here and bool(self.servers) and not any(server.startswith("file:") for server in self.servers)


def find_data_store(call: Invocation, servers: Sequence[Word] = ()) -> DataStore:
    """Return what a command says of the store that it works on; `servers` are operands that name one."""
    args = call.args
    server_words = [*args.get_values(_SERVER_OPTIONS), *servers]
    operands = [word for word in args.operands if word not in servers]
    texts = [word.text for word in operands] + [value.text for _, value in args.flags if value is not None]
    # `-Pflyway.url=jdbc:…`, an option that the record does not know.
    texts += [word.text.partition("=")[2] for word in call.command.argv if word.text[:1] == "-" and "://" in word.text]
    hosts, names = [word.text for word in server_words if not _is_address(word.text)], []
    settings = read_connection_files(call)
    texts += settings
    for name, value in (*call.list_exports(), *call.list_assignments()):
        if name in SERVICE_VARIABLES and settings:
            continue
        if name.endswith(_SERVER_VARIABLES):
            (texts if _is_address(value.text) else hosts).append(value.text)
        elif name in _NAME_VARIABLES:
            names.append(value.text)
    for text in texts:
        more_hosts, more_names = parse_store_address(fill_service(text, call))
        hosts += more_hosts
        names += more_names
    connection_words = [*server_words, *operands, *args.get_values(_STORE_OPTIONS)]
    is_known = not any(UNKNOWN in _PASSWORD.sub("", word.text) for word in connection_words if " " not in word.text)
    names = [_CAMEL_CASE.sub("_", name) for name in names]
    is_live = any(map(is_live_name, (*hosts, *names)))
    is_live_text = is_live or is_live_name(call.full_text) or is_live_name(call.command.stdin or "")
    is_elsewhere = call.context.kind == "elsewhere" or call.context.is_remote_engine
    is_direct = is_known and not is_elsewhere and not _is_redirected(call)
    is_here = is_direct and not is_live_text and all(map(is_server_here, hosts))
    return DataStore(tuple(hosts), tuple(names), is_here, is_live)


def settle_record_losses(call: Invocation, effects: list[Effect], *, has_handler: bool) -> list[Effect]:
    """Return the effects of a record, some of which are `STORE_LOSSES`; see `settle_losses`.

    What the targets of a handler's effects are, only the handler knows, so that it settles those itself.
    """
    store = find_data_store(call)
    for index, effect in enumerate(effects if store.is_here else ()):
        lost = [target.text for target in effect.targets if target.kind in _NAMED_KINDS]
        is_trial = all(map(is_for_trials, lost or store.names))
        # Frameworks that name no database connect to the one of their stage.
        is_trial = is_trial if lost or store.names else not has_handler and "test" in list_stages(call)
        if not has_handler or not (lost or any(target.kind == "host" for target in effect.targets)):
            effects[index] = _settle_loss(call, effect, store, is_trial=is_trial)
    if store.is_live:
        effects = [e._replace(recoverable=False) if e.what.startswith("db.drop") else e for e in effects]
    return effects


def settle_losses(
    call: Invocation, effects: Sequence[Effect], store: DataStore, names: Sequence[str]
) -> Iterator[Effect]:
    """Yield the effects of a session, without losses on this machine in what is for development or tests by its name.

    Other losses on this machine can be asked about. `names` are those of the databases that the session works on.
    """
    for effect in effects:
        lost = [target.text for target in effect.targets if target.kind in _NAMED_KINDS]
        qualifiers = [match[1] for match in map(_QUALIFIER.match, lost) if match]
        affected = lost if effect.note in _WHOLE_STORES else [*(names or store.names), *qualifiers]
        is_trial = bool(affected) and all(map(is_for_trials, affected))
        if any(map(is_live_name, qualifiers)):
            yield effect._replace(recoverable=False)
        else:
            yield _settle_loss(call, effect, store, is_trial=is_trial) if store.is_here else effect


def settle_session(
    call: Invocation, effects: Sequence[Effect], servers: Sequence[Word], names: Sequence[str]
) -> Iterator[Effect]:
    """Yield the effects of a session as `settle_losses` does; the store is looked for only where there are any."""
    if effects:
        yield from settle_losses(call, effects, find_data_store(call, servers), names)


def _settle_loss(call: Invocation, effect: Effect, store: DataStore, *, is_trial: bool) -> Effect:
    if not effect.what.startswith(STORE_LOSSES):
        return effect
    if is_trial:
        what = "queue.local" if effect.what.startswith("queue.") else "db.schema"
        return call.make_effect(what, effect.targets, note="on this machine, for development or tests")
    return effect._replace(recoverable=True) if store.is_named_here else effect


def is_trial_number(number: str) -> bool:
    """Return whether a numbered database is one that tests take."""
    return number.isdigit() and int(number) >= _FIRST_TRIAL_NUMBER


def list_switches(text: str) -> list[str]:
    """Return the databases that the text of a session goes on with."""
    return [next(filter(None, match.groups())) for match in _SWITCH.finditer(text)]


def find_database_name(database: str) -> str:
    """Return the name of the database in a connection string; the text itself if it is none."""
    return next(iter(parse_store_address(database)[1]), "") if _is_address(database) else database


def _is_redirected(call: Invocation) -> bool:
    """Return whether commands before this one may have led the usual addresses elsewhere: settings, a tunnel."""
    earlier = find_preceding(call.command, call.commands)
    others = [command for command in earlier if command is not call.command and command.argv]
    return any(_redirects(command) and not _is_read(command, call) for command in others)


def _is_read(command: Command, call: Invocation) -> bool:
    """Return whether a command only takes in variables from a file that can be read: `. ops/test.env`."""
    if command.argv[0].text not in ("source", ".") or len(command.argv) < 2:
        return False
    path = call.resolve_path(command.argv[1]).path
    return bool(path) and call.facts.text(path) is not None


def _redirects(command: Command) -> bool:
    texts = [word.text for word in command.argv]
    if texts[0] in ("source", ".", "eval"):
        return not texts[-1].endswith("/activate")
    is_forward = command.name in _REMOTE_SHELLS and any(text[:1] == "-" and "L" in text for text in texts)
    return is_forward or command.name.endswith("proxy") or any("port-forward" in text for text in texts)


def _is_address(text: str) -> bool:
    """Return whether a text is an address and no name: a URL, pairs of `key=value`, `tcp(host)/name`."""
    has_scheme = "://" in text and " " not in text
    return has_scheme or _FIRST_PAIR.match(text) is not None or _PROTOCOL_ADDRESS.search(text) is not None


def parse_store_address(text: str) -> tuple[list[str], list[str]]:
    """Return the servers and the databases that an address names; none for a text that is no address."""
    if not _is_address(text):
        return [], []
    if match := _PROTOCOL_ADDRESS.search(text):
        return [match[1]], [match[2]]
    pairs = [(key.lower(), value.strip("'")) for key, value in _PAIR.findall(text)]
    hosts = [value for key, value in pairs if key in _SERVER_KEYS]
    names = [value for key, value in pairs if key in _NAME_KEYS]
    scheme, separator, rest = text.removeprefix("jdbc:").partition("://")
    if not separator or " " in text:
        return hosts, names
    path = rest.partition("?")[0].partition(";")[0].partition("/")[2]
    if scheme.startswith(("sqlite", "file")):
        hosts.append(f"file:{path}")
    else:
        hosts.append(parse_host(f"store://{rest}"))
    return hosts, [name for name in (path.rsplit("/", 1)[-1], *names) if name]


def is_server_here(server: str) -> bool:
    """Return whether a server, with a port or an instance, or each one of a list, is this machine."""
    # `localhost,1433` is a server with its port, `a:9092,b:9092` are two.
    parts = [part.strip().removeprefix("tcp:").partition("\\")[0] for part in server.split(",") if not part.isdigit()]
    return all(part.startswith(("/", "file:", "(localdb)")) or part == "." or is_local_address(part) for part in parts)
