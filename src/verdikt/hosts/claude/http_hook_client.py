"""Sends stdin to the address of an http hook, as Claude Code does.

Run as `python -m verdikt.hosts.claude.http_hook_client '{"url": …}'`.
"""

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

from verdikt.model.lazy_regex import compile_lazily
from verdikt.observe.clock import SystemClock

_VARIABLE_REFERENCE = compile_lazily(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def main() -> int:
    """Print the answer. Return 2 when it denies, and 1 when the client would get no answer and run the tool."""
    handler: dict[str, Any] = json.loads(sys.argv[1])
    payload, clock = sys.stdin.buffer.read(), SystemClock()
    start = clock.now()
    try:
        document = _post_payload(handler, payload)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"{handler.get('url')} gave no answer, which the client takes for consent: {error}", file=sys.stderr)
        return 1
    # The client already runs when it asks, so the start of Python is not counted.
    print(json.dumps(document | {"milliseconds": (clock.now() - start) * 1000}))
    return 2 if '"deny"' in json.dumps(document) or document.get("decision") == "block" else 0


def _post_payload(handler: dict[str, Any], payload: bytes) -> dict[str, Any]:
    address = urlsplit(str(handler["url"]))
    templates = handler.get("headers")
    headers = {"Content-Type": "application/json"}
    for name, value in templates.items() if isinstance(templates, dict) else ():
        headers[str(name)] = _VARIABLE_REFERENCE.sub(lambda match: _expand_variable(handler, match[1]), str(value))
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    try:
        connection.request("POST", address.path, payload, headers)
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            raise ValueError(f"status {response.status}")
        document = json.loads(response.read())
    finally:
        connection.close()
    if not isinstance(document, dict):
        raise ValueError("expected an object")
    return document


def _expand_variable(handler: dict[str, Any], name: str) -> str:
    allowed = handler.get("allowedEnvVars")
    return os.environ.get(name, "") if isinstance(allowed, list) and name in allowed else ""


if __name__ == "__main__":
    sys.exit(main())
