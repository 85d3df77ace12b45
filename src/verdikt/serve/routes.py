"""The routes as a table: path, method, who may call it, what it does. Routing, OpenAPI and tests are made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from verdikt.errors import ServiceError, WireError
from verdikt.model.canonical_json import parse_json
from verdikt.serve.people import SEE_ALL, Person
from verdikt.team.search_query import SearchQuery, parse_query

if TYPE_CHECKING:
    from verdikt.serve.service import Service
    from verdikt.serve.store_reader import StoreReader

READERS = frozenset({"viewer", "developer", "approver", "author", "publisher", "auditor", "admin"})
VOTERS = frozenset({"developer", "approver"})
"""Those who may answer approvals, each as far as the policy's rule lets them. An admin alone may not."""
AUDITORS = frozenset({"auditor", "admin"})
ADMINS = frozenset({"admin"})
OWNERS = frozenset({"developer", "admin"})
ANYBODY: frozenset[str] = frozenset()

PAGE = {"cursor": "from the page before", "limit": "at most this many"}
"""The parameters of every route that answers with pages."""

QUERY_PARAMETER = {"q": "what to search for, such as `verdict:block since:7d`"}
"""The parameter of every route that searches."""


class NotFound(ServiceError):
    """Something that does not exist, or not for this person."""


class Forbidden(ServiceError):
    """Something that this person may not do; the message is for them."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request after authentication: who asks, what the path and the query say, and the body."""

    service: Service
    person: Person | None
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    cookies: Mapping[str, str]
    origin: str = ""
    """The origin of the page that calls; checked for every write."""
    last_event: str = ""
    """The event of a stream after which a browser that was cut off goes on."""

    @property
    def organisation(self) -> int:
        """The organisation of the person, to which every read and write is bound."""
        return self.signed_in.organisation

    @property
    def signed_in(self) -> Person:
        """The person who asks, of a route that needs one."""
        assert self.person is not None
        return self.person

    @property
    def cookie(self) -> str:
        """The cookie of the login."""
        return self.cookies.get(self.service.cookie_name, "")

    @property
    def now(self) -> float:
        """The time."""
        return self.service.clock.now()

    def record(self, verb: str, subject: str, actor: Person | None = None) -> None:
        """Add to the service's own record what this person did."""
        person = actor or self.signed_in
        self.service.people.record_event(person.organisation, person.actor, verb, subject, self.now)

    def find_machines(self) -> frozenset[int] | None:
        """Return the machines of which this person sees what they sent; None for all of the organisation."""
        person = self.signed_in
        if person.roles & SEE_ALL:
            return None
        teams = person.groups if person.roles & {"viewer", "approver"} else frozenset()
        return self.service.machines.find_machines(person.organisation, person.id, teams)

    def open_reader(self) -> StoreReader:
        """Return what this person reads with: it shows nothing but what they may see."""
        return self.service.store.read_as(self.organisation, self.find_machines())

    def read_body(self) -> dict[str, Any]:
        """Return the JSON object of the body."""
        body = parse_json(self.body)
        if not isinstance(body, dict):
            raise WireError("expected a JSON object")
        return body

    def read_query(self) -> SearchQuery:
        """Return what the query searches for."""
        return parse_query(self.query.get("q", ""), self.now)

    def read_number(self, name: str, default: int, maximum: int) -> int:
        """Return a number of the query."""
        text = self.query.get(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) <= 16):
            raise WireError(f"expected a number as `{name}`, found `{text[:40]}`")
        return min(int(text), maximum)

    def read_limit(self, default: int, maximum: int) -> int:
        """Return how many rows a page has at most: one at least, because the next page begins after the last one."""
        return max(self.read_number("limit", default, maximum), 1)

    def read_id(self, name: str) -> int:
        """Return a number of the path."""
        text = self.path[name]
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise NotFound("no such thing")
        return int(text)


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
    scope: str = "read"
    """The scope that a program's token needs; empty for what only a signed-in person may call, as every write."""

    @property
    def is_write(self) -> bool:
        """Return whether the call changes something: a GET never does."""
        return self.method != "GET"
