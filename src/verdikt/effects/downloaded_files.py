"""Files that a session downloaded and has not read: running one runs code that no person and no agent has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import basename, join, normpath
from typing import TYPE_CHECKING, Any

from verdikt.effects.secret_sends import is_listed_host
from verdikt.effects.zone_effects import derive_effect
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.session_state import value_key

if TYPE_CHECKING:
    from verdikt.model.effect import Effect, Effects
    from verdikt.model.facts import Facts

DOWNLOADS_KEY = value_key("trail", "downloads")
"""Files from hosts that ordinary work does not talk to: path → host, seq. The path of a directory that one was
unpacked in ends with a slash."""
_MAX_DOWNLOADS = 24
_SAVES = ("fs.write", "fs.overwrite")
_UPLOAD_DOMAINS = ("raw.githubusercontent.com", "gist.githubusercontent.com", "storage.googleapis.com")
"""Listed domains from which comes what any account may have put there."""
_UNPACKING_NOTE = "unpacks an archive"
_ARCHIVE_FILE = compile_lazily(r"\.(?:tar|t?gz|tgz|zip|bz2|xz|zst)\b")
_TOOL_PREFIX = "mcp__"
_RUNS = ("code.run", "code.build", "pkg.install")
_FETCHES = ("net.fetch", "git.fetch")
_ADDRESS_NAME = compile_lazily(r"://[^\s?#]*/([\w.-]+)(?=[\s?#]|$)")
_ENTERED = compile_lazily(r"(?:\b(?:cd|pushd)|\s-C)\s+([^\s;&|]+)")


def find_unread_runs(effects: Effects, facts: Facts, text: str) -> list[Effect]:
    """Return `code.unknown` for each file among those that are run that the session downloaded and has not read.

    `text` is that of the command, which may enter a directory before.
    """
    runs = [effect for effect in effects.items if effect.what in _RUNS]
    downloads = facts.recall(DOWNLOADS_KEY) if runs else None
    if not isinstance(downloads, Mapping):
        return []
    places = [normpath(join(facts.cwd, path)) for path in _ENTERED.findall(text)]
    entered = tuple(Target(path, "path", path, Zone.TEMP) for path in places)
    return [
        derive_effect(
            "code.unknown", effect, (target,), note=f"downloaded from {row[0]} at #{row[1]} and not read since"
        )
        for effect in runs
        for target in effect.targets or entered
        for place in (
            [target.path] if target.path else [normpath(join(at, target.text)) for at in (facts.cwd, *places)]
        )
        if (row := _find_download(place, downloads))
    ]


def _find_download(path: str, downloads: Mapping[str, Any]) -> Any:
    """Return the row of a downloaded file, or of the archive that a file came out of; empty for any other."""
    if path in downloads:
        return downloads[path]
    return next((row for place, row in downloads.items() if place[-1:] == "/" and f"{path}/".startswith(place)), ())


def note_downloads(effects: Effects, facts: Facts, seq: int) -> dict[str, Any]:
    """Return what the memory keeps of files that this action downloads, and forgets of those that it reads."""
    before = facts.recall(DOWNLOADS_KEY)
    downloads: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    for effect in effects.items:
        if effect.what == "fs.read" and downloads:
            for target in effect.targets:
                downloads.pop(target.path, None)
    for path, name in _iter_downloads(effects, facts.cwd, facts.project_root):
        downloads.pop(path, None)
        downloads[path] = [name[:100], seq]
    downloads |= _carry_downloads(effects, downloads, facts) if downloads else {}
    downloads = dict(list(downloads.items())[-_MAX_DOWNLOADS:])
    return {DOWNLOADS_KEY: downloads or None} if downloads != (before or {}) else {}


def _carry_downloads(effects: Effects, downloads: Mapping[str, Any], facts: Facts) -> Iterator[tuple[str, Any]]:
    """Yield the places that downloaded files are copied, moved or unpacked to, with the row of each.

    What the session itself writes in such a place has an empty row.
    """
    rows = {path.rpartition("/")[2]: row for path, row in downloads.items() if path[-1:] != "/"}
    fetching = {effect.by for effect in effects.items if effect.what in _FETCHES}
    for effect in effects.items:
        if effect.what not in _SAVES or effect.by in fetching:
            continue
        names = [name for name in (word.rpartition("/")[2] for word in effect.by.split()[1:]) if rows.get(name)]
        for target in effect.targets:
            place = target.path.rstrip("/")
            if not names:
                is_own = not effect.note.startswith(_UNPACKING_NOTE) and _find_download(place, downloads)
                yield from [(place, [])] if is_own else ()
            elif not effect.note.startswith(_UNPACKING_NOTE):
                is_directory = "." not in basename(place)
                yield from ((path, rows[names[0]]) for path in (place, f"{place}/{names[0]}")[: 1 + is_directory])
            elif place != facts.project_root:  # what else lies in the project is not from there
                yield f"{place}/", rows[names[0]]


def _iter_downloads(effects: Effects, cwd: str, root: str) -> Iterator[tuple[str, str]]:
    """Yield the files and directories that one command both fetches and writes, with the host that they come from."""
    hosts = {effect.by: name for effect in effects.items if (name := _find_foreign_host(effect))}
    for effect in effects.items if hosts else ():
        host = hosts.get(effect.by, "")
        names = _ADDRESS_NAME.findall(effect.by) if host else []
        if not host and effect.note.startswith(_UNPACKING_NOTE) and not _ARCHIVE_FILE.search(effect.by):
            # `curl … | tar -xz -C /tmp`
            places = [target.path.rstrip("/") for target in effect.targets if target.path]
            yield from ((f"{place}/", next(iter(hosts.values()))) for place in places if place != root)
        # A connected tool that is given an address and a file saves the one in the other, whatever its verb says.
        is_saved = effect.what in _SAVES or (effect.what == "fs.read" and effect.by.startswith(_TOOL_PREFIX))
        for path in [target.path.rstrip("/") for target in effect.targets if target.path and is_saved and host]:
            # Into a directory, `wget -P /tmp`, it gets the name that the address ends with.
            is_directory = "." not in basename(path)
            yield from ((place, host) for place in (path, *(f"{path}/{name}" for name in names if is_directory)))
        if effect.what == "git.fetch" and host:
            given = [word for word in effect.by.partition("://")[2].split()[1:] if word[:1] != "-"]
            place = join(cwd, (given or names or [""])[0].removesuffix(".git"))
            yield f"{normpath(place)}/", host


def _find_foreign_host(effect: Effect) -> str:
    """Return the host that ordinary work does not talk to and that an effect fetches from; empty for none."""
    if effect.what not in _FETCHES or (effect.what == "git.fetch" and "://" not in effect.by):
        return ""  # where a key opens a repository, the person has an account
    names = [target.text for target in effect.targets if target.kind == "host"]
    return next((name for name in names if not is_listed_host(name) or name in _UPLOAD_DOMAINS), "")
