"""`verdikt ship`: send this machine's log to a team service."""

import json
import os
import socket
import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt import __version__
from verdikt.cli.daemon_control import query_status
from verdikt.cli.extra_install import describe_extra_install
from verdikt.cli.installation_health import list_machine_faults, read_policy_digest
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.store_access import home_option, json_option, resolve_home
from verdikt.daemon.client import SOCKET_NAME
from verdikt.errors import DaemonError, ServiceError
from verdikt.hosts.registry import SETTINGS_VARIABLES
from verdikt.hosts.wiring.inspection import find_wired_files
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger.awaited_approval import announce_courier
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.ledger.unsent_archives import DEFAULT_MAX_UNSENT_BYTES
from verdikt.model.canonical_json import sha256_hex
from verdikt.observe.clock import SystemClock
from verdikt.ship.approval_courier import ApprovalCourier, RemoteAnswers
from verdikt.ship.log_source import LogSource
from verdikt.ship.machine_identity import LEVELS, Enrolment, MachineIdentity, read_authorities
from verdikt.ship.service_client import Refused, ServiceClient, Unreachable
from verdikt.team.machine_status import MachineStatus

if TYPE_CHECKING:
    from verdikt.ship.shipper import Shipper

DEVICE_POLL_SECONDS = 2.0
STATUS_SECONDS = 60.0
APPROVAL_WAIT_SECONDS = 8.0
"""How long a look for answers may take; less than the time after which the client gives up."""


@click.group()
def command() -> None:
    """Send this machine's log to a team service: enrol, run, status, forget.

    The log itself is the queue. A service that is slow or gone is caught up with later, and no hook waits for it.

    Example: verdikt ship enrol https://verdikt.example
    """


@command.command()
@click.argument("url")
@click.option("--code", default="", help="A code for fleets; without it a person confirms this machine.")
@click.option("--name", default="", help="The machine's name there; default: its host name.")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="full",
    help="What leaves this machine: whole entries, no bodies, or nothing but the chain.",
)
@click.option(
    "--max-unsent",
    type=click.IntRange(min=0),
    default=DEFAULT_MAX_UNSENT_BYTES,
    show_default=True,
    help="Bytes of archives that are kept beyond their time until the service has them.",
)
@click.option(
    "--ca",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Certificates of your own authority (PEM): trusted instead of the system's, kept with the enrolment.",
)
@home_option
def enrol(*, url: str, code: str, name: str, level: str, max_unsent: int, ca: Path | None, home: Path | None) -> None:
    """Enrol this machine at a service. Its key is made here and stays here.

    Without a code it shows one of its own, which a signed-in person enters in the service's Settings.

    Example: verdikt ship enrol https://verdikt.example --level index
    """
    refuse_agents("enrolling this machine")
    identity = _open_identity(home)
    authorities = read_authorities(ca) if ca else ""
    client = ServiceClient(url, SystemClock(), ca=authorities)
    try:
        answer = _ask_to_enrol(client, url.rstrip("/"), identity, code, name)
    except Refused as error:
        if error.answer.get("revoked") is not True:
            raise
        identity.replace_key()
        click.echo("the service has revoked the key of this machine: it enrols with a new one")
        answer = _ask_to_enrol(client, url.rstrip("/"), identity, code, name)
    machine = answer.get("machine")
    if type(machine) is not int:
        raise ServiceError(f"`{url}` does not answer as a verdikt service")
    service_key = str(answer.get("service_key", ""))
    identity.save_enrolment(Enrolment(url.rstrip("/"), machine, level, service_key, max_unsent, authorities))
    click.echo(f"enrolled as machine {machine}; {_wake_sender(resolve_home(home))}")


def _ask_to_enrol(client: ServiceClient, url: str, identity: MachineIdentity, code: str, name: str) -> dict[str, Any]:
    """Return what the service says of this machine, by a code for fleets or once a person has confirmed it."""
    newcomer = {"name": name or socket.gethostname(), "public_key": identity.get_public_key_hex()}
    if not code:
        return _wait_for_person(client, url, newcomer)
    return client.call("POST", "/v1/enrol", json.dumps({"code": code, **newcomer}).encode(), is_signed=False)


def _wake_sender(home: Path) -> str:
    """Let the warm process look for what it has to run beside itself; return who sends the log now."""
    with suppress(DaemonError):
        # It looks after each request, whatever is asked.
        if query_status(home / "run" / SOCKET_NAME) is not None:
            return "the warm process sends the log from now on"
    return "the log is sent as soon as an agent runs here, by `verdikt ship run` at once"


def _wait_for_person(client: ServiceClient, url: str, newcomer: dict[str, str]) -> dict[str, Any]:
    """Show a code, and return what the service says of this machine once a person has confirmed it."""
    begun = client.call("POST", "/v1/enrol/device", json.dumps(newcomer).encode(), is_signed=False)
    code, secret = begun.get("code"), begun.get("secret")
    if not isinstance(code, str) or not isinstance(secret, str) or not code.isprintable():
        raise ServiceError(f"`{url}` does not answer as a verdikt service")
    fingerprint = sha256_hex(bytes.fromhex(newcomer["public_key"]))[:16]
    click.echo(f"open {url}/settings and enter {code}; there you see this machine's key as {fingerprint}")
    clock = SystemClock()
    while True:
        clock.sleep(DEVICE_POLL_SECONDS)
        body = json.dumps({"secret": secret}).encode()
        # A code that was not entered in time is refused, which ends this.
        state = client.call("POST", "/v1/enrol/device/state", body, is_signed=False)
        if state.get("machine") is not None:
            return state


