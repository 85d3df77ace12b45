"""Policy files that were read before, kept by their content, so that nobody need load a YAML parser to read them again.

Only data is kept, as JSON: whatever stands in these files, loading them runs nothing, and what a policy may say is checked
afterwards as it is for a file.
"""

import json
import os
from pathlib import Path
from typing import Any

from verdikt.ledger.content_cache import ContentCache


class DocumentCache:
    """Documents by the content of their files, for one version of verdikt."""

    def __init__(self, home: Path, version: str) -> None:
        self._cache = ContentCache(os.fspath(home), "documents", version)

    def get(self, data: bytes) -> Any:
        """What was kept for these bytes; None when nothing was, or when it cannot be trusted."""
        kept = self._cache.get(data)
        try:
            return None if kept is None else json.loads(kept)
        except (ValueError, RecursionError):
            return None

    def put(self, data: bytes, document: Any) -> None:
        """Keeps a document for these bytes, where verdikt keeps its data already; what cannot be written is not kept."""
        try:
            # The order of keys is kept: rules are asked in the order in which they are written.
            kept = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
        except ValueError:
            return
        self._cache.put(data, kept)
