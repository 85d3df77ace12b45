"""`verdikt serve --db` and `verdikt ship`, as people type them: real processes, on SQLite and on PostgreSQL."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.activity_log import open_activity_log
from tests.postgres import run_postgres
from tests.unit.serve.team_server import run_team
from tests.unit.ship.tls_front import run_tls_front, write_certificates
from tests.unit.web.browser import ensure_vendor_files
from verdikt.observe.clock import SystemClock
from verdikt.serve import schema
from verdikt.serve.store import TeamStore
from verdikt.ship.machine_identity import MachineIdentity, read_authorities
from verdikt.ship.service_client import Refused, ServiceClient
from verdikt.team.search_query import SearchQuery


def run_verdikt(*arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run a command and return what it printed; fail when it fails."""
    command = [sys.executable, "-m", "verdikt", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.strip()


def fail_verdikt(*arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run a command that fails, and return what it said."""
    command = [sys.executable, "-m", "verdikt", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert completed.returncode == 1, completed.stdout
    return completed.stderr


@contextmanager
def run_replica(database: str) -> Iterator[str]:
    """Yield the address of a replica in a process of its own."""
    command = [sys.executable, "-m", "verdikt", "serve", "--db", database, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        match = re.fullmatch(r"listening on (127\.0\.0\.1:[0-9]+)", process.stdout.readline().strip())
        assert match
        yield f"http://{match[1]}"
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'team.db'}"
    else:
        with run_postgres(in_memory=True) as server:
            yield server.create_database()


def test_a_team_begins_with_six_commands(database: str, tmp_path: Path) -> None:
    """Tables, a code, a replica, enrolment, sending, a sign-in link: the log of the machine is at the service."""
    ensure_vendor_files()
    home = tmp_path / "home"
    with open_activity_log(home) as log:
        log.call("s", "git status")
        log.call("s", "git push --force origin main")
    run_verdikt("serve", "migrate", "--db", database)
    code = run_verdikt("serve", "code", "--db", database)
    with run_replica(database) as url, run_replica(database) as second:
        enrolled = run_verdikt("ship", "enrol", url, "--code", code, "--name", "ana-laptop", "--home", str(home))
        sent = run_verdikt("ship", "run", "--once", "--home", str(home))
        status = run_verdikt("ship", "status", "--home", str(home))
        link = run_verdikt("serve", "link", "ana", "--role", "admin", "--public-url", second, "--db", database)
    with TeamStore(database) as store:
        machine = store.read_as(1).list_machines()[0]
        lines = [
            b"".join(store.read_as(1).read_lines(session["chain"]))
            for session in store.read_as(1).find_sessions(SearchQuery(patterns={"session": ("s",)})).sessions
        ]

    assert "enrolled as machine 1" in enrolled
    assert re.fullmatch(r"[0-9]+ entries sent", sent)
    assert f"has {machine.entries} entries of this machine" in status
    assert re.fullmatch(rf"{re.escape(second)}/sign-in#[\w-]{{40,}}", link)
    assert lines == [(home / "ledger" / "s.jsonl").read_bytes()]
    assert (machine.name, bool(machine.version)) == ("ana-laptop", True)


def test_ship_before_enrolling_says_what_to_do(tmp_path: Path) -> None:
    """A machine that is not enrolled sends nothing."""
    command = [sys.executable, "-m", "verdikt", "ship", "run", "--once", "--home", str(tmp_path)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)

    assert completed.returncode == 1
    assert "`verdikt ship enrol URL`" in completed.stderr


def test_a_machine_without_a_log_enrols(tmp_path: Path) -> None:
    """On a new account nothing is there, not even the data directory; it is made for its owner only."""
    ensure_vendor_files()
    home = tmp_path / "share" / "verdikt"
    with run_team(f"sqlite:///{tmp_path / 'team.db'}") as server:
        run_verdikt("ship", "enrol", server.url, "--code", server.create_code(), "--home", str(home))
        sent = run_verdikt("ship", "run", "--once", "--home", str(home))

    assert sent == "0 entries sent"
    assert home.stat().st_mode & 0o077 == 0


def test_a_revoked_machine_enrols_with_another_key(tmp_path: Path) -> None:
    """Who took the old key may have it still: it comes in no more, by a code for fleets or a person's word."""
    ensure_vendor_files()
    home = tmp_path / "home"
    with run_team(f"sqlite:///{tmp_path / 'team.db'}") as server:
        enrol = (
            "ship",
            "enrol",
            server.url,
            "--code",
            server.create_code(uses=2),
            "--name",
            "ana",
            "--home",
            str(home),
        )
        run_verdikt(*enrol)
        old_key = MachineIdentity(home).get_public_key_hex()
        server.team.store.revoke_machine(server.organisation, 1, 5)
        client = ServiceClient(server.url, SystemClock())
        newcomer = json.dumps({"name": "ana", "public_key": old_key}).encode()
        with pytest.raises(Refused, match="the key of this machine was revoked"):
            client.call("POST", "/v1/enrol/device", newcomer, is_signed=False)
        again = run_verdikt(*enrol)
        sent = run_verdikt("ship", "run", "--once", "--home", str(home))

    assert "revoked the key of this machine: it enrols with a new one" in again
    assert "enrolled as machine 2" in again
    assert sent == "0 entries sent"
    assert MachineIdentity(home).get_public_key_hex() != old_key


def test_a_machine_that_enrols_is_heard_of_at_once_where_the_warm_process_runs(tmp_path: Path) -> None:
    """It starts the sender without waiting for the next call of an agent; where it does not run, that is said."""
    ensure_vendor_files()
    home = tmp_path / "data"
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(home), "PATH": os.environ["PATH"]}
    with run_team(f"sqlite:///{tmp_path / 'team.db'}") as server:
        enrol = ("ship", "enrol", server.url, "--code", server.create_code(uses=2))
        assert "as soon as an agent runs here" in run_verdikt(*enrol, env=env)
        run_verdikt("ship", "forget", env=env)
        run_verdikt("daemon", "start", env=env)
        try:
            assert "the warm process sends the log from now on" in run_verdikt(*enrol, env=env)
            deadline = time.monotonic() + 60
            while server.team.store.read_as(server.organisation).list_machines()[0].seen is None:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            run_verdikt("daemon", "stop", env=env)


def test_a_service_with_a_certificate_of_its_own_authority_is_trusted_by_name(tmp_path: Path) -> None:
    """The authority is kept with the enrolment: the sender, which sees no shell's variables, needs no other file."""
    ensure_vendor_files()
    ca_file, chain_file = write_certificates(tmp_path)
    home = tmp_path / "home"
    with open_activity_log(home) as log:
        log.call("s", "git status")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    arguments = ["--home", str(home)]
    with (
        run_tls_front(chain_file) as front,
        run_team(f"sqlite:///{tmp_path / 'team.db'}", public_url=front.url) as server,
    ):
        front.target = server.team.address
        enrol = ["ship", "enrol", front.url, "--code", server.create_code(), *arguments]
        # Without its authority, and with another one, the service is not believed.
        refused = fail_verdikt(*enrol, env=env)
        assert "the certificate of localhost is not trusted here: unable to get local issuer certificate" in refused
        assert "--ca FILE" in refused
        (other := tmp_path / "other").mkdir()
        stranger, _ = write_certificates(other)
        assert "is not trusted here" in fail_verdikt(*enrol, "--ca", str(stranger), env=env)
        run_verdikt(*enrol, "--ca", str(ca_file), env=env)
        ca_file.unlink()
        sent = run_verdikt("ship", "run", "--once", *arguments, env=env)
        status = run_verdikt("ship", "status", *arguments, env=env)

    assert re.fullmatch(r"[1-9][0-9]* entries sent", sent)
    assert front.url in status


def test_an_authority_without_a_certificate_is_refused(tmp_path: Path) -> None:
    """The file is named; and of a file with a private key too, only certificates are kept."""
    (tmp_path / "empty.pem").write_text("no certificate")
    arguments = ["https://localhost:1", "--ca", str(tmp_path / "empty.pem"), "--home", str(tmp_path / "home")]
    _, chain_file = write_certificates(tmp_path)

    assert "expected certificates in PEM form in `" in fail_verdikt("ship", "enrol", *arguments)
    assert "PRIVATE KEY" in chain_file.read_text()
    assert "PRIVATE KEY" not in read_authorities(chain_file)


def test_a_machine_reports_the_hosts_whose_settings_name_the_hook(tmp_path: Path) -> None:
    """Wired for all projects of a user, and taken out again: the service hears of both, and of no host in between."""
    ensure_vendor_files()
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off"}
    (tmp_path / "home").mkdir()
    database = f"sqlite:///{tmp_path / 'team.db'}"
    reported = []

    def report(*arguments: str) -> None:
        if arguments:
            run_verdikt(*arguments, env=env)
        run_verdikt("ship", "status", env=env)
        with TeamStore(database) as store, store.database.begin_read() as connection:
            reported.append(json.loads(connection.execute(select(schema.machine.c.status)).scalar_one())["hosts"])

    with run_team(database) as server:
        run_verdikt("ship", "enrol", server.url, "--code", server.create_code(), env=env)
        report()
        report("init", "--host", "claude", "--host", "codex", "--scope", "user", "--yes")
        report("uninstall", "--host", "codex", "--all", "--yes")

    assert reported == [[], ["claude", "codex"], ["claude"]]


def test_serve_with_an_unknown_role_is_refused(tmp_path: Path) -> None:
    """The roles are named."""
    database = f"sqlite:///{tmp_path / 'team.db'}"
    run_verdikt("serve", "migrate", "--db", database)
    command = [sys.executable, "-m", "verdikt", "serve", "link", "ana", "--role", "king", "--db", database]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)

    assert completed.returncode == 2
    assert "expected roles among viewer, developer" in completed.stderr
