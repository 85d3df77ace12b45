"""Questions to git about a path or a repository.

Never raises, never waits long, and runs nothing that the repository names except its filters, which git needs to tell
whether a file is modified.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from verdikt.model.canonical_json import hash_canonical, sha256_hex
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.world import GitFact
from verdikt.observe.program_path import drop_project_directories, find_system_program
from verdikt.observe.regular_file import read_regular_file

TIMEOUT_SECONDS = 3.0
"""How long git may take; a slower answer counts as none."""

MAX_ROOT_REF_BYTES = 1 << 20

SAFE_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat")
"""Overrides for settings with which a repository could have git run its own programs."""


_WORKING_SETTING = compile_lazily(
    r"^(?:clean\.requireforce|push\.default|remote\.pushdefault|remote\..*\.(?:push|mirror)|branch\..*\.pushremote)$"
)
"""Settings by which the same command does something else."""


# The daemon answers several users at once, one in each thread.
class _GitUser(threading.local):
    user: tuple[int, int] | None = None


GIT_USER = _GitUser()
"""The user for whom this thread answers, if it is not that of this process."""


@contextmanager
def use_git_user(uid: int, gid: int) -> Iterator[None]:
    """Run git as another user in this thread; where that is not permitted, every answer of git is unknown."""
    GIT_USER.user = (uid, gid)
    try:
        yield
    finally:
        GIT_USER.user = None


def get_user_id() -> int:
    """Return the user for whom this thread answers: the one set by `use_git_user`, or else that of this process."""
    return GIT_USER.user[0] if GIT_USER.user else os.getuid()


def find_work_tree(directory: str) -> str:
    """Return the work tree around a directory, or an empty string."""
    ancestor = directory
    while True:
        if os.path.lexists(os.path.join(ancestor, ".git")):
            return ancestor
        parent = os.path.dirname(ancestor)
        if parent == ancestor:
            return ""
        ancestor = parent


def read_path_state(path: str, env: Mapping[str, str]) -> tuple[str, bool]:
    """Return tracked, modified, untracked or ignored for a path, and whether nothing at or below it is modified.

    The state is empty outside a work tree. A directory has the state of its most exposed file.
    """
    root = find_work_tree(path if os.path.isdir(path) else os.path.dirname(path))
    if not root:
        return "", False
    # git has no state for its own directory, whose loss cannot be undone either.
    if f"{path}/".startswith(f"{root}/.git/"):
        return "untracked", False
    listing = run_git(root, env, "status", "--porcelain=v1", "-z", "--ignored=matching", "--no-renames", "--", path)
    if listing is None:
        return "", False
    relative = os.path.relpath(path, root)
    state_by_code = {"??": "untracked", "!!": "ignored"}
    states = set()
    for record in filter(None, listing.split("\0")):
        code, name = record[:2], record[3:].rstrip("/")
        state = state_by_code.get(code, "modified")
        # What is ignored below a directory does not make the directory ignored.
        if state != "ignored" or relative == name or relative.startswith(name + "/"):
            states.add(state)
    if not states and not _has_files(path):
        return "", False  # git knows nothing of an empty directory
    state = next((state for state in ("untracked", "modified", "ignored") if state in states), "tracked")
    return state, "modified" not in states


def read_committed_text(path: str, env: Mapping[str, str]) -> str | None:
    """Return a file as index and last commit have it; None when they differ, or git has no such file."""
    root = find_work_tree(os.path.dirname(path))
    name = os.path.relpath(path, root) if root else ""
    ids = (run_git(root, env, "rev-parse", f"HEAD:{name}", f":{name}") or "").split() if root else []
    return run_git(root, env, "cat-file", "blob", ids[0]) if len(ids) == 2 and ids[0] == ids[1] else None


def _has_files(path: str) -> bool:
    try:
        return not os.path.isdir(path) or any(os.scandir(path))
    except OSError:
        return True


def read_repository(directory: str, env: Mapping[str, str]) -> GitFact:
    """Return the facts about the repository around a directory."""
    root = find_work_tree(directory)
    if not root:
        return GitFact()
    listing = run_git(root, env, "config", "--list", "-z") or ""
    settings = _parse_settings(listing)
    branch = (run_git(root, env, "symbolic-ref", "--short", "-q", "HEAD") or "").strip()
    remote, merge = settings.get(f"branch.{branch}.remote", ""), settings.get(f"branch.{branch}.merge", "")
    return GitFact(
        root=root,
        branch=branch,
        upstream=f"{remote}/{merge.removeprefix('refs/heads/')}" if remote and merge else "",
        remotes=_select_settings(settings, "remote.", ".url"),
        aliases=_select_settings(settings, "alias.", ""),
        settings=select_working_settings(listing),
    )


def read_push_sources(roots: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of all that a push from each work tree reads there; empty where git does not say.

    That is every ref, because any of them can be pushed under another name, what HEAD is, and the settings, which say
    where a remote leads and what is sent. Equal digests mean the same commits to the same place.
    """
    return {root: _hash_push_sources(root, env) for root in sorted(roots)}


