"""Look up what a git command would do to guarded paths, by comparing trees, the index and the work tree.

Only the guarded paths are asked about, so the cost does not grow with the number of files in the repository. What can
be read without git is read without it, and an answer is used again while the files that it was read from are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from verdikt.model.path_set import is_within
from verdikt.observe.git_objects import find_repository, has_parent, read_guarded_ids, resolve_revision
from verdikt.observe.git_repository import find_work_tree, get_user_id, run_git
from verdikt.observe.guarded_status import GuardedStatus
from verdikt.observe.regular_file import read_regular_file
from verdikt.observe.watched_files import AnswerCache, WatchedFiles

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without files, which git knows in every repository."""
MAX_COMMITS = 50
"""Commits of a range that are looked at one by one; only those that touch a guarded path are listed at all."""
MAX_COMPARED_BYTES = 1024 * 1024
MAX_COMPARED_FILES = 20
"""Files whose content is compared with the work tree; each costs a process."""

MAX_ANSWERS = 256
"""Answers that the process keeps: some twenty commands in a dozen projects."""

_UNTRACKED, _IGNORED = "??", "!!"

_ANSWERS: AnswerCache[tuple[str, ...] | None] = AnswerCache(MAX_ANSWERS)


class _WorkTree(NamedTuple):
    """A work tree with the guarded paths in it, as names from its top."""

    root: str
    names: tuple[str, ...]
    options: tuple[str, ...]
    env: Mapping[str, str]
    watched: WatchedFiles

    def run(self, *arguments: str) -> str | None:
        """Return what git prints; None when it fails."""
        self.watched.give_up()  # git reads far more files than can be watched
        return self.run_watched(*arguments)

    def run_watched(self, *arguments: str) -> str | None:
        """Return what git prints, where the caller watches the files that it depends on."""
        # The settings that an agent may have changed must neither run a program nor quote the names.
        options = ("-c", "core.quotePath=false", "--literal-pathspecs", *self.options)
        return run_git(self.root, self.env, *options, *arguments)

    def list_names(self, *arguments: str) -> list[str] | None:
        """Return the names that git lists of the guarded paths, separated by NUL; None when it fails."""
        return _split_names(self.run(*arguments, "--", *self.names))

    def read_status(self) -> GuardedStatus | None:
        """Return the state of the guarded files, read without git; None where only git can tell."""
        repository = None if self.options else find_repository(self.root, self.watched)
        return None if repository is None else GuardedStatus(self.root, self.names, repository)


def _split_names(output: str | None) -> list[str] | None:
    return None if output is None else [name for name in output.split("\0") if name]


