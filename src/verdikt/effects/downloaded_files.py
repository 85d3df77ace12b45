"""Files that a session downloaded and has not read: running one runs code that no person and no agent has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verdikt.effects.secret_sends import is_listed_host
from verdikt.effects.zone_effects import derive_effect
from verdikt.model.session_state import value_key

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Effects
    from verdikt.model.facts import Facts

DOWNLOADS_KEY = value_key("trail", "downloads")
"""Files from hosts that ordinary work does not talk to: path → host, seq."""
_MAX_DOWNLOADS = 24
_SAVES = ("fs.write", "fs.overwrite")


def find_unread_runs(effects: Effects, facts: Facts) -> list[Effect]:
    """Return `code.unknown` for each file among those that are run that the session downloaded and has not read."""
    runs = [effect for effect in effects.items if effect.what == "code.run"]
    downloads = facts.recall(DOWNLOADS_KEY) if runs else None
    if not isinstance(downloads, Mapping):
        return []
    return [
        derive_effect("code.unknown", effect, (target,), note=_describe_origin(*downloads[target.path]))
        for effect in runs
        for target in effect.targets
        if target.path in downloads
    ]


def _describe_origin(name: str, seq: int) -> str:
    return f"downloaded from {name} at #{seq} and not read since"


def note_downloads(effects: Effects, facts: Facts, seq: int) -> dict[str, Any]:
    """Return what the memory keeps of files that this action downloads, and forgets of those that it reads."""
    before = facts.recall(DOWNLOADS_KEY)
    downloads: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    for effect in effects.items:
        if effect.what == "fs.read" and downloads:
            for target in effect.targets:
                downloads.pop(target.path, None)
    for path, name in _iter_downloads(effects):
        downloads.pop(path, None)
        downloads[path] = [name[:100], seq]
    downloads = dict(list(downloads.items())[-_MAX_DOWNLOADS:])
    return {DOWNLOADS_KEY: downloads or None} if downloads != (before or {}) else {}


def _iter_downloads(effects: Effects) -> Iterator[tuple[str, str]]:
    """Yield the files that one command both fetches and writes, with the host that they come from."""
    hosts = {
        effect.by: target.text
        for effect in effects.items
        if effect.what == "net.fetch"
        for target in effect.targets
        if target.kind == "host" and not is_listed_host(target.text)
    }
    for effect in effects.items if hosts else ():
        if effect.what in _SAVES and effect.by in hosts:
            yield from ((target.path, hosts[effect.by]) for target in effect.targets if target.path)
