"""Whether a repository's commits are checked by verdikt: then what keeps git from its hooks switches verdikt off."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from verdikt.model.git_hook import GIT_HOOKS, is_verdikt_hook
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.model.facts import Facts

_HOOKS_PATH = compile_lazily(r"(?im)^\s*hookspath\s*=\s*\"?([^\"\n#;]+)")


def is_commit_check(path: str, facts: Facts) -> bool:
    """Whether one of our hooks lies at the path, or in a directory there that is named like one of hooks."""
    name = path[path.rfind("/") + 1 :]
    if name in GIT_HOOKS:
        return is_verdikt_hook(facts.text(path))
    if "*" in name or "?" in name or "[" in name:
        directory = path.removesuffix(f"/{name}").removesuffix("/**")

        return any(fnmatchcase(hook, name) and is_commit_check(f"{directory}/{hook}", facts) for hook in GIT_HOOKS)
    if name == ".husky":
        return is_commit_check(f"{path}/_", facts)
    return (name == "_" or name.endswith("hooks")) and any(
        is_verdikt_hook(facts.text(f"{path}/{hook}")) for hook in GIT_HOOKS
    )


def has_commit_check(directory: str, facts: Facts) -> bool:
    """Whether the repository around a directory runs our hooks."""
    root = facts.git(directory).root or facts.project_root
    return any(
        is_verdikt_hook(facts.text(f"{place}/{hook}"))
        for place in _find_hook_directories(root, facts)
        for hook in GIT_HOOKS
    )


def _find_hook_directories(root: str, facts: Facts) -> Iterator[str]:
    """Where git looks, or looked before it was told to look elsewhere."""
    git = f"{root}/.git"
    linked = facts.text(git)  # of a work tree, whose hooks are those of the main repository
    if linked and linked.startswith("gitdir:"):
        git = linked.removeprefix("gitdir:").strip().partition("/worktrees/")[0]
    yield f"{git}/hooks"
    for settings in (f"{git}/config", f"{facts.home}/.gitconfig"):
        for found in _HOOKS_PATH.findall(facts.text(settings) or ""):
            path = str(found).strip().rstrip("/")
            yield path.replace("~", facts.home, 1) if path.startswith(("~", "/")) else f"{root}/{path}"