def find_git_changes(
    directory: str, arguments: Sequence[str], guarded: Sequence[str], env: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the guarded files that an operation would change; None when it cannot be told.

    The arguments are the operation, the values of `--git-dir` and `--work-tree` (mostly empty), and its operands.
    """
    # The variables that say which settings git reads, and the user whose rights it has.
    reader = (get_user_id(), env.get("HOME"), env.get("XDG_CONFIG_HOME"), env.get("PATH"))
    key = (directory, tuple(arguments), tuple(guarded), reader)
    return _ANSWERS.get(key, lambda watched: look_up_git_changes(directory, arguments, guarded, env, watched))


def look_up_git_changes(
    directory: str, arguments: Sequence[str], guarded: Sequence[str], env: Mapping[str, str], watched: WatchedFiles
) -> tuple[str, ...] | None:
    """Return the same from the disk, and watch the files that the answer depends on."""
    operation, git_directory, work_tree, *operands = arguments
    handler = _OPERATIONS.get(operation)
    root = work_tree or find_work_tree(directory)
    if handler is None or not root:
        watched.give_up()  # a repository may be made there
        return ()
    _watch_ancestors(directory, root, watched)
    prefix = root.rstrip("/") + "/"
    names = _select_names(prefix, tuple(guarded))
    # A name that begins with a dash would be an option; git itself refuses it as the name of a branch.
    if not names or any(operand.startswith("-") for operand in operands if operation != "clean"):
        return ()
    options = ("--git-dir", git_directory, "--work-tree", root) if git_directory else ()
    changed = handler(_WorkTree(root, names, options, env, watched), operands)
    return None if changed is None else tuple(dict.fromkeys(prefix + name for name in changed))


@lru_cache(maxsize=64)
def _select_names(prefix: str, guarded: tuple[str, ...]) -> tuple[str, ...]:
    """Return the guarded paths in a work tree as names from its top."""
    return tuple(
        path[len(prefix) :]
        for path in guarded
        if path.startswith(prefix) and not is_within(path, f"{prefix}.git") and len(path) > len(prefix)
    )


def _watch_ancestors(directory: str, root: str, watched: WatchedFiles) -> None:
    """Watch the places below the top at which a repository of its own would come before this one."""
    while directory != root and directory.startswith(f"{root.rstrip('/')}/"):
        watched.add(f"{directory}/.git")
        directory = os.path.dirname(directory)


def _have_equal_ids(tree: _WorkTree, before: str, after: str) -> bool:
    """Return whether two commits certainly have the same guarded files; False when git has to be asked."""
    # Answers nearly every command without starting git, which takes several times as long.
    repository = None if tree.options else find_repository(tree.root, tree.watched)
    if repository is None:
        return False
    tops = frozenset(name.partition("/")[0] for name in tree.names)
    first = read_guarded_ids(repository, before, tops)
    return first is not None and first == read_guarded_ids(repository, after, tops)


def _compare_trees(tree: _WorkTree, operands: Sequence[str]) -> list[str] | None:
    """Return what differs between two trees, and is not already in the work tree as the second has it."""
    before, after = operands
    if _have_equal_ids(tree, before, after):
        return []
    names = _diff_trees(tree, before, after)
    if names is None and before == "HEAD" and tree.run("rev-parse", "-q", "--verify", "HEAD") == "":
        names, before = _diff_trees(tree, EMPTY_TREE, after), EMPTY_TREE  # a branch without commits
    if names is None and (remote := _find_remote_branch(tree, after)):
        # `git switch x` creates the branch from the remote's branch of that name.
        names, after = _diff_trees(tree, before, remote), remote
    return [] if names is None else _drop_equal_files(tree, names, after)


def _diff_trees(tree: _WorkTree, before: str, after: str) -> list[str] | None:
    return tree.list_names("diff-tree", "-r", "--no-renames", "--name-only", "-z", before, after)


def _find_remote_branch(tree: _WorkTree, branch: str) -> str:
    if not branch or any(c in branch for c in "*?[: ~^@"):
        return ""
    return (tree.run("for-each-ref", "--count=1", "--format=%(refname)", f"refs/remotes/*/{branch}") or "").strip()


def _drop_equal_files(tree: _WorkTree, names: Sequence[str], after: str) -> list[str]:
    """Return the names without those whose file already has the content that the tree `after` holds."""
    return [
        name
        for index, name in enumerate(names)
        if index >= MAX_COMPARED_FILES or not _has_content_of(tree, name, f"{after}:{name}")
    ]


def _has_content_of(tree: _WorkTree, name: str, object_name: str) -> bool:
    content = read_regular_file(os.path.join(tree.root, name), MAX_COMPARED_BYTES, follow=False)
    if content is None:
        return False
    blob = tree.run("cat-file", "blob", object_name)
    return blob is not None and blob == content.decode("utf-8", "replace")


def _compare_merge(tree: _WorkTree, operands: Sequence[str]) -> list[str] | None:
    """Return what other branches changed since they left this one."""
    changed: list[str] = []
    for branch in operands:
        if _have_equal_ids(tree, "HEAD", branch):
            continue
        base = tree.run("merge-base", "HEAD", branch)
        if base is None:
            continue  # git does not know the branch either
        names = _diff_trees(tree, base.strip() or EMPTY_TREE, branch)
        changed += _drop_equal_files(tree, names or [], branch)
    return changed


def _find_in_commits(tree: _WorkTree, operands: Sequence[str]) -> list[str] | None:
    """Return what commits changed. The first operand is `pick` or `revert`, the others are revisions and ranges."""
    direction, *revisions = operands
    is_range = any(".." in revision or revision.startswith("^") for revision in revisions)
    if not is_range and all(_have_equal_ids(tree, f"{revision}^", revision) for revision in revisions):
        return []
    if is_range:
        listing = tree.run("rev-list", "--full-history", f"--max-count={MAX_COMMITS}", *revisions, "--", *tree.names)
    else:
        # Without `--max-count`, which would have git walk on to the ancestors.
        listing = tree.run("rev-list", "--no-walk=unsorted", *revisions, "--")
    changed: list[str] = []
    for commit in (listing or "").split()[:MAX_COMMITS]:
        names = tree.list_names(
            "diff-tree", "-r", "-m", "--root", "--no-renames", "--no-commit-id", "--name-only", "-z", commit
        )
        after = commit if direction == "pick" else f"{commit}^"
        changed += _drop_equal_files(tree, list(dict.fromkeys(names or ())), after)
    return changed


def _find_in_stash(tree: _WorkTree, operands: Sequence[str]) -> list[str] | None:
    """Return what applying a stash changes, the untracked files in it included."""
    stash = operands[0]
    if _is_harmless_stash(tree, stash):
        return []
    names = _diff_trees(tree, f"{stash}^1", stash)
    changed = _drop_equal_files(tree, names or [], stash)
    untracked = tree.list_names("ls-tree", "-r", "--full-tree", "--name-only", "-z", f"{stash}^3")
    return changed + _drop_equal_files(tree, untracked or [], f"{stash}^3")


def _is_harmless_stash(tree: _WorkTree, stash: str) -> bool:
    """Return whether a stash certainly has no guarded file that differs from where it was made."""
    if not _have_equal_ids(tree, f"{stash}^1", stash):
        return False
    repository = find_repository(tree.root, tree.watched)
    tops = frozenset(name.partition("/")[0] for name in tree.names)
    if repository is None or not resolve_revision(repository, stash):
        return False
    # The third parent holds the untracked files, and most stashes have none.
    if not has_parent(repository, stash, 3):
        return True
    return read_guarded_ids(repository, f"{stash}^3", tops) == {}


def _find_in_status(tree: _WorkTree, operands: Sequence[str]) -> list[str] | None:
    """Return the guarded files in one of these states: `worktree`, `tracked`, `untracked`, `ignored`.

    `worktree` are tracked files that differ from the index; `tracked` are those that differ from HEAD. With `staged`,
    the command may also write what the index holds.
    """
    states = set(operands)
    status = tree.read_status()
    if status is not None and status.is_unchanged(states):
        return []
    arguments = ("status", "--porcelain=v1", "-z", "-uall", "--ignored=matching", "--no-renames", "--", *tree.names)
    is_watched = status is not None and status.watch_settings(tree.env)
    listing = _split_names(tree.run_watched(*arguments) if is_watched else tree.run(*arguments))
    if listing is None:
        tree.watched.give_up()
        return None
    changed = []
    for record in listing:
        code, name = record[:2], record[3:].rstrip("/")
        if code in (_UNTRACKED, _IGNORED):
            if ("untracked" if code == _UNTRACKED else "ignored") in states:
                changed.append(name)
        # A missing file is brought back, which takes nothing away.
        elif code[1] not in " D" or ("tracked" in states and code[0] != " "):
            changed.append(name)
    # Before the first commit there is nothing that git could go back to, and it refuses.
    if changed and "tracked" in states and tree.run("rev-parse", "-q", "--verify", "HEAD") == "":
        return []
    return changed


def _find_in_clean(tree: _WorkTree, operands: Sequence[str]) -> list[str] | None:
    """Return what `git clean` with these options would remove, by its own dry run."""
    status = tree.read_status()
    if status is not None and not status.has_untracked_files():
        return []
    with_directories = "-d" in operands
    names = tree.names
    run = tree.run_watched if status is not None and status.watch_settings(tree.env) else tree.run
    if not with_directories:
        # Without `-d` git does not enter a directory that holds nothing tracked.
        parents = {os.path.dirname(name) for name in names} - {""}
        tracked = run("ls-files", "-z", "--", *parents) if parents else ""
        entered = {os.path.dirname(name) for name in (tracked or "").split("\0") if name}
        names = tuple(name for name in names if os.path.dirname(name) in entered | {""})
    if not names:
        return []
    listing = run("clean", "-n", "-f", *operands, "--", *names)
    if listing is None:
        tree.watched.give_up()
        return None
    removed = [line.removeprefix("Would remove ").strip('"').rstrip("/") for line in listing.splitlines()]
    return [name for name in removed if name and not name.startswith("Would ")]


def _list_tracked(tree: _WorkTree, operands: Iterable[str]) -> list[str] | None:
    """Return the guarded files that git tracks."""
    return tree.list_names("ls-files", "-z")


_OPERATIONS: dict[str, Callable[[_WorkTree, Sequence[str]], list[str] | None]] = {
    "trees": _compare_trees,
    "merge": _compare_merge,
    "commits": _find_in_commits,
    "stash": _find_in_stash,
    "status": _find_in_status,
    "clean": _find_in_clean,
    "tracked": _list_tracked,
}