def _hash_push_sources(root: str, env: Mapping[str, str]) -> str:
    settings = run_git(root, env, "config", "--list", "-z")
    # In this storage the refs beside `refs/` are no files; every git that knows it can list them.
    has_tables = "reftable" in (settings or "")
    options = ["--include-root-refs"] if has_tables else []
    refs = run_git(root, env, "for-each-ref", "--format=%(objectname) %(refname)", *options)
    # A branch without commits has a name, a commit without a branch an id.
    head = run_git(root, env, "symbolic-ref", "-q", "HEAD") or run_git(root, env, "rev-parse", "--verify", "-q", "HEAD")
    directory = run_git(root, env, "rev-parse", "--absolute-git-dir")
    if settings is None or refs is None or not head or not directory:
        return ""
    return hash_canonical([settings, refs, head, _read_root_refs(directory.removesuffix("\n"))])


def _read_root_refs(directory: str) -> dict[str, str]:
    """Return the files like `FETCH_HEAD` and `ORIG_HEAD`, each of which names a commit that can be pushed."""
    try:
        names = [name for name in sorted(os.listdir(directory)) if name.isupper() and name.replace("_", "").isalpha()]
    except OSError:
        return {}
    contents = {name: read_regular_file(os.path.join(directory, name), MAX_ROOT_REF_BYTES) for name in names}
    return {name: sha256_hex(content) for name, content in contents.items() if content is not None}


def _select_settings(settings: Mapping[str, str], prefix: str, suffix: str) -> dict[str, str]:
    return {
        key[len(prefix) : len(key) - len(suffix)]: value
        for key, value in settings.items()
        if key.startswith(prefix) and key.endswith(suffix)
    }


def select_working_settings(listing: str) -> dict[str, str]:
    """Return the settings by which the same command does something else, from what `git config --list -z` prints."""
    selected: dict[str, str] = {}
    for record in listing.split("\0"):
        key, _, value = record.partition("\n")
        if _WORKING_SETTING.match(key):
            # Only a push takes several values of one key.
            is_added = key.endswith(".push") and key in selected
            selected[key] = f"{selected[key]}\n{value}" if is_added else value
    return selected


def _parse_settings(listing: str) -> dict[str, str]:
    pairs = (record.partition("\n") for record in listing.split("\0") if record)
    return {key: value for key, _, value in pairs}


def run_git(root: str, env: Mapping[str, str], *arguments: str) -> str | None:
    """Return what git prints, or None when it fails or takes too long."""
    import subprocess  # with selectors; most commands touch nothing that git has to be asked about

    git_env = {key: env[key] for key in ("HOME", "XDG_CONFIG_HOME") if key in env}
    # For the filters of the repository, whose programs must not come from the repository itself.
    git_env["PATH"] = os.pathsep.join(drop_project_directories(env.get("PATH", ""), root))
    # No lock that a parallel git would stumble over, no prompt, no download of missing objects, messages in English.
    git_env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    user, group = GIT_USER.user or (None, None)
    try:
        completed = subprocess.run(
            [find_system_program("git"), *SAFE_OPTIONS, "-C", root, *arguments],
            env=git_env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_SECONDS,
            check=False,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    # 1 means no: no such setting, not a branch.
    if completed.returncode not in (0, 1):
        return None
    return completed.stdout.decode("utf-8", "replace")
