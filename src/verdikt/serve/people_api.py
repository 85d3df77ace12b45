"""What people call about themselves and each other: sign in and out, tokens, who may come in."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from verdikt import __version__
from verdikt.errors import WireError
from verdikt.serve.entry_search import parse_cursor
from verdikt.serve.exports import list_formats
from verdikt.serve.json_response import build_json_response
from verdikt.serve.oidc_errors import SignInRefused
from verdikt.serve.people import COOKIE_SECONDS, SEE_ALL
from verdikt.serve.routes import ADMINS, ANYBODY, PAGE, READERS, ApiCall, ApiRoute, Forbidden, NotFound
from verdikt.serve.tokens import MAX_TOKEN_DAYS, SCOPES

if TYPE_CHECKING:
    from starlette.responses import Response

    from verdikt.serve.people import Person

MAX_TEXT_CHARS = 100
MAX_PAGE = 500
FLOW_SECONDS = 600


def sign_in(call: ApiCall) -> Response:
    """Exchange the secret of a link for a cookie."""
    secret = call.read_body().get("code")
    signed_in = call.service.people.exchange_link(secret, call.now) if isinstance(secret, str) else None
    if signed_in is None:
        return build_json_response(
            {"error": "this link was used already or is too old; make another with `verdikt serve`"}, 403
        )
    return _welcome(call, *signed_in, "sign_in")


def list_methods(call: ApiCall) -> Any:
    """Return how people can sign in here."""
    return {"oidc": call.service.oidc is not None, "is_local": call.service.is_local}


def begin_oidc(call: ApiCall) -> Response:
    """Return where the browser signs in, and bind the answer to this browser by a cookie."""
    if call.service.oidc is None:
        raise NotFound("this service has no identity provider")
    try:
        departure = call.service.oidc.begin(call.now)
    except SignInRefused as error:
        return build_json_response({"error": str(error)}, 502)
    response = build_json_response({"url": departure.url})
    _set_cookie(call, response, call.service.flow_cookie_name, departure.state, FLOW_SECONDS)
    return response


def finish_oidc(call: ApiCall) -> Response:
    """Exchange the provider's answer for a cookie."""
    body = call.read_body()
    code, state = body.get("code"), body.get("state")
    if call.service.oidc is None:
        raise NotFound("this service has no identity provider")
    if not isinstance(code, str) or not isinstance(state, str):
        raise WireError("expected code and state")
    # An answer that another browser asked for would sign this one in as a person of its choice.
    if not hmac.compare_digest(state.encode(), call.cookies.get(call.service.flow_cookie_name, "").encode()):
        raise Forbidden("this browser did not begin this sign-in: begin again")
    try:
        profile = call.service.oidc.finish(code, state, call.now)
    except SignInRefused as error:
        return build_json_response({"error": str(error)}, 403)
    organisation = call.service.store.ensure_organisation(
        call.service.oidc.settings.organisation, call.service.now_microseconds()
    )
    signed_in = call.service.people.sign_in(organisation, profile, call.now)
    if signed_in is None:
        return build_json_response({"error": "an administrator has disabled this account"}, 403)
    return _welcome(call, *signed_in, "sign_in")


def _welcome(call: ApiCall, person: Person, cookie: str, verb: str) -> Response:
    call.record(verb, person.name, person)
    response = build_json_response({"name": person.name})
    _set_cookie(call, response, call.service.cookie_name, cookie, COOKIE_SECONDS)
    return response


def _set_cookie(call: ApiCall, response: Response, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=call.service.is_secure, httponly=True, samesite="strict"
    )


def sign_out(call: ApiCall) -> Response:
    """End the login."""
    call.service.people.end_login(call.cookie)
    call.record("sign_out", call.signed_in.name)
    response = build_json_response({})
    response.delete_cookie(call.service.cookie_name, path="/", secure=call.service.is_secure, httponly=True)
    return response


def read_me(call: ApiCall) -> Any:
    """Return who is signed in, and which version answers."""
    person = call.signed_in
    return {
        "id": person.id,
        "name": person.name,
        "roles": sorted(person.roles),
        "groups": sorted(person.groups),
        "sees_all": bool(person.roles & SEE_ALL),
        "exports": list_formats(person),
        "is_local": call.service.is_local,
        "version": __version__,
    }


def list_people(call: ApiCall) -> Any:
    """Return a page of the people of the organisation, by name."""
    limit, after = call.read_limit(100, MAX_PAGE), _read_cursor(call)
    text = call.query.get("q", "")[:MAX_TEXT_CHARS]
    people = call.service.people.list_people(call.organisation, text=text, after=after, limit=limit)
    return {"people": people, "cursor": str(people[-1]["id"]) if len(people) == limit else ""}


