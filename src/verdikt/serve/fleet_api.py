"""What people call about machines: which there are, letting one in, and revoking it."""

from __future__ import annotations

from typing import Any

from verdikt.errors import WireError
from verdikt.serve.routes import ADMINS, OWNERS, READERS, ApiCall, ApiRoute, NotFound

MAX_TEAM_CHARS = 100


def list_machines(call: ApiCall) -> Any:
    """Return the machines and when each was last heard of."""
    return {"machines": [machine._asdict() for machine in call.open_reader().list_machines()]}


def revoke_machine(call: ApiCall) -> Any:
    """Take a machine's right to send."""
    machine = call.read_id("machine")
    if machine not in {row.id for row in call.open_reader().list_machines()}:
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
    ApiRoute("GET", "/v1/machines", list_machines, READERS, "the machines"),
    ApiRoute("POST", "/v1/machines/{machine}/revocation", revoke_machine, ADMINS, "a machine may no longer send"),
    ApiRoute("POST", "/v1/enrolment-codes", create_code, ADMINS, "a code by which machines enrol"),
    ApiRoute("GET", "/v1/device-codes/{code}", read_device, OWNERS, "the machine that shows a code", scope=""),
    ApiRoute("POST", "/v1/device-codes/{code}/confirmation", confirm_device, OWNERS, "let that machine in as yours"),
)
