"""The ASGI application: routes with authentication, protection of browsers, and the pages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from verdikt.errors import CanonicalError, ServiceError, WireError
from verdikt.serve.api import ROUTES
from verdikt.serve.feed import FEED_ROUTE
from verdikt.serve.json_response import build_json_response
from verdikt.serve.machine_api import MACHINE_ROUTES, MachineApi
from verdikt.serve.people import Person
from verdikt.serve.request_body import MAX_BODY_BYTES, read_body
from verdikt.serve.routes import ApiCall, ApiRoute, Forbidden, NotFound
from verdikt.serve.service import Service
from verdikt.web.files import find_file, read_shell

_LOGGER = logging.getLogger("verdikt.serve")

WRITE_HEADER = "x-verdikt"
"""A header that no form and no other site's script can set; every write must carry it."""

MAX_RECORDED_PATH = 200

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""On every answer. Pages show text that agents wrote: no script but ours runs, and none can be made from text."""

_ENCODED_HEADERS = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]

PROBES = ("/healthz", "/readyz", "/metrics")
"""Load balancers and Prometheus ask each replica by its own address. These tell nothing that was sent or decided."""

PAGES = ("/", "/sessions", "/session/{chain}", "/approvals", "/integrity", "/settings", "/sign-in", "/oidc")
"""The addresses of pages; the shell is the same for all, and the script in it draws the page."""


def build_app(service: Service) -> ASGIApp:
    """Return the application of one replica."""
    machines = MachineApi(service)
    # First, because a route is found by trying one after the other, and machines call most.
    routes = [Route(route.path, machines.build_endpoint(route), methods=[route.method]) for route in MACHINE_ROUTES]
    routes += [Route(path, _serve_shell, methods=["GET"]) for path in PAGES]
    routes.append(Route("/static/{path:path}", _serve_file, methods=["GET"]))
    routes += [Route(route.path, _build_endpoint(service, route), methods=[route.method]) for route in ROUTES]
    routes.append(Route(FEED_ROUTE.path, _build_endpoint(service, FEED_ROUTE), methods=[FEED_ROUTE.method]))
    routes.append(Route("/{path:path}", _serve_unknown, methods=["GET"]))
    return _RequestFilter(Starlette(routes=routes), service)


class _RequestFilter:
    """Refuses requests for other names and too large bodies, adds the headers to every answer, and counts."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        has_started = False
        started_at = self._service.clock.now()

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            has_started = True
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                added = [item for item in _ENCODED_HEADERS if item[0] not in present]
                message["headers"] = [*message["headers"], *added]
                self._record_request(scope, message["status"], started_at)
            await send(message)

        # A page of another site that makes its name point to this address still sends its own name.
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if host not in self._service.hosts and scope["path"] not in PROBES:
            await _build_error(421, "this service does not answer to that name")(scope, receive, send_with_headers)
            return
        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            _LOGGER.exception("a request failed: %s %s", scope["method"], scope["path"])
            # An answer that has begun can only be cut off.
            if not has_started:
                await _build_error(500, "the service failed; its log has the reason")(scope, receive, send_with_headers)

    def _record_request(self, scope: Scope, status: int, started_at: float) -> None:
        """Count a request and write it to the log; its query is left out, because it has what people search for."""
        seconds = max(self._service.clock.now() - started_at, 0.0)
        metrics, method = self._service.metrics, scope["method"]
        # A path may hold anything, and each label would be a series of its own: the route is what counts.
        route = getattr(scope.get("route"), "path", "none")
        metrics.count("verdikt_requests_total", method=method, route=route, status=str(status))
        metrics.count("verdikt_request_seconds_total", seconds, method=method, route=route)
        fields = {"method": method, "path": scope["path"], "status": status, "milliseconds": round(seconds * 1000, 1)}
        _LOGGER.info("request", extra=fields)


def _build_error(status: int, message: str) -> Response:
    return build_json_response({"error": message}, status)


async def _serve_shell(_: Request) -> Response:
    return Response(read_shell(), media_type="text/html; charset=utf-8", headers={"Cache-Control": "no-store"})