@command.command()
@click.option("--once", is_flag=True, help="Send what there is, and end.")
@click.option("--companion", is_flag=True, hidden=True, help="End when stdin does; at once when another one sends.")
@home_option
def run(*, once: bool, companion: bool, home: Path | None) -> None:
    """Send the log, and go on sending what is added, at low priority. End it with Ctrl-C.

    The warm process runs it by itself on a machine that is enrolled.

    Example: verdikt ship run --once
    """
    identity = _open_identity(home)
    shipper = _open_shipper(home)
    if not identity.acquire_lock() and not once:
        if companion:
            return
        raise ServiceError("another process sends this log already, `verdikt ship status` shows how far it is")
    if companion:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    clock = SystemClock()
    if not once:
        os.nice(19)
    directory = resolve_home(home)
    with (
        FileStore(directory, clock, load_projections()) as store,
        nullcontext() if once else announce_courier(directory),
    ):
        answers = RemoteAnswers(shipper.client, identity.load_enrolment().service_key)
        _ship(shipper, ApprovalCourier(store, answers), identity, directory, once=once)
    click.echo(f"{shipper.sent_count} entries sent")
    for session, text in sorted(shipper.problems.items()):
        click.echo(f"{session}: {text}", err=True)


def _report_status(client: ServiceClient, home: Path, shipper: "Shipper | None" = None) -> None:
    """Tell the service how this machine is: version, policy, what is at fault, what could not be sent, which hosts."""
    # Settings for all of a user's projects: there is no project here.
    user_home = os.path.expanduser("~")
    moved = {name: os.environ[name] for name in SETTINGS_VARIABLES if name in os.environ}
    env = {**moved, "HOME": user_home, "PATH": os.defpath, "VERDIKT_HOME": str(home)}
    installation = Installation(project=user_home, data_directory=str(home), env=env)
    status = MachineStatus(
        version=__version__,
        unsent=shipper.count_unsent() if shipper else 0,
        problems=len(shipper.problems) if shipper else 0,
        hosts=tuple(sorted({file.host for file in find_wired_files(installation)})),
        policy=read_policy_digest(installation),
        faults=tuple(list_machine_faults(installation)),
    )
    client.call("POST", "/v1/status", json.dumps(status.to_record()).encode())


def _ship(shipper: "Shipper", courier: ApprovalCourier, identity: MachineIdentity, home: Path, *, once: bool) -> None:
    """Send the log and carry approvals: once, or as long as this machine is enrolled."""
    clock = SystemClock()
    reported_at = -STATUS_SECONDS
    acknowledged: dict[str, int] = {}
    while True:
        problem: Unreachable | Refused | None = None
        is_waiting = False
        try:
            shipper.ship_new_lines()
            if acknowledged != shipper.acknowledged_seqs:
                acknowledged = shipper.acknowledged_seqs
                identity.save_acknowledged(acknowledged)
            if not 0 <= clock.now() - reported_at < STATUS_SECONDS:
                _report_status(shipper.client, home, shipper)
                reported_at = clock.now()
            # While an approval waits, the pause is a long poll for its answer.
            is_waiting = courier.deliver(0.0 if once else APPROVAL_WAIT_SECONDS)
        except (Unreachable, Refused) as error:
            if once:
                raise
            click.echo(str(error), err=True)
            problem = error
        if once or not identity.is_enrolled:
            return
        if problem:
            clock.sleep(shipper.choose_pause(problem))
        elif not is_waiting:
            shipper.wait_for_entries(clock)


def _end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    # What was not acknowledged is asked for and sent by the next one.
    os._exit(0)


@command.command()
@json_option
@home_option
def status(*, as_json: bool, home: Path | None) -> None:
    """Show where the log is sent, and tell the service that this machine is there.

    Example: verdikt ship status
    """
    identity = _open_identity(home)
    enrolment = identity.load_enrolment()
    client = _open_client(identity, enrolment)
    _report_status(client, resolve_home(home))
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
    click.echo("this machine sends nothing any more; `verdikt ship enrol URL` begins again")


def _open_identity(home: Path | None) -> MachineIdentity:
    return MachineIdentity(resolve_home(home))


def _open_client(identity: MachineIdentity, enrolment: Enrolment) -> ServiceClient:
    return ServiceClient(enrolment.url, SystemClock(), identity, enrolment.machine, ca=enrolment.ca)


def _open_shipper(home: Path | None) -> "Shipper":
    try:
        from verdikt.ship.shipper import Shipper  # needs the extra `team`
    except ImportError as error:
        raise ServiceError(f"sending is not installed (no {error.name}): `{describe_extra_install('team')}`") from error
    identity = _open_identity(home)
    enrolment = identity.load_enrolment()
    client = _open_client(identity, enrolment)
    return Shipper(LogSource(resolve_home(home)), client, enrolment.level)
