"""The routes as a table: path, method, who may call it, what it does. Routing, OpenAPI and tests are made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    from verdikt.serve.people import Person
    from verdikt.serve.service import Service

READERS = frozenset({"viewer", "developer", "approver", "author", "publisher", "auditor", "admin"})
VOTERS = frozenset({"developer", "approver"})
"""Those who may answer questions, each as far as the policy's rule lets them. An admin alone may not."""
AUDITORS = frozenset({"auditor", "admin"})
ADMINS = frozenset({"admin"})
ANYBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request after authentication: who asks, what the path and the query say, and the body."""

    service: Service
    person: Person | None
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    cookie: str
    origin: str = ""
    """The origin of the page that calls; checked for every write."""

    @property
    def organisation(self) -> int:
        """The organisation of the person, to which every read and write is bound."""
        assert self.person is not None
        return self.person.organisation


Handler = Callable[[ApiCall], Response | Any]
"""Returns a response, or plain data for one in JSON. Runs in a thread."""


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One row of the table. `roles` empty means that signing in is not needed."""

    method: str
    path: str
    handler: Handler
    roles: frozenset[str]
    summary: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Query parameter → what it means."""

    @property
    def is_write(self) -> bool:
        """Return whether the call changes something: a GET never does."""
        return self.method != "GET"