async def _serve_unknown(request: Request) -> Response:
    """Answer an address that is none of ours: with a page where a person reads it, which says so and leads on."""
    if not request.headers.get("accept", "").startswith("text/html"):
        return _build_error(404, "no such address")
    response = await _serve_shell(request)
    response.status_code = 404
    return response


async def _serve_file(request: Request) -> Response:
    file = find_file(request.path_params["path"])
    if file is None:
        return _build_error(404, "no such file")
    data, media_type, etag = file
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=media_type, headers=headers)


def _build_endpoint(service: Service, route: ApiRoute) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        if route.is_write and (problem := _find_forgery(service, request)):
            await run_sync(_record_forgery, service, request)
            return _build_error(403, problem)
        body = await read_body(request) if route.is_write else b""
        if body is None:
            return _build_error(413, f"expected at most {MAX_BODY_BYTES} bytes")
        # Store and handlers block, so all of a request runs in one thread.
        response: Response = await run_sync(_handle_call, service, route, request, body)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return answer


def _handle_call(service: Service, route: ApiRoute, request: Request, body: bytes) -> Response:
    try:
        person = _find_person(service, request) if route.roles else None
        if route.roles and person is None:
            return _build_error(401, "sign in first")
        if person is not None and (problem := _find_refusal(route, person)):
            if person.scopes is not None and route.is_write:
                # A program that tries to vote or to change something is worth knowing of.
                _record_refusal(service, person, request)
            return _build_error(403, problem)
        origin, event = request.headers.get("origin", ""), request.headers.get("last-event-id", "")
        call = ApiCall(service, person, request.path_params, request.query_params, body, request.cookies, origin, event)
        result: Any = route.handler(call)
    except NotFound as error:
        return _build_error(404, str(error))
    except Forbidden as error:
        return _build_error(403, str(error))
    except (WireError, CanonicalError) as error:
        return _build_error(400, str(error))
    except ServiceError as error:
        # The message may name the database: it goes into the log, not to the browser.
        _LOGGER.error("the store failed: %s", error)  # noqa: TRY400 - the message says it all
        return _build_error(503, "the database does not answer; the service's log has the reason")
    return result if isinstance(result, Response) else build_json_response(result)


def _record_refusal(service: Service, person: Person, request: Request) -> None:
    service.people.record_event(
        person.organisation, person.actor, "refused", request.url.path[:MAX_RECORDED_PATH], service.clock.now()
    )


def _record_forgery(service: Service, request: Request) -> None:
    """Record a write with the right of a person that no page of ours sent; without one, no record is theirs."""
    # The request is refused, whatever becomes of the record.
    with suppress(ServiceError):
        person = _find_person(service, request)
        if person is not None:
            _record_refusal(service, person, request)


def _find_person(service: Service, request: Request) -> Person | None:
    """Return who asks: by the token of a program, where there is one, else by the cookie of a browser."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        return service.tokens.find_person(token, service.clock.now()) if scheme.lower() == "bearer" else None
    cookie = request.cookies.get(service.cookie_name, "")
    return service.people.find_person(cookie, service.clock.now()) if cookie else None


def _find_refusal(route: ApiRoute, person: Person) -> str:
    """Return why a person, or a program that acts for one, may not call a route; empty when it may."""
    if not person.roles & route.roles:
        return f"this needs one of the roles {', '.join(sorted(route.roles))}"
    if person.scopes is not None and (route.is_write or not route.scope):
        return "a token cannot do this: sign in"
    if person.scopes is not None and route.scope not in person.scopes:
        return f"this needs a token with the scope {route.scope}"
    return ""


def _find_forgery(service: Service, request: Request) -> str:
    """Return why a write cannot come from a page of this service; empty when it can."""
    if request.headers.get("origin") not in service.origins:
        return "expected a request of this service's own page"
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return "expected a request of this service's own page"
    return "" if request.headers.get(WRITE_HEADER) else f"expected the header `{WRITE_HEADER}`"
