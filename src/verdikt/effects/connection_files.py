"""Files that say where a database client connects to: services of PostgreSQL, option files of MySQL, and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

SERVICE_VARIABLES = ("PGSERVICE",)
"""Variables with the name of a service, whose settings stand in a file."""
_SERVICE = compile_lazily(r"\bservice=([\w-]+)")
_SERVICE_FILE = "~/.pg_service.conf"
_OPTION_FILES = "--defaults-file --defaults-extra-file --cqlshrc"
_OPTION_SECTIONS = "client connection client-server client-mariadb mariadb-client mysql mariadb".split()
"""Sections that clients read, besides the one of their own name."""
_INCLUDED = compile_lazily(r"(?m)^[ \t]*!include")
_SECTION = compile_lazily(r"(?m)^[ \t]*\[([^\]\n]*)\]")
_SETTING = compile_lazily(r"(?m)^[ \t]*([\w-]+)[ \t]*=[ \t]*[\"']?([^\s\"'#;]+)")
_HOST_KEY = compile_lazily(r"host(?:name|addr)?$|socket$")
_NAME_KEY = compile_lazily(r"database$|dbname$|keyspace$")


def read_connection_files(call: Invocation) -> list[str]:
    """Return the settings, as `host=… dbname=…`, of the service that a variable names and of files of options."""
    variables = call.read_variables()
    names = [variables[name].text for name in SERVICE_VARIABLES if name in variables]
    services = [(name, fill_service(f"service={name}", call)) for name in names]
    texts = [settings for name, settings in services if settings != f"service={name}"]
    for word in call.args.get_values(_OPTION_FILES):
        text = call.facts.text(call.resolve_path(word).path) or ""
        sections = dict.fromkeys((*_OPTION_SECTIONS, call.name))
        texts += [_read_section(text, section) for section in sections if f"[{section}]" in text]
        # Where an included file leads is not followed.
        texts += ["host=included"] if _INCLUDED.search(text) else []
    return texts


def fill_service(text: str, call: Invocation) -> str:
    """Return the settings of a connection with those of the service that they name, where its file can be read."""
    service = _SERVICE.search(text)
    if service is None:
        return text
    named = call.read_variables().get("PGSERVICEFILE")
    path = call.resolver.to_absolute(named.text if named is not None else _SERVICE_FILE, call.command.cwd)
    settings = _read_section(call.facts.text(path) or "" if path else "", service[1])
    return text.replace(service[0], settings) if settings else text


def _read_section(text: str, section: str) -> str:
    """Return the hosts and databases of the sections of one name in a file of settings, as `host=… dbname=…`."""
    parts = _SECTION.split(text)
    pairs = [
        pair
        for name, part in zip(parts[1::2], parts[2::2], strict=True)
        if name == section
        for pair in _SETTING.findall(part)
    ]
    hosts = [f"host={value}" for key, value in pairs if _HOST_KEY.match(key.lower())]
    return " ".join([*hosts, *(f"dbname={value}" for key, value in pairs if _NAME_KEY.match(key.lower()))])
