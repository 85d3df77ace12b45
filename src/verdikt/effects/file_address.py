"""Addresses of files on this machine, `file:///home/x`, in every spelling that their readers accept."""

from __future__ import annotations

from verdikt.effects.code.decoder import decode_percent
from verdikt.model.lazy_regex import compile_lazily

_FILE_ADDRESS = compile_lazily(r"(?i)\s*file:(?=\S)")


def read_file_address(text: str) -> tuple[str, ...]:
    """Return the paths that readers of a `file:` address may take it for; empty for any other text.

    A parser of addresses drops the host, the query and the fragment; a program that cuts off `file://` keeps them.
    """
    match = _FILE_ADDRESS.match(text)
    if match is None:
        return ()
    whole = text[match.end() :].strip()
    without_query = whole.partition("#")[0].partition("?")[0]
    paths: list[str] = []
    for address in (without_query, whole):
        if not address.startswith("//"):
            paths.append(address)
            continue
        host, slash, path = address[2:].partition("/")
        paths += [slash + path, host + slash + path]
    return tuple(dict.fromkeys(decode_percent(path) for path in paths if path))


def list_paths(text: str) -> tuple[str, ...]:
    """Return the paths of a text that is a path or a `file:` address."""
    return read_file_address(text) or (text,)
