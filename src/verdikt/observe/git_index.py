"""What a repository is about to make history: git's index, told by path, mode and content."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from verdikt.errors import FindingError
from verdikt.observe.git_repository import SAFE_OPTIONS, find_work_tree

TIMEOUT_SECONDS = 60.0
"""How long git may take with a large repository."""

SUBMODULE_MODE = "160000"
"""The mode of another repository inside this one."""


class GitIndex:
    """The index of one work tree. Contents are `mode id` by path, empty for a file that goes; a failing git is an error."""

    def __init__(self, directory: str, env: Mapping[str, str], *, file: str = "") -> None:
        self.root = find_work_tree(os.path.realpath(directory))
        if not self.root:
            raise FindingError(f"expected a git repository, found none around `{directory}`")
        self._env = {key: env[key] for key in ("PATH", "HOME", "XDG_CONFIG_HOME") if key in env}
        self._env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self.is_work_tree_index = not file
        """Whether it is the index of the work tree, and not one made from a commit."""
        # `git commit -a` and `git commit FILE` give their hooks an index of their own.
        if given := file or env.get("GIT_INDEX_FILE", ""):
            self._env["GIT_INDEX_FILE"] = os.path.join(self.root, given)

    def list_changes(self, base: str = "") -> dict[str, str]:
        """What the index has otherwise than a commit (default: HEAD, or nothing before the first one)."""
        against = base or ("HEAD" if self.resolve_commit("HEAD") else self.hash_empty_tree())
        listing = self._run_git("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", against, "--")
        fields = iter(listing.split(b"\0"))
        found: dict[str, str] = {}
        for head in fields:
            if not head:
                continue
            _, mode, _, id, state = head.decode().split(" ")
            found[os.fsdecode(next(fields, b""))] = "" if state == "D" else f"{mode} {id}"
        return found

    def list_files(self) -> dict[str, str]:
        """Every file of the index."""
        found: dict[str, str] = {}
        for record in filter(None, self._run_git("ls-files", "-s", "-z").split(b"\0")):
            head, _, path = record.partition(b"\t")
            mode, id, _ = head.decode().split(" ")
            found[os.fsdecode(path)] = f"{mode} {id}"
        return found

    def find_files(self, files: Sequence[str]) -> dict[str, str]:
        """The files of these names: from the index, or else from the work tree; empty for what is nowhere."""
        known = self.list_files()
        found: dict[str, str] = {}
        for file in sorted(set(files)):
            path = os.path.join(self.root, file)
            if file in known or not os.path.isfile(path):
                found[file] = known.get(file, "")
            else:
                id = self._run_git("hash-object", "--", path).decode().strip()
                found[file] = f"100644 {id}"
        return found

    def resolve_commit(self, name: str) -> str:
        """The id of a commit, or an empty string."""
        try:
            return self._run_git("rev-parse", "--verify", "-q", f"{name}^{{commit}}").decode().strip()
        except FindingError:
            return ""

    def find_merge_base(self, first: str, second: str) -> str:
        """Where two commits parted; the empty tree when they never met."""
        try:
            return self._run_git("merge-base", first, second).decode().strip()
        except FindingError:
            return self.hash_empty_tree()

    def is_work_tree_clean(self, files: Sequence[str]) -> bool:
        """Whether the work tree holds just what the index does, as far as these files go."""
        wanted = {os.fsencode(file) for file in files}
        differing = self._run_git("diff-files", "--name-only", "-z").split(b"\0")
        return wanted.isdisjoint(differing)

    @contextmanager
    def export_files(self) -> Iterator[str]:
        """The files of the index in a directory of their own."""
        with tempfile.TemporaryDirectory(prefix="verdikt-") as directory:
            self._run_git("checkout-index", "-a", "-q", f"--prefix={directory}/")
            yield os.path.realpath(directory)

    @contextmanager
    def open_commit_index(self, commit: str) -> Iterator["GitIndex"]:
        """The index as it would be with a commit checked out."""
        with tempfile.TemporaryDirectory(prefix="verdikt-") as directory:
            other = GitIndex(self.root, self._env, file=os.path.join(directory, "index"))
            other._run_git("read-tree", commit)
            yield other

    def read_path_setting(self, name: str) -> str:
        """A setting of git that names a path; an empty string when it is not set."""
        try:
            return os.fsdecode(self._run_git("config", "--type=path", "--get", name)).removesuffix("\n")
        except FindingError:
            return ""

    def find_hooks_directory(self) -> str:
        """Where git looks for hooks here."""
        found = os.fsdecode(self._run_command(("rev-parse", "--git-path", "hooks"), options=())).removesuffix("\n")
        return os.path.join(self.root, found)

    def hash_empty_tree(self) -> str:
        """The id of a tree without files."""
        return self._run_git("hash-object", "-t", "tree", "--stdin").decode().strip()

    def _run_git(self, *arguments: str) -> bytes:
        return self._run_command(arguments, options=SAFE_OPTIONS)

    def _run_command(self, arguments: Sequence[str], *, options: Sequence[str]) -> bytes:
        """What git prints."""
        try:
            done = subprocess.run(
                ["git", *options, "-C", self.root, *arguments],
                env=self._env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise FindingError(f"git {arguments[0]} failed: {error}") from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
            raise FindingError(f"git {arguments[0]} failed: {said}")
        return done.stdout
