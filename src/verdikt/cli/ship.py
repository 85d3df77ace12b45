"""`verdikt ship`: send this machine's log to a team service."""

import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdikt import __version__
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.store_access import home_option, json_option, resolve_home
from verdikt.errors import ServiceError
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.observe.clock import SystemClock
from verdikt.ship.approval_courier import ApprovalCourier, RemoteAnswers
from verdikt.ship.log_source import LogSource
from verdikt.ship.machine_identity import Enrolment, MachineIdentity
from verdikt.ship.service_client import Refused, ServiceClient, Unreachable

if TYPE_CHECKING:
    from verdikt.ship.shipper import Shipper

APPROVAL_WAIT_SECONDS = 8.0
"""How long a look for answers may take; less than the time after which the client gives up."""


@click.group()
def command() -> None:
    """Send this machine's log to a team service: enrol, run, status, forget.

    The log itself is the queue. A service that is slow or gone is caught up with later, and no hook waits for it.

    Example: verdikt ship enrol https://verdikt.example --code vde_…
    """


@command.command()
@click.argument("url")
@click.option("--code", required=True, help="A code of the service, from its Settings page or `verdikt serve`.")
@click.option("--name", default="", help="The machine's name there; default: its host name.")
@click.option(
    "--level",
    type=click.Choice(["full", "index"]),
    default="full",
    help="What leaves this machine: whole entries, or no bodies.",
)
@home_option
def enrol(*, url: str, code: str, name: str, level: str, home: Path | None) -> None:
    """Enrol this machine at a service. Its key is made here and stays here.

    Example: verdikt ship enrol https://verdikt.example --code vde_… --level index
    """
    refuse_agents("enrolling this machine")
    identity = _open_identity(home)
    body = {"code": code, "name": name or socket.gethostname(), "public_key": identity.public_key_hex()}
    client = ServiceClient(url, SystemClock())
    answer = client.call("POST", "/v1/enrol", json.dumps(body).encode(), is_signed=False)
    machine = answer.get("machine")
    if type(machine) is not int:
        raise ServiceError(f"`{url}` does not answer as a verdikt service")
    identity.save_enrolment(Enrolment(url.rstrip("/"), machine, level, str(answer.get("service_key", ""))))
    click.echo(f"enrolled as machine {machine}; `verdikt ship run` sends the log")


@command.command()
@click.option("--once", is_flag=True, help="Send what there is, and end.")
@home_option
def run(*, once: bool, home: Path | None) -> None:
    """Send the log, and go on sending what is added, at low priority. End it with Ctrl-C.

    Example: verdikt ship run --once
    """
    shipper = _open_shipper(home)
    clock = SystemClock()
    if not once:
        os.nice(19)
    with FileStore(resolve_home(home), clock, load_projections()) as store:
        _ship(shipper, _open_courier(shipper, store, home), clock, once=once)
    click.echo(f"{shipper.sent_count} entries sent")
    for session, text in sorted(shipper.problems.items()):
        click.echo(f"{session}: {text}", err=True)


def _ship(shipper: "Shipper", courier: ApprovalCourier, clock: SystemClock, *, once: bool) -> None:
    """Send the log and carry approvals, for ever or once."""
    while True:
        problem: Unreachable | Refused | None = None
        try:
            shipper.ship_new_lines()
            # While a question waits, the pause is a long poll for its answer.
            if courier.deliver(0 if once else APPROVAL_WAIT_SECONDS) and not once:
                continue
        except (Unreachable, Refused) as error:
            if once:
                raise
            click.echo(str(error), err=True)
            problem = error
        if once:
            return
        clock.sleep(shipper.choose_pause(problem))


@command.command()
@json_option
@home_option
def status(*, as_json: bool, home: Path | None) -> None:
    """Show where the log is sent, and tell the service that this machine is there.

    Example: verdikt ship status
    """
    identity = _open_identity(home)
    enrolment = identity.load_enrolment()
    client = ServiceClient(enrolment.url, SystemClock(), identity, enrolment.machine)
    client.call("POST", "/v1/status", json.dumps({"version": __version__}).encode())
    heads = client.call("GET", "/v1/heads").get("heads")
    count = sum(head["seq"] for head in heads.values()) if isinstance(heads, dict) else 0
    record = {"url": enrolment.url, "machine": enrolment.machine, "level": enrolment.level, "entries": count}
    if as_json:
        click.echo(json.dumps(record, indent=1))
    else:
        click.echo(f"{enrolment.url} has {count} entries of this machine (machine {enrolment.machine})")


@command.command()
@home_option
def forget(*, home: Path | None) -> None:
    """Send nothing any more. What was sent stays at the service.

    Example: verdikt ship forget
    """
    refuse_agents("ending what is sent")
    _open_identity(home).forget()


def _open_identity(home: Path | None) -> MachineIdentity:
    return MachineIdentity(resolve_home(home))


def _open_courier(shipper: "Shipper", store: FileStore, home: Path | None) -> ApprovalCourier:
    return ApprovalCourier(store, RemoteAnswers(shipper.client, _open_identity(home).load_enrolment().service_key))


def _open_shipper(home: Path | None) -> "Shipper":
    try:
        from verdikt.ship.shipper import Shipper  # needs the extra `team`
    except ImportError as error:
        raise ServiceError(
            f"sending is not installed (no {error.name}): `pip install 'verdikt-runtime[team]'`"
        ) from error
    identity = _open_identity(home)
    enrolment = identity.load_enrolment()
    client = ServiceClient(enrolment.url, SystemClock(), identity, enrolment.machine)
    return Shipper(LogSource(resolve_home(home)), client, enrolment.level)
