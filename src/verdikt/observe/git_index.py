"""The git index, or a commit as if it were checked out: what is about to become history."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from verdikt.errors import FindingError
from verdikt.observe.git_repository import SAFE_OPTIONS, find_work_tree
from verdikt.observe.program_path import find_system_program

TIMEOUT_SECONDS = 60.0
"""How long git may take with a large repository."""

SUBMODULE_MODE = "160000"
"""The mode of a submodule."""


class GitIndex:
    """The index of one work tree. Contents are `mode id` by path, empty for a deleted file.

    Raises `FindingError` when git fails.
    """

    def __init__(self, directory: str, env: Mapping[str, str], *, file: str = "") -> None:
        self.root = find_work_tree(os.path.realpath(directory))
        if not self.root:
            raise FindingError(f"expected a git repository, found none around `{directory}`")
        self._env = {key: env[key] for key in ("PATH", "HOME", "XDG_CONFIG_HOME") if key in env}
        # A reading git must not lock the index against the commit that is under way, nor ask for a password.
        self._env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self.is_work_tree_index = not file
        """Whether this is the work tree's own index, and not one made from a commit."""
        # `git commit -a` and `git commit FILE` give their hooks an index of their own.
        if index_file := file or env.get("GIT_INDEX_FILE", ""):
            self._env["GIT_INDEX_FILE"] = os.path.join(self.root, index_file)

    def list_changes(self, base: str = "") -> dict[str, str]:
        """Return the contents that differ from a commit (default: HEAD, or the empty tree before the first commit)."""
        against = base or ("HEAD" if self.resolve_commit("HEAD") else self.hash_empty_tree())
        listing = self._run_git("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", against, "--")
        fields = iter(listing.split(b"\0"))
        contents: dict[str, str] = {}
        for head in fields:
            if not head:
                continue
            _, mode, _, id, state = head.decode().split(" ")
            contents[os.fsdecode(next(fields, b""))] = "" if state == "D" else f"{mode} {id}"
        return contents

    def list_files(self) -> dict[str, str]:
        """Return the contents of every file in the index."""
        contents: dict[str, str] = {}
        for record in filter(None, self._run_git("ls-files", "-s", "-z").split(b"\0")):
            head, _, path = record.partition(b"\t")
            mode, id, _ = head.decode().split(" ")
            contents[os.fsdecode(path)] = f"{mode} {id}"
        return contents

    def find_files(self, files: Sequence[str]) -> dict[str, str]:
        """Return the contents of these files, from the index or else from the work tree; empty for a missing one."""
        indexed = self.list_files()
        contents: dict[str, str] = {}
        for file in sorted(set(files)):
            path = os.path.join(self.root, file)
            if file in indexed or not os.path.isfile(path):
                contents[file] = indexed.get(file, "")
            else:
                id = self._run_git("hash-object", "--", path).decode().strip()
                contents[file] = f"100644 {id}"
        return contents

    def read_content(self, content: str) -> bytes | None:
        """Return the bytes of a file's content (`mode id`); None when git no longer has them."""
        mode, _, id = content.partition(" ")
        if not id or mode == SUBMODULE_MODE:
            return None
        try:
            return self._run_git("cat-file", "blob", id)
        except FindingError:
            return None

    def find_common_directory(self) -> str:
        """Return the git directory that all work trees of this repository share: the repository's identity."""
        path = os.fsdecode(self._run_git("rev-parse", "--git-common-dir")).removesuffix("\n")
        return os.path.realpath(os.path.join(self.root, path))

    def resolve_commit(self, name: str) -> str:
        """Return the id of a commit, or an empty string."""
        try:
            return self._run_git("rev-parse", "--verify", "-q", f"{name}^{{commit}}").decode().strip()
        except FindingError:
            return ""

    def find_merge_base(self, first: str, second: str) -> str:
        """Return the merge base of two commits; the empty tree when they have none."""
        try:
            return self._run_git("merge-base", first, second).decode().strip()
        except FindingError:
            return self.hash_empty_tree()

    def is_work_tree_clean(self, files: Sequence[str]) -> bool:
        """Return whether these files are the same in the work tree and in the index."""
        wanted_names = {os.fsencode(file) for file in files}
        differing = self._run_git("diff-files", "--name-only", "-z").split(b"\0")
        return wanted_names.isdisjoint(differing)

    @contextmanager
    def export_files(self) -> Iterator[str]:
        """Yield a temporary directory that holds the files of the index."""
        with tempfile.TemporaryDirectory(prefix="verdikt-") as directory:
            self._run_git("checkout-index", "-a", "-q", f"--prefix={directory}/")
            yield os.path.realpath(directory)

    @contextmanager
    def open_commit_index(self, commit: str) -> Iterator["GitIndex"]:
        """Yield the index as it would be with a commit checked out."""
        with tempfile.TemporaryDirectory(prefix="verdikt-") as directory:
            other = GitIndex(self.root, self._env, file=os.path.join(directory, "index"))
            other._run_git("read-tree", commit)
            yield other

    def find_hooks_directory(self) -> str:
        """Return the directory in which git looks for this repository's hooks."""
        # Without SAFE_OPTIONS, which replace the very setting that is asked for.
        path = os.fsdecode(self._run_command(("rev-parse", "--git-path", "hooks"), options=())).removesuffix("\n")
        return os.path.join(self.root, path)

    def hash_empty_tree(self) -> str:
        """Return the id of a tree without files."""
        return self._run_git("hash-object", "-t", "tree", "--stdin").decode().strip()

    def _run_git(self, *arguments: str) -> bytes:
        return self._run_command(arguments, options=SAFE_OPTIONS)

    def _run_command(self, arguments: Sequence[str], *, options: Sequence[str]) -> bytes:
        """Return what git prints; raise `FindingError` when it fails."""
        try:
            completed = subprocess.run(
                [find_system_program("git"), *options, "-C", self.root, *arguments],
                env=self._env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise FindingError(f"git {arguments[0]} failed: {error}") from error
        if completed.returncode:
            message = completed.stderr.decode(errors="replace").strip() or f"status {completed.returncode}"
            raise FindingError(f"git {arguments[0]} failed: {message}")
        return completed.stdout
