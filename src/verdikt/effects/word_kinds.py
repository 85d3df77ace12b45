"""What a word of a command line is, for the conditions of rows: `is:0=local_host`, `is:1:=protection`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.effects.ansible_inventory import names_only_containers
from verdikt.effects.installation_names import is_for_trials
from verdikt.effects.kept_settings import is_settings_pattern, keeps_settings
from verdikt.effects.local_plays import is_local_play
from verdikt.effects.self_protection import matches_own_process
from verdikt.effects.target import is_secret
from verdikt.knowledge import find_role, is_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.shell.command import Word

SECRET_NAME = compile_lazily(
    r"(?i)(?:token|secret|passw|passwd|api_?key|private|credential|auth|session|cookie|aws_|_key\b|\bkeys?\b|_pat\b"
    r"|bearer|database_url|_dsn\b|mongo\w{0,12}_ur[il])"
)
"""Matches names that are given to secrets."""
_VARIABLE = compile_lazily(r"\$\{?([A-Za-z_]\w*)")
# A filter that takes the variables of the environment all together: `env`, `$ENV`, but not `env.HOME` or `env|keys`.
_ENVIRONMENT_DUMP = compile_lazily(r"(?i)(?<![\w.$\"])(?:env|\$ENV)(?![\w\"])(?!\s*[.\[:(])(?!\s*\|\s*keys)")
_SERVICE_SUFFIX = compile_lazily(r"\.(?:service|socket|timer|exe)$")
_REVERSE_DOMAIN = ("com.", "org.", "io.", "net.")


def has_kind(word: Word, kind: str, call: Invocation) -> bool:
    """Return whether a word is of a kind: one of the table below, or a name that has a role."""
    is_of_kind = _KINDS.get(kind)
    if is_of_kind is not None:
        return is_of_kind(word)
    is_in_place = _PLACED_KINDS.get(kind)
    if is_in_place is not None:
        return is_in_place(word, call)
    return get_plain_name(word.text) in find_role(kind)


def is_word_kind(kind: str) -> bool:
    """Return whether there is such a kind of words, or such a role."""
    return kind in _KINDS or kind in _PLACED_KINDS or is_role(kind)


def _looks_like_path(word: Word, call: Invocation) -> bool:
    """Return whether a word that may also be a name, of a branch for example, is rather a path."""
    text = word.text
    if text in (".", "..", "*", ":/") or text.startswith(("./", "../", "/")) or text.endswith("/") or word.glob:
        return True
    if not word.is_known or "." not in text:
        return False
    path = call.resolver.to_absolute(text, call.command.cwd)
    return bool(path) and call.facts.path(path, git=False).exists


def _is_container_inventory(word: Word, call: Invocation) -> bool:
    """Return whether a file of hosts names containers of this machine alone."""
    path = call.resolver.to_absolute(word.text, call.command.cwd) if word.is_known else ""
    text = call.facts.text(path) if path else None
    return text is not None and names_only_containers(text)


# Said of what a program is for: `agent-guard`, `crowdstrike-falcon`; `guard` alone runs tests when files change.
_GUARD_NAME = compile_lazily(
    r"[._-](?:guard|sentinel|sensor|edr|falcon|antivirus)$|^(?:crowdstrike|antivirus|edr)[._-]"
)


def is_protection(name: str) -> bool:
    """Return whether a service or process guards the machine or records what happens on it."""
    protections = find_role("protection")
    plain_names = [get_plain_name(part) for part in name.split()]
    return any(plain in protections or _GUARD_NAME.search(plain) for plain in plain_names)


def get_plain_name(name: str) -> str:
    """Return the name of a service or a program without its directory, its domain and its suffix, in lower case."""
    plain = _SERVICE_SUFFIX.sub("", name.lower().rsplit("/", 1)[-1])
    return plain.rpartition(".")[2] if plain.startswith(_REVERSE_DOMAIN) else plain


def get_written_text(word: Word) -> str:
    """Return a word with the backslashes that the shell has eaten because they were not quoted."""
    return word.raw.strip("'\"") if "\\" in word.raw else word.text


def has_secret_variable(word: Word) -> bool:
    """Return whether a word holds a variable that is called like a secret."""
    return UNKNOWN in word.text and any(SECRET_NAME.search(name) for name in _VARIABLE.findall(word.raw))


_BACKUP = compile_lazily(r"(?i)back-?up|archive|snapshot")


def _is_wide_prefix(word: Word) -> bool:
    """Return whether an address in a bucket may hold more than the files of a trial: the bucket, a place in it."""
    bucket, _, path = word.text.partition("://")[2].partition("/")
    is_narrow = word.is_known and bool(bucket) and bool(path.strip("/*")) and not _BACKUP.search(word.text)
    return not (is_narrow and is_for_trials(word.text))


def _is_local_host(word: Word) -> bool:
    return host.is_local_host(host.to_host_target(word).text)


def _is_secret_file(word: Word) -> bool:
    return is_secret("/x/" + word.text.strip("*").rsplit("/", 1)[-1])


_KINDS: dict[str, Callable[[Word], bool]] = {
    "protection": lambda word: is_protection(word.text),
    "secret_name": lambda word: SECRET_NAME.search(word.text) is not None,
    "secret_file": _is_secret_file,
    "local_host": _is_local_host,
    "wide_prefix": _is_wide_prefix,
    "environment_dump": lambda word: _ENVIRONMENT_DUMP.search(word.text) is not None,
    "own_process": lambda word: matches_own_process(word.text),
}
_PLACED_KINDS: dict[str, Callable[[Word, Invocation], bool]] = {
    "path": _looks_like_path,
    "container_inventory": _is_container_inventory,
    "local_play": is_local_play,
    "kept_settings": keeps_settings,
    "settings_pattern": is_settings_pattern,
}
"""Kinds that the project tells, besides the word."""
