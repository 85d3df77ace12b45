"""Which files an agent may read and change."""

from collections.abc import Sequence
from typing import Annotated

from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.guards.touch import Touch, below, matches, root_of, touched
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.verdict import Verdict

SECRETS = (
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
"""Files that hold keys and passwords: neither read nor changed."""

SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/System", "/Library")
"""Directories of the machine itself: read, but not changed."""

_SINKS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/", "/dev/shm/", "/dev/pts/")
"""What lies below `/dev` and is no part of the machine: streams, terminals, memory."""


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
        red_line_files: Annotated[Sequence[str], "files that nobody's approval lets an agent change"] = (),
        defaults: Annotated[bool, "also protect the usual places of secrets and the system's directories"] = True,
    ) -> None:
        self._allowed = tuple(allowed_dirs)
        self._readable = (*allowed_dirs, *read_dirs)
        self._blocked = (*blocked, *(SECRETS if defaults else ()))
        self._read_only = (*read_only, *(SYSTEM if defaults else ()))
        self._red_lines = tuple(red_line_files)

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """The first objection to any file that the action touches."""
        ctx = ctx or GovernanceContext(action)
        root = root_of(action, ctx)
        objections = [found for touch in touched(action, ctx) if (found := self._objection(touch, root, ctx))]
        red_line = next((found for found in objections if found.red_line), None)
        return red_line or (objections[0] if objections else Verdict.pass_(guard=self.name))

    def _objection(self, touch: Touch, root: str, ctx: GovernanceContext) -> Verdict | None:
        if not touch.path:
            return self._block(touch, "is too long to be a path", "name the file by its path")
        if touch.writes and touch.path.startswith(_SINKS):
            return None
        if touch.writes and any(matches(pattern, touch, root) for pattern in self._red_lines):
            return self._block(touch, "is a red line", "leave this file as it is and say what you would change", True)
        if touch.writes and ctx.facts is not None and any(matches(path, touch, root) for path in ctx.facts.guarded):
            return self._block(touch, "belongs to verdikt itself", "ask the person who keeps the policy to do it", True)
        if hit := next((pattern for pattern in self._blocked if matches(pattern, touch, root)), ""):
            fix = "do without this file; if its contents are needed, ask for them"
            return self._block(touch, f"is blocked by `{hit}`", fix)
        if touch.writes and (hit := next((p for p in self._read_only if matches(p, touch, root)), "")):
            return self._block(touch, f"may be read but not changed (`{hit}`)", "make the change inside the project")
        allowed = self._allowed if touch.writes else self._readable
        if self._allowed and not touch.lightly and not any(below(directory, touch, root) for directory in allowed):
            names = ", ".join(f"`{directory}`" for directory in allowed)
            return self._block(touch, "is outside the allowed directories", f"use a path inside {names}")
        return None

    def _block(self, touch: Touch, why: str, fix: str, red_line: bool = False) -> Verdict:
        shown = touch.text if len(touch.text) <= 200 else touch.text[:200] + "…"
        if touch.real not in (touch.path, touch.text) and len(touch.real) <= 200:
            shown = f"{shown}` → `{touch.real}"
        return Verdict.block(guard=self.name, reason=f"`{shown}` {why}", fix=fix, red_line=red_line)
