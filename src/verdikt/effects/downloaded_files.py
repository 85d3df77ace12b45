"""Files that a session downloaded and has not read: running one runs code that no person and no agent has seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, join, normpath
from typing import TYPE_CHECKING, Any

from verdikt.effects.any_language.masking import may_be_loaded
from verdikt.effects.code_sections import detect_file_language
from verdikt.effects.host import parse_host
from verdikt.effects.secret_sends import is_listed_host
from verdikt.effects.zone_effects import derive_effect
from verdikt.knowledge import find_role_words
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.session_state import value_key

if TYPE_CHECKING:
    from verdikt.effects.code_loaders import Loader
    from verdikt.model.effect import Effect, Effects
    from verdikt.model.facts import Facts

DOWNLOADS_KEY = value_key("trail", "downloads")
"""Files from hosts that ordinary work does not talk to: path → host, seq. The path of a directory that one was
unpacked in ends with a slash, and where only a pattern of names is known, the path has it."""
_MAX_DOWNLOADS = 24
_SAVES = ("fs.write", "fs.overwrite", "fs.append")
_UPLOAD_DOMAINS = ("raw.githubusercontent.com", "gist.githubusercontent.com", "storage.googleapis.com")
"""Listed domains from which comes what any account may have put there."""
_UNPACKING_NOTE = "unpacks an archive"
_ARCHIVE_FILE = compile_lazily(r"\.(?:tar|t?gz|tgz|zip|bz2|xz|zst)\b")
_TOOL_PREFIX = "mcp__"
_RUNS = ("code.run", "code.build", "pkg.install", "unknown.program")
_FETCHES = ("net.fetch", "git.fetch")
_ADDRESS_NAME = compile_lazily(r"://[^\s?#]*/([\w.-]+)(?=[\s?#]|$)")
_REMOTE_NAME = compile_lazily(r"\s[\w.@-]+:(?:[^\s:]*/)?([\w.-]+)(?=\s|$)")
"""The name of a file of another machine: `scp host:x/a.sh .`."""
_NAMED_BY_ADDRESS = frozenset(name for name, options in find_role_words("download_name").items() if "*" in options)
"""Programs that save what they download under the name in its address."""
_FORGE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org")
"""Listed hosts at which any account may keep a repository."""
_ACCOUNT = compile_lazily(r"(?:^|[:/])([\w.-]+)/[\w.-]+?(?:\.git)?/?$")
_PROGRAM_FILE = compile_lazily(r"(?i)\.(?:exe|dll|msi|so|dylib|jar|class|wasm|bin|run|elf|com|appimage|pyc)$")
_NO_PROGRAMS = ("", "settings")
_RULE_LANGUAGES = ("make",)
"""Languages of rules, which are loaded by programs that may load anything else as well."""
_REQUIRING = r"\b(?:require|import|include|source|load|dofile|use|from|do|runpy)\w*\b[^\n;]{0,80}?\b"
_SERVED_PLACES = compile_lazily(
    r"/(?:vendor|third_party|static|public|assets|www|node_modules|fixtures?|testdata|data)/"
)
"""Places of a project whose files browsers or tests read, and no build runs."""
_ENTERED = compile_lazily(r"(?:\b(?:cd|pushd)|\s-C)\s+([^\s;&|]+)")


def find_unread_runs(effects: Effects, facts: Facts, text: str, loaders: Sequence[Loader]) -> list[Effect]:
    """Return `code.unknown.download` for each file that is run or loaded, was downloaded and was not read since.

    `text` is that of the command, which may enter a directory before.
    """
    runs = [effect for effect in effects.items if effect.what in _RUNS]
    remembered = facts.recall(DOWNLOADS_KEY) if runs or loaders else None
    if not isinstance(remembered, Mapping):
        return []
    downloads = {**remembered, **dict(_carry_downloads(effects, remembered, facts))}
    directories = [facts.cwd, *(normpath(join(facts.cwd, path)) for path in _ENTERED.findall(text))]
    found: dict[tuple[str, str], Effect] = {}
    for effect in runs:
        for place in _list_run_places(effect, directories):
            if row := _find_download(place, downloads):
                found.setdefault((effect.by, row[0]), _make_unread(effect, place, row, facts))
        if effect.what == "code.run":
            found |= {
                (effect.by, row[0]): _make_unread(effect, path, row, facts)
                for path, row in _iter_required(effect, downloads, facts)
            }
    for path, row in downloads.items():
        loader = _find_loader(path, loaders, facts, text) if row and not found else None
        if loader is not None:
            found[loader.effect.by, row[0]] = _make_unread(loader.effect, path, row, facts)
    return list(found.values())


def _iter_required(effect: Effect, downloads: Mapping[str, Any], facts: Facts) -> Iterator[tuple[str, Any]]:
    """Yield the downloaded files that a program requires by name, in whichever language: `require("inspect")`."""
    for target in effect.targets:
        text = facts.text(target.path) if target.path and not _find_download(target.path, downloads) else None
        for path, row in downloads.items() if text else ():
            stem = basename(path).partition(".")[0]
            is_program = bool(row) and len(stem) > 1 and detect_file_language(path) not in _NO_PROGRAMS
            if is_program and re.search(rf"{_REQUIRING}{re.escape(stem)}\b", text or ""):
                yield path, row


def _make_unread(effect: Effect, path: str, row: Sequence[Any], facts: Facts) -> Effect:
    shown = path.removeprefix(facts.project_root + "/")
    note = f"downloaded from {row[0]} at #{row[1]} and not read since"
    return derive_effect("code.unknown.download", effect, (Target(shown, "path", path, Zone.TEMP),), note=note)


def _list_run_places(effect: Effect, directories: Sequence[str]) -> list[str]:
    """Return the files that a command runs, and for a build without a named file the places where it may lie."""
    paths = [target.path for target in effect.targets if target.path]
    if paths and effect.what != "unknown.program":
        # `java -javaagent:lib/a.jar -jar app.jar`
        parts = [part for word in effect.by.split() for part in re.split(r"[:=,]", word) if _PROGRAM_FILE.search(part)]
        return [*paths, *(normpath(join(at, part)) for at in directories for part in parts)]
    words = [word.partition("=")[2] or word for word in effect.by.split() if word[:1] != "-" or "=" in word]
    if effect.what == "unknown.program":
        # What an unknown program does with data is unknown; with a program it mostly runs it: `wine a.exe`.
        words = [word for word in words[1:] if _may_be_program(word)]
    else:
        # Of a build, a directory or what it is built by: `make -C vendor/x`, `--manifest-path x/Cargo.toml`.
        is_build = effect.what != "code.run"
        words = [word for word in words if is_build or "." not in basename(word) or _may_be_program(word)]
        words += [target.text for target in effect.targets]
    places = [normpath(join(at, word)) for at in directories for word in words]
    return places if effect.what == "unknown.program" else [*places, *directories[1:]]


def _may_be_program(name: str) -> bool:
    return bool(_PROGRAM_FILE.search(name)) or detect_file_language(name) not in _NO_PROGRAMS


def _find_loader(path: str, loaders: Sequence[Loader], facts: Facts, text: str) -> Loader | None:
    """Return the command that may load a downloaded file of the project without naming it: `conftest.py`."""
    root = facts.project_root
    language = detect_file_language(path)
    if path[-1:] == "/" or language in _NO_PROGRAMS or not path.startswith(f"{root}/"):
        return None
    if _SERVED_PLACES.search(path[len(root) :]) or not may_be_loaded(path):
        return None
    readers = [each for each in loaders if each.languages or language in _RULE_LANGUAGES]
    return next((each for each in readers if each.may_load(path, language, root, text)), None)


def _find_download(path: str, downloads: Mapping[str, Any]) -> Any:
    """Return the row of a downloaded file, or of the archive that a file came out of; empty for any other."""
    if path in downloads:
        return downloads[path]
    for place, row in downloads.items():
        if (place[-1:] == "/" and f"{path}/".startswith(place)) or ("*" in place and fnmatchcase(path, place)):
            return row
    return ()


def note_downloads(effects: Effects, facts: Facts, seq: int) -> dict[str, Any]:
    """Return what the memory keeps of files that this action downloads, and forgets of those that it reads."""
    before = facts.recall(DOWNLOADS_KEY)
    downloads: dict[str, Any] = dict(before) if isinstance(before, Mapping) else {}
    for effect in effects.items:
        if effect.what == "fs.read" and downloads:
            for target in effect.targets:
                downloads.pop(target.path, None)
                if may_be_loaded(target.path) or _PROGRAM_FILE.search(target.path):
                    # Of a tree, a file by which it is built or run.
                    downloads = {path: row for path, row in downloads.items() if not _is_below(target.path, path)}
    for path, name in _iter_downloads(effects, facts):
        downloads.pop(path, None)
        downloads[path] = [name[:100], seq]
    downloads |= _carry_downloads(effects, downloads, facts) if downloads else {}
    downloads = dict(list(downloads.items())[-_MAX_DOWNLOADS:])
    return {DOWNLOADS_KEY: downloads or None} if downloads != (before or {}) else {}


def _is_below(path: str, directory: str) -> bool:
    return directory[-1:] == "/" and path.startswith(directory)


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


def _iter_downloads(effects: Effects, facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield the files and directories that one command both fetches and writes, with the host that they come from."""
    hosts = {effect.by: name for effect in effects.items if (name := _find_foreign_host(effect, facts))}
    saving = {effect.by for effect in effects.items if effect.what in _SAVES} if hosts else set()
    cloning = {effect.by for effect in effects.items if effect.what == "git.fetch"} if hosts else set()
    for effect in effects.items if hosts else ():
        host = hosts.get(effect.by, "")
        names = _list_remote_names(effect.by) if host else []
        if not host and effect.note.startswith(_UNPACKING_NOTE) and not _ARCHIVE_FILE.search(effect.by):
            # `curl … | tar -xz -C /tmp`
            places = [target.path.rstrip("/") for target in effect.targets if target.path]
            yield from ((f"{place}/", next(iter(hosts.values()))) for place in places if place != facts.project_root)
        # A connected tool that is given an address and a file saves the one in the other, whatever its verb says.
        is_saved = (effect.what in _SAVES and effect.by not in cloning) or (
            effect.what == "fs.read" and effect.by.startswith(_TOOL_PREFIX)
        )
        for path in [target.path.rstrip("/") for target in effect.targets if target.path and is_saved and host]:
            # Into a directory, `wget -P /tmp`, it gets the name that the address ends with.
            is_directory = "." not in basename(path) or path == facts.cwd
            yield from ((place, host) for place in (path, *(f"{path}/{name}" for name in names if is_directory)))
            if is_directory and not names and path != facts.project_root:
                yield f"{path}/", host
        if (
            effect.what == "net.fetch"
            and host
            and effect.by not in saving
            and effect.by.partition(" ")[0] in _NAMED_BY_ADDRESS
        ):
            yield from ((join(facts.cwd, name), host) for name in names)
        if effect.what == "git.fetch" and host:
            yield f"{_find_clone(effect.by, facts.cwd)}/", host


