"""The files that an action accesses, and whether it would change them."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from unicodedata import normalize

from verdikt.graph.context import GovernanceContext
from verdikt.graph.glob import match_glob
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import EffectClass

_PATH_LIST_KEYS = ("paths", "file_paths", "files")
_CHANGING_CLASSES = (EffectClass.WRITE, EffectClass.DESTRUCTIVE)
_RUNNING_CLASSES = (EffectClass.EXECUTE, EffectClass.SPAWN)
_PATHLESS_KINDS = (ActionKind.BASH, ActionKind.EXECUTE_CODE, ActionKind.SUBMIT_TASK, ActionKind.FETCH, ActionKind.AGENT)
"""Kinds whose payload names no file; the files they access are known from their effects alone."""

# PATH_MAX of Linux: a longer text cannot be opened, and normalising it could take long.
_MAX_PATH_LENGTH = 4096


@dataclass(frozen=True, slots=True)
class FileAccess:
    """A file that an action accesses. `path` is normalised; in `real`, symbolic links are resolved where known.

    Both are empty when `text` is too long to be a path. `metadata_only` means that a command lists or runs the file,
    which does not show its content to the agent.
    """

    text: str
    path: str
    real: str
    writes: bool
    metadata_only: bool = False


def list_file_accesses(action: Action, ctx: GovernanceContext) -> list[FileAccess]:
    """Return every file that the payload names or that is the target of a known effect."""
    # Every kind but READ may write, an unknown tool included.
    writes = action.kind != ActionKind.READ
    accesses = [_build_access(text, writes, action, ctx) for text in _iter_payload_paths(action)]
    for effect in ctx.effects:
        for target in effect.targets:
            if target.kind == "path" and target.path:
                access = _build_access(target.path, effect.cls in _CHANGING_CLASSES, action, ctx)
                metadata_only = effect.what.startswith("fs.list") or effect.cls in _RUNNING_CLASSES
                accesses.append(replace(access, text=target.text, metadata_only=metadata_only))
    return accesses


def resolve_root(action: Action, ctx: GovernanceContext) -> str:
    """Return the directory to which a policy's relative paths refer; empty when unknown."""
    return ctx.facts.project_root if ctx.facts is not None else action.cwd


def is_below(directory: str, access: FileAccess, root: str) -> bool:
    """Return whether the real path lies in a directory, which is absolute or relative to the root."""
    directory = _fold_case(posixpath.normpath(posixpath.join(root, directory)))
    real = _fold_case(access.real)
    if directory == ".":
        return not real.startswith(("/", "../", "~")) and real != ".."
    return real == directory or real.startswith(directory.rstrip("/") + "/")


def matches_pattern(pattern: str, access: FileAccess, root: str) -> bool:
    """Return whether a pattern fits the file or a directory above it, by its path or its real path.

    A pattern without a slash fits at any depth; one with a slash is relative to the root, or fits at any depth when the
    root is not known. Case is ignored, because some file systems ignore it.
    """
    pattern = pattern.removeprefix("./").rstrip("/") or "/"
    if not pattern.startswith(("/", "**", "~")):
        pattern = posixpath.join(root, pattern) if "/" in pattern and root else f"**/{pattern}"
    pattern = _fold_case(pattern)
    return any(
        match_glob(pattern, name) or match_glob(f"{pattern.rstrip('/')}/**", name)
        for name in {_fold_case(access.path), _fold_case(access.real)}
    )


def _iter_payload_paths(action: Action) -> Iterator[str]:
    payload = action.payload
    if action.kind in _PATHLESS_KINDS or not isinstance(payload, Mapping):
        return
    if action.path:
        yield action.path
    for key in _PATH_LIST_KEYS:
        value = payload.get(key)
        if isinstance(value, Iterable) and not isinstance(value, str):
            yield from (text for text in value if isinstance(text, str) and text)
    if action.tool.lower() == "glob" and (pattern := action.text("pattern")):
        # The files are not known, but all of them lie below the part before the first wildcard.
        fixed = pattern.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0]
        yield posixpath.join(action.path, posixpath.dirname(fixed) or ".")


def _build_access(text: str, writes: bool, action: Action, ctx: GovernanceContext) -> FileAccess:
    if len(text) > _MAX_PATH_LENGTH:
        return FileAccess(text, "", "", writes)
    facts = ctx.facts
    path = "~" + text[5:] if text == "$HOME" or text.startswith("$HOME/") else text
    if facts is not None and (path == "~" or path.startswith("~/")):
        path = facts.home + path[1:]
    if not path.startswith("~"):
        path = posixpath.join(action.cwd or (facts.cwd if facts is not None else ""), path)
    path = posixpath.normpath(path)
    # `normpath` keeps exactly two leading slashes, as POSIX allows; on Linux they mean the same as one.
    path = "/" + path.lstrip("/") if path.startswith("//") else path
    real = facts.path(path).real if facts is not None and path.startswith("/") else path
    return FileAccess(text, path, real or path, writes)


def _fold_case(path: str) -> str:
    # NFC, because macOS stores names decomposed: `é` may be one code point or two.
    return path.lower() if path.isascii() else normalize("NFC", path).casefold()
