"""What handlers of routes share: the body, numbers and ids of a request, and the record of what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdikt.errors import ServiceError, WireError
from verdikt.model.canonical_json import parse_json

if TYPE_CHECKING:
    from verdikt.serve.routes import ApiCall


class NotFound(ServiceError):
    """Something that does not exist, or not for this person's organisation."""


def record_event(call: ApiCall, organisation: int, actor: str, verb: str, subject: str) -> None:
    """Add a row to the service's own record."""
    call.service.people.record_event(organisation, actor, verb, subject, call.service.clock.now())


def read_body(call: ApiCall) -> dict[str, Any]:
    """Return the JSON object of a request."""
    body = parse_json(call.body)
    if not isinstance(body, dict):
        raise WireError("expected a JSON object")
    return body


def read_number(call: ApiCall, name: str, default: int, maximum: int) -> int:
    """Return a number of the query, at most `maximum`."""
    text = call.query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise WireError(f"expected a number as `{name}`, found `{text[:40]}`")
    return min(int(text), maximum)


def parse_id(text: str) -> int:
    """Return the number in a path; raise `NotFound` when it is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise NotFound("no such thing")
    return int(text)
