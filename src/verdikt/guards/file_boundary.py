"""A guard that decides which files an agent may read and change."""

from collections.abc import Sequence
from typing import Annotated

from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.guards.file_access import FileAccess, is_below, list_file_accesses, matches_pattern, resolve_root
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.verdict import Verdict

SECRET_FILES = (
    ".ssh",
    ".gnupg",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    "**/.aws/credentials",
    "**/.config/gcloud",
    "**/.docker/config.json",
    "**/.kube/config",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    ".env",
    ".env.local",
    ".env.production",
    "id_rsa",
    "id_ecdsa",
    "id_ed25519",
)
"""Files that hold keys and passwords: they may be neither read nor changed."""

SYSTEM_DIRECTORIES = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
    "/System",
    "/Library",
)
"""Directories of the operating system: they may be read, but not changed."""

_HARMLESS_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/", "/dev/shm/", "/dev/pts/")
"""Paths below `/dev` that are no hardware: streams, terminals, memory."""


class FileBoundaryGuard(BaseGuard):
    """Keeps an agent inside the directories it may use and away from secrets, system files and red lines."""

    name = "file_boundary"
    governance_layer = GovernanceLayer.BOUNDARY

    def __init__(
        self,
        *,
        allowed_dirs: Annotated[Sequence[str], "directories that may be used; none given: all"] = (),
        read_dirs: Annotated[Sequence[str], "further directories that may be read, when `allowed_dirs` is given"] = (),
        blocked: Annotated[Sequence[str], "files, directories and globs that may be neither read nor changed"] = (),
        read_only: Annotated[Sequence[str], "files, directories and globs that may be read and not changed"] = (),
        red_line_files: Annotated[Sequence[str], "files that an agent may not change, whatever is approved"] = (),
        defaults: Annotated[bool, "also protect the usual places of secrets and the system's directories"] = True,
    ) -> None:
        self._allowed = tuple(allowed_dirs)
        self._readable = (*allowed_dirs, *read_dirs)
        self._blocked = (*blocked, *(SECRET_FILES if defaults else ()))
        self._read_only = (*read_only, *(SYSTEM_DIRECTORIES if defaults else ()))
        self._red_lines = tuple(red_line_files)

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """Return the first objection to a file that the action accesses, red lines first, or a pass."""
        ctx = ctx or GovernanceContext(action)
        root = resolve_root(action, ctx)
        verdicts = (self._check_access(access, root, ctx) for access in list_file_accesses(action, ctx))
        objections = [verdict for verdict in verdicts if verdict is not None]
        # A red line must not hide behind an objection that a grant can overrule.
        red_line = next((verdict for verdict in objections if verdict.red_line), None)
        return red_line or (objections[0] if objections else Verdict.pass_(guard=self.name))

    def _check_access(self, access: FileAccess, root: str, ctx: GovernanceContext) -> Verdict | None:
        if not access.path:
            return self._block_access(access, "is too long to be a path", "name the file by its path")
        # Redirecting to `/dev/null` is common and changes nothing.
        if access.writes and access.path.startswith(_HARMLESS_DEVICES):
            return None
        if access.writes and (red_line := self._check_red_lines(access, root, ctx)):
            return red_line
        if hit := next((pattern for pattern in self._blocked if matches_pattern(pattern, access, root)), ""):
            fix = "do without this file; if its contents are needed, ask for them"
            return self._block_access(access, f"is blocked by `{hit}`", fix)
        if access.writes and (hit := next((p for p in self._read_only if matches_pattern(p, access, root)), "")):
            return self._block_access(
                access, f"may be read but not changed (`{hit}`)", "make the change inside the project"
            )
        allowed = self._allowed if access.writes else self._readable
        if (
            self._allowed
            and not access.metadata_only
            and not any(is_below(directory, access, root) for directory in allowed)
        ):
            names = ", ".join(f"`{directory}`" for directory in allowed)
            return self._block_access(access, "is outside the allowed directories", f"use a path inside {names}")
        return None

    def _check_red_lines(self, access: FileAccess, root: str, ctx: GovernanceContext) -> Verdict | None:
        """Return the block of a write that no grant can overrule."""
        if any(matches_pattern(pattern, access, root) for pattern in self._red_lines):
            return self._block_access(
                access, "is a red line", "leave this file as it is and say what you would change", True
            )
        if ctx.facts is not None and any(matches_pattern(path, access, root) for path in ctx.facts.guarded_paths):
            return self._block_access(
                access, "belongs to verdikt itself", "ask the person who keeps the policy to do it", True
            )
        return None

    def _block_access(self, access: FileAccess, why: str, fix: str, red_line: bool = False) -> Verdict:
        shown = access.text if len(access.text) <= 200 else access.text[:200] + "…"
        if access.real not in (access.path, access.text) and len(access.real) <= 200:
            shown = f"{shown}` → `{access.real}"
        return Verdict.block(guard=self.name, reason=f"`{shown}` {why}", fix=fix, red_line=red_line)