def _list_remote_names(words: str) -> list[str]:
    """Return the names of the files in the addresses of a command; none for the content of a directory."""
    return [*_ADDRESS_NAME.findall(words), *_REMOTE_NAME.findall(words)]


def _find_clone(words: str, cwd: str) -> str:
    """Return the directory that a clone makes: the word after the address, or the name that the address ends with."""
    given = [word for word in words.split() if word[:1] != "-"]
    place = next((at for at, word in enumerate(given) if "/" in word and at > 1), len(given) - 1)
    named = given[place + 1 :] or [basename(given[place].rstrip("/")).removesuffix(".git")]
    return normpath(join(cwd, named[0]))


def _find_foreign_host(effect: Effect, facts: Facts) -> str:
    """Return the host that ordinary work does not talk to and that an effect fetches from; empty for none."""
    if effect.what not in _FETCHES:
        return ""
    if effect.what == "git.fetch" and "://" not in effect.by and not any(t.kind == "ref" for t in effect.targets):
        return ""  # where a key opens a repository, the person has an account
    repositories = [target.text for target in effect.targets if target.kind == "ref" and "/" in target.text]
    repositories += [word for word in effect.by.split() if "://" in word and effect.what == "git.fetch"]
    for name in repositories:
        if account := _find_foreign_account(name, facts):
            return account
    names = [target.text for target in effect.targets if target.kind == "host"]
    return next((name for name in names if not is_listed_host(name) or name in _UPLOAD_DOMAINS), "")


def _find_foreign_account(repository: str, facts: Facts) -> str:
    """Return a repository at a forge whose account has none of the project's remotes; empty for any other."""
    account = _ACCOUNT.search(repository)
    if account is None or ("://" in repository and parse_host(repository) not in _FORGE_HOSTS):
        return ""
    remotes = facts.git(facts.project_root or facts.cwd).remotes or {}
    own = [found[1] for address in remotes.values() if (found := _ACCOUNT.search(address))]
    return "" if account[1] in own else repository.partition("://")[2] or repository
