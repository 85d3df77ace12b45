"""What calls of Python's libraries do, as far as their names and keywords tell."""

import ast
from collections.abc import Collection, Sequence

from verdikt.effects.code.python_functions import (
    CLOUD_DELETE_METHODS,
    CLOUD_DELETE_PREFIXES,
    DROP_METHODS,
    PATH_FUNCTIONS,
    SEND_FUNCTIONS,
    SHELL_FUNCTIONS,
    SPAWN_FUNCTIONS,
)
from verdikt.effects.installation_names import is_for_trials, is_live_name
from verdikt.model.lazy_regex import compile_lazily


def find_keyword(node: ast.Call, names: tuple[str, ...]) -> ast.expr | None:
    """Return the value of the first keyword argument of one of these names."""
    return next((keyword.value for keyword in node.keywords if keyword.arg in names), None)


def reads_file(values: Sequence[ast.expr]) -> bool:
    """Return whether the contents of a file are among these expressions."""
    calls = [inner.func for value in values for inner in ast.walk(value) if isinstance(inner, ast.Call)]
    return any(
        function.id == "open" if isinstance(function, ast.Name) else function.attr in ("read_text", "read_bytes")
        for function in calls
        if isinstance(function, ast.Name | ast.Attribute)
    )


def runs_or_changes(function: str) -> bool:
    """Return whether a function starts programs, or changes the files that it is given."""
    return function in PATH_FUNCTIONS or function in SHELL_FUNCTIONS or function in SPAWN_FUNCTIONS


def find_request_effect(node: ast.Call, function: str) -> str:
    """Return the effect of an HTTP request to another machine."""
    keywords = {keyword.arg for keyword in node.keywords}
    if "files" in keywords or reads_file([k.value for k in node.keywords if k.arg in ("data", "content")]):
        return "net.send.file"
    if (
        function in SEND_FUNCTIONS
        or keywords & {"data", "json"}
        or (function.endswith("urlopen") and len(node.args) > 1)
    ):
        return "net.send"
    return "net.fetch"


def classify_library_method(name: str, owner: str, modules: Collection[str], *, throwaway: bool) -> str:
    """Return what a method of a database, cloud or mail library does, by its name; empty for any other.

    `owner` is the expression before the name, `modules` what is imported; `throwaway` says that the database does not
    outlive the program.
    """
    if name in DROP_METHODS:
        return "" if throwaway else "db.drop"
    cloud = any(module.startswith(_CLOUD_MODULES) for module in modules)
    if name.startswith("delete_") and any(module.startswith("kubernetes") for module in modules):
        return "k8s.delete.all" if "namespace" in name.split("_")[1:2] else "k8s.delete"
    if name == "prune" and "docker" in modules:
        return "container.volume.remove" if owner.endswith(".volumes") else "container.prune"
    if name in ("write", "write_to_user") and "crontab" in modules:
        return "persist.cron"
    if name in ("sendmail", "send_message") and "smtplib" in modules:
        return "message.send"
    if name in CLOUD_DELETE_METHODS or (cloud and name.startswith(CLOUD_DELETE_PREFIXES)):
        return "cloud.delete"
    if cloud and name in ("delete", "terminate") and _CLOUD_RESOURCE.search(owner[-200:]):
        return "cloud.delete"
    if name == "delete" and ".all()" in (end := owner[-200:]) and ".objects" in end:
        return "cloud.delete" if cloud else "" if throwaway else "db.delete.all"
    return ""


_CLOUD_MODULES = ("boto3", "google.cloud", "azure.")
_CLOUD_RESOURCE = compile_lazily(
    r"(?i)\.(?:(?:object_version|object|instance|volume|snapshot)s(?:\.\w+\(.*\))?"
    r"|(?:get_|db_?)?(?:bucket|table|instance|volume|snapshot|cluster|stack)\(.*\))$"
)
"""An expression for what holds data in a cloud: `resource.Bucket("x")`, `bucket.object_versions`."""
_STAND_INS = ("moto", "mock", "unittest", "pytest_mock", "localstack", "botocore.stub", "responses", "vcr")


def names_live_data(nodes: Sequence[ast.AST], modules: Collection[str]) -> bool:
    """Return whether a program for a cloud names data that people depend on, and no stand-in for the cloud."""
    if not any(module.startswith(_CLOUD_MODULES) for module in modules):
        return False
    if any(module.startswith(_STAND_INS) for module in modules):
        return False
    keywords = (node.arg for node in nodes if isinstance(node, ast.keyword))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return "endpoint_url" not in keywords and any(" " not in text and is_live_name(text) for text in texts)


def deletes_one(name: str, owner: str) -> bool:
    """Return whether a method deletes a single thing among many: an object, a row, a message."""
    return name in _SINGLE_DELETES or "Object(" in owner


_SINGLE_DELETES = frozenset("delete_object delete_objects delete_item delete_message delete_blob delete_tags".split())
OPEN_DATABASE = ("sqlite3.connect", "create_engine", "create_async_engine", "psycopg.connect", "psycopg2.connect")
"""Endings of the functions that open a database by an address in their first argument."""
_SQLITE_ADDRESS = compile_lazily(r"sqlite(?:\+\w+)?://(?:/(?P<path>[^?]*))?")


def is_throwaway_address(function: str, address: str) -> bool:
    """Return whether a database lives in memory, in a temporary file or in a file that is named for tests."""
    match = _SQLITE_ADDRESS.match(address)
    if match is None and not function.endswith("sqlite3.connect"):
        return False
    path = (match["path"] or ":memory:") if match else address
    is_temporary = path.startswith(("/tmp/", ":memory:"))
    return is_temporary or (match is not None and is_for_trials(path.rsplit("/", 1)[-1]))


def unpack_arguments(node: ast.Call) -> ast.Call:
    """Return the same call with `*["x"]` and `**{"args": "x"}` written out."""
    if not any(isinstance(item, ast.Starred) for item in node.args) and all(k.arg for k in node.keywords):
        return node
    arguments: list[ast.expr] = []
    for item in node.args:
        is_shown = isinstance(item, ast.Starred) and isinstance(item.value, ast.List | ast.Tuple)
        arguments += item.value.elts if is_shown else [item]  # type: ignore[attr-defined]
    keywords = [keyword for keyword in node.keywords if keyword.arg]
    for table in (keyword.value for keyword in node.keywords if keyword.arg is None):
        if isinstance(table, ast.Dict):
            pairs = zip(table.keys, table.values, strict=True)
            keywords += [ast.keyword(str(k.value), v) for k, v in pairs if isinstance(k, ast.Constant)]
    return ast.Call(func=node.func, args=arguments, keywords=keywords)
