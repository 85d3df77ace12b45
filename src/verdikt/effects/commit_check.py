"""Whether a repository's commits are checked by verdikt: then what keeps git from its hooks switches verdikt off."""

from __future__ import annotations

from verdikt.model.commit_hook import HOOKS, is_ours
from verdikt.model.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdikt.model.facts import Facts

_HOOKS_PATH = regex(r"(?im)^\s*hookspath\s*=\s*\"?([^\"\n#;]+)")


def is_check(path: str, facts: Facts) -> bool:
    """Whether one of our hooks lies at the path, or in a directory there that is named like one of hooks."""
    name = path[path.rfind("/") + 1 :]
    if name in HOOKS:
        return is_ours(facts.text(path))
    if "*" in name or "?" in name or "[" in name:
        directory = path.removesuffix(f"/{name}").removesuffix("/**")
        from fnmatch import fnmatchcase

        return any(fnmatchcase(hook, name) and is_check(f"{directory}/{hook}", facts) for hook in HOOKS)
    if name == ".husky":
        return is_check(f"{path}/_", facts)
    return (name == "_" or name.endswith("hooks")) and any(is_ours(facts.text(f"{path}/{hook}")) for hook in HOOKS)


def is_checked(directory: str, facts: Facts) -> bool:
    """Whether the repository around a directory runs our hooks."""
    root = facts.git(directory).root or facts.project_root
    return any(is_ours(facts.text(f"{place}/{hook}")) for place in _hook_directories(root, facts) for hook in HOOKS)


def _hook_directories(root: str, facts: Facts) -> Iterator[str]:
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
