"""The service's own log: one JSON object per line on stderr, for whatever collects it."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

_FIELDS = ("method", "path", "status", "milliseconds")


class JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON; what a request brought along stands in fields, escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def configure_logs() -> None:
    """Write the log of this process as JSON, what libraries warn of included."""
    logging.captureWarnings(capture=True)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("verdikt").setLevel(logging.INFO)
