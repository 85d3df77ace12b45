"""The plan of a review by a council: its reviewers, its files, and their exact contents."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verdikt.errors import FindingError
from verdikt.model.canonical_json import sha256_hex

SCOPE_MODES = ("diff", "full", "explicit")
DEFAULT_BUDGET_TOKENS = 150_000
DEFAULT_BUDGET_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Reviewers, files and their contents. The hash covers all of them, so a change to any makes another plan."""

    toolbox: str
    agents: tuple[str, ...]
    files: tuple[str, ...]
    scope_mode: str = "diff"
    contents: Mapping[str, str] = field(default_factory=dict)  # file → mode and git id, empty for a deleted file
    guardrail: bool = False
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    budget_seconds: int = DEFAULT_BUDGET_SECONDS
    created_at: float = 0.0
    source: str = "fresh"
    named: str = ""  # the hash of a plan without contents that another program made
    repo: str = ""  # the git directory that all work trees of the repository share; not part of the hash

    @property
    def plan_hash(self) -> str:
        """Sixteen hex digits that identify the plan, the contents of its files included."""
        if self.named and not self.contents:
            return self.named
        return plan_hash(self.toolbox, self.agents, self.files, self.scope_mode, self.contents)

    @property
    def scope_hash(self) -> str:
        """The hash without contents: plans that share it are about the same files."""
        return plan_hash(self.toolbox, self.agents, self.files, self.scope_mode)

    def to_record(self) -> dict[str, Any]:
        """Return the plan as plain data, as it is stored on disk."""
        return {
            "toolbox": self.toolbox,
            "agents": list(self.agents),
            "files": list(self.files),
            "scope_mode": self.scope_mode,
            "contents": dict(self.contents),
            "guardrail": self.guardrail,
            "budget_tokens": self.budget_tokens,
            "budget_seconds": self.budget_seconds,
            "created_at": self.created_at,
            "plan_hash": self.plan_hash,
            "scope_hash": self.scope_hash,
            "source": self.source,
            **({"repo": self.repo} if self.repo else {}),
        }


def plan_hash(
    toolbox: str,
    agents: Sequence[str],
    files: Sequence[str],
    scope_mode: str,
    contents: Mapping[str, str] | None = None,
) -> str:
    """Return the hash of a plan; without contents it covers the names of the files alone."""
    fields: dict[str, Any] = {
        "agents": list(agents),
        "files": list(files),
        "scope_mode": scope_mode,
        "toolbox": toolbox,
    }
    if contents:
        # Not `encode_canonical`: a path may contain bytes that are not Unicode, which canonical JSON refuses.
        fields["contents"] = sha256_hex(json.dumps(dict(contents), sort_keys=True).encode())
    return sha256_hex(json.dumps(fields, sort_keys=True).encode())[:16]


def plan_from_record(record: Mapping[str, Any], *, named: str = "") -> Plan:
    """Read a plan back. Its hash is computed again, whatever the record says.

    A plan without contents, as toolbox_verdict wrote them, has the hash `named`: versions of it computed other hashes.
    No commit is decided by such a plan, because a plan of what is staged has contents.
    """
    budget: Mapping[str, Any] = record["budget"] if isinstance(record.get("budget"), Mapping) else {}
    try:
        return Plan(
            toolbox=str(record["toolbox"]),
            agents=tuple(map(str, record["agents"])),
            files=tuple(map(str, record["files"])),
            scope_mode=str(record.get("scope_mode", "diff")),
            contents={str(file): str(sha) for file, sha in dict(record.get("contents") or {}).items()},
            guardrail=bool(record.get("guardrail", False)),
            budget_tokens=int(record.get("budget_tokens", budget.get("tokens", DEFAULT_BUDGET_TOKENS))),
            budget_seconds=int(record.get("budget_seconds", budget.get("seconds", DEFAULT_BUDGET_SECONDS))),
            created_at=float(record.get("created_at", 0.0)),
            source=str(record.get("source", "fresh")),
            named=named if not record.get("contents") else "",
            repo=str(record.get("repo", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FindingError(f"expected the fields of a plan, found others: {error}") from error