def _read_cursor(call: ApiCall) -> int:
    cursor = call.query.get("cursor", "")
    return parse_cursor(cursor, parts=1)[0] if cursor else 0


def set_access(call: ApiCall) -> Any:
    """Let a person in, or keep them out with everything that acts for them."""
    person, allowed = call.read_id("person"), call.read_body().get("allowed")
    if not isinstance(allowed, bool):
        raise WireError("expected `allowed`, true or false")
    if person == call.signed_in.id:
        raise Forbidden("let another administrator do this")
    if not call.service.people.set_disabled(call.organisation, person, disabled=not allowed):
        raise NotFound("no such person")
    call.record("allow_person" if allowed else "disable_person", str(person))
    return {}


def end_logins(call: ApiCall) -> Any:
    """Sign a person out everywhere."""
    person = call.read_id("person")
    if not call.service.people.end_all_logins(call.organisation, person):
        raise NotFound("no such person")
    call.record("end_logins", str(person))
    return {}


def list_tokens(call: ApiCall) -> Any:
    """Return a page of the tokens of this person, the newest first; an administrator sees everybody's."""
    limit, before = call.read_limit(100, MAX_PAGE), _read_cursor(call)
    tokens = call.service.tokens.list_tokens(call.organisation, _limit_to_self(call), before=before, limit=limit)
    return {"tokens": tokens, "scopes": SCOPES, "cursor": str(tokens[-1]["id"]) if len(tokens) == limit else ""}


def create_token(call: ApiCall) -> Any:
    """Return a new token; it is shown once."""
    body = call.read_body()
    name, days, scopes = body.get("name", ""), body.get("days", 90), body.get("scopes", ["read"])
    if not isinstance(name, str) or len(name) > MAX_TEXT_CHARS or not (name.isprintable()):
        raise WireError(f"expected a name of at most {MAX_TEXT_CHARS} characters")
    if type(days) is not int or not 0 < days <= MAX_TOKEN_DAYS:
        raise WireError(f"expected 1 to {MAX_TOKEN_DAYS} days")
    if not isinstance(scopes, list) or not scopes or not all(scope in SCOPES for scope in scopes):
        raise WireError(f"expected scopes among {', '.join(SCOPES)}")
    token = call.service.tokens.create_token(call.signed_in, name, frozenset(scopes), days, call.now)
    call.record("create_token", f"{name} ({' '.join(sorted(scopes))}, {days} days)")
    return {"token": token}


def revoke_token(call: ApiCall) -> Any:
    """End a token."""
    token = call.read_id("token")
    if not call.service.tokens.revoke_token(call.organisation, token, _limit_to_self(call), call.now):
        raise NotFound("no such token")
    call.record("revoke_token", str(token))
    return {}


def _limit_to_self(call: ApiCall) -> int | None:
    return None if call.signed_in.roles & ADMINS else call.signed_in.id


PEOPLE_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("POST", "/v1/sign-in", sign_in, ANYBODY, "exchange a one-time link for a cookie"),
    ApiRoute("GET", "/v1/sign-in", list_methods, ANYBODY, "how people can sign in here"),
    ApiRoute("POST", "/v1/sign-in/oidc", begin_oidc, ANYBODY, "where to sign in at the identity provider"),
    ApiRoute("POST", "/v1/sign-in/oidc/answer", finish_oidc, ANYBODY, "exchange the provider's answer for a cookie"),
    ApiRoute("POST", "/v1/sign-out", sign_out, READERS, "end the login"),
    ApiRoute("GET", "/v1/me", read_me, READERS, "who is signed in"),
    ApiRoute(
        "GET",
        "/v1/people",
        list_people,
        ADMINS,
        "the people, by name",
        {"q": "a part of the name or address"} | PAGE,
        scope="",
    ),
    ApiRoute("POST", "/v1/people/{person}/access", set_access, ADMINS, "let a person in, or keep them out"),
    ApiRoute("POST", "/v1/people/{person}/sign-out", end_logins, ADMINS, "sign a person out everywhere"),
    ApiRoute("GET", "/v1/tokens", list_tokens, READERS, "tokens of programs, without their secrets", PAGE, scope=""),
    ApiRoute("POST", "/v1/tokens", create_token, READERS, "a token for a program that acts for you"),
    ApiRoute("POST", "/v1/tokens/{token}/revocation", revoke_token, READERS, "end a token"),
)
