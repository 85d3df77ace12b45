"""What people call about machines: which there are, letting one in, and revoking it."""

from __future__ import annotations

from typing import Any

from verdikt.errors import WireError
from verdikt.serve.entry_search import parse_cursor
from verdikt.serve.fleet_reads import TRAITS, FleetQuery, count_traits
from verdikt.serve.routes import ADMINS, OWNERS, PAGE, READERS, ApiCall, ApiRoute, Forbidden, NotFound

MAX_TEAM_CHARS = 100
MAX_PAGE = 500
SILENT_MICROSECONDS = 15 * 60 * 1_000_000
"""A machine that sends nothing and says nothing for this long may be well or not: that is not known."""


def list_machines(call: ApiCall) -> Any:
    """Return a page of the machines, when each was last heard of, and how many there are of each trait."""
    reader, limit = call.open_reader(), call.read_limit(100, MAX_PAGE)
    trait, cursor = call.query.get("trait", ""), call.query.get("cursor", "")
    if trait and trait not in TRAITS:
        raise WireError(f"expected one of {', '.join(TRAITS)} as trait, found `{trait[:40]}`")
    query = FleetQuery(
        text=call.query.get("q", "")[:MAX_TEAM_CHARS],
        trait=trait,
        after=parse_cursor(cursor, parts=1)[0] if cursor else 0,
        limit=limit,
        silent_before=call.service.now_microseconds() - SILENT_MICROSECONDS,
    )
    found, (fleet, _) = reader.list_machines(query), reader.read_fleet()
    page = found[:limit]
    return {
        "machines": [
            machine._asdict() | {"traits": [name for name, has in TRAITS.items() if has(machine, query)]}
            for machine in page
        ],
        "cursor": str(page[-1].id) if len(found) > limit else "",
        "counts": {"all": len(fleet), **count_traits(fleet, query)},
    }


def revoke_machine(call: ApiCall) -> Any:
    """Take a machine's right to send."""
    machine = call.read_id("machine")
    if not call.open_reader().find_machine(machine):
        raise NotFound("no such machine")
    call.service.store.revoke_machine(call.organisation, machine, call.service.now_microseconds())
    call.record("revoke_machine", str(machine))
    return {}


def create_code(call: ApiCall) -> Any:
    """Return a code by which machines can enrol; it is shown once."""
    body = call.read_body()
    uses, hours = body.get("uses", 1), body.get("hours", 24)
    if type(uses) is not int or type(hours) is not int or not (0 < uses <= 100_000 and 0 < hours <= 720):
        raise WireError("expected 1 to 100,000 uses and 1 to 720 hours")
    code = call.service.machines.create_code(call.organisation, uses, hours * 3600, call.now, _read_team(body))
    call.record("create_code", f"{uses} uses")
    return {"code": code}


def read_device(call: ApiCall) -> Any:
    """Return the machine that shows a code, so that a person can see whether it is theirs."""
    device = call.service.devices.find_waiting(call.path["code"], call.now)
    if device is None:
        raise NotFound("no machine shows this code, or it is too old")
    return device._asdict()


def confirm_device(call: ApiCall) -> Any:
    """Let the machine in that shows a code, as one of this person."""
    team = _read_team(call.read_body())
    if team and team not in call.signed_in.groups and not call.signed_in.roles & ADMINS:
        # Else anyone could put what they like before another team's eyes.
        raise Forbidden("you are not of that team")
    machine = call.service.devices.confirm(call.path["code"], call.signed_in, team, call.now)
    if machine is None:
        raise NotFound("no machine shows this code, or it is too old")
    call.record("confirm_machine", str(machine))
    return {"machine": machine}


def _read_team(body: dict[str, Any]) -> str:
    team = body.get("team", "")
    if not isinstance(team, str) or len(team) > MAX_TEAM_CHARS or (team and not team.isprintable()):
        raise WireError(f"expected a team of at most {MAX_TEAM_CHARS} characters")
    return team


FLEET_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "GET",
        "/v1/machines",
        list_machines,
        READERS,
        "the machines, by name",
        {
            "q": "a part of the name or the team",
            "trait": f"one of {', '.join(f'`{name}`' for name in TRAITS)}",
        }
        | PAGE,
    ),
    ApiRoute("POST", "/v1/machines/{machine}/revocation", revoke_machine, ADMINS, "a machine may no longer send"),
    ApiRoute("POST", "/v1/enrolment-codes", create_code, ADMINS, "a code by which machines enrol"),
    ApiRoute("GET", "/v1/device-codes/{code}", read_device, OWNERS, "the machine that shows a code", scope=""),
    ApiRoute("POST", "/v1/device-codes/{code}/confirmation", confirm_device, OWNERS, "let that machine in as yours"),
)
