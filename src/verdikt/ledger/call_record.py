"""The body of the entry that a finished action leaves in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdikt.model.action import action_to_record
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.redaction import redact_text

if TYPE_CHECKING:
    from verdikt.model.action import Action, Outcome

ARTIFACT_LIMIT = 1024 * 1024
"""Bytes of an output that are stored; its digest always covers all of it."""


def build_call_record(action: Action, outcome: Outcome) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the body of a tool-call entry, and the outputs as its artifacts."""
    artifacts = {}
    digests = {}
    for name, text in (("output", outcome.output), ("error", outcome.error)):
        if text:
            # The digest is that of the redacted text: one of the original could confirm a guessed secret.
            data = redact_text(text)[0].encode("utf-8", "backslashreplace")
            artifacts[name] = data[:ARTIFACT_LIMIT]
            digests[name] = {"sha256": sha256_hex(data), "bytes": len(data)}
    body = {
        **action_to_record(action),
        "call_id": action.call_id,
        "success": outcome.success,
        "exit_code": outcome.exit_code,
        "seconds": outcome.duration_seconds,
        "streams": digests,
    }
    return body, artifacts
