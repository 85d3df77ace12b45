"""From nothing to two replicas, as docs/team.md says: real processes, a real PostgreSQL, a backup."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import yaml

from tests.postgres import PostgresServer, run_postgres
from tests.team_load import Replica
from tests.unit.web.browser import ensure_vendor_files
from verdikt.ledger.files import FileStore
from verdikt.serve.app import PROBES

EXAMPLES = Path(__file__).parents[3] / "examples" / "team"
VERDIKT = [sys.executable, "-m", "verdikt"]


def run_verdikt(*arguments: str, database: str = "", home: Path | None = None) -> str:
    """Run a command as an operator does, and return what it prints."""
    environment = {"PATH": os.environ["PATH"], "VERDIKT_DB": database, "VERDIKT_HOME": str(home or "/nonexistent")}
    completed = subprocess.run(
        [*VERDIKT, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@contextmanager
def run_replicas(database: str, count: int) -> Iterator[list[Replica]]:
    """Yield replicas on a database."""
    replicas = [Replica(database) for _ in range(count)]
    started: list[Replica] = []
    try:
        for replica in replicas:
            replica.start()
            started.append(replica)
        yield replicas
    finally:
        for replica in started:
            replica.kill()


def read_json(replica: Replica, path: str, token: str = "") -> dict[str, object]:
    """Return the answer of a replica."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{replica.port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        data: dict[str, object] = json.loads(response.read())
    return data


def sign_in(replica: Replica, database: str) -> str:
    """Sign an auditor in by a link of the command line; return a token for reading."""
    origin = f"http://127.0.0.1:{replica.port}"
    link = run_verdikt("serve", "link", "ana", "--role", "auditor", "--public-url", origin, database=database).strip()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def post(path: str, body: dict[str, object]) -> dict[str, object]:
        headers = {"Origin": origin, "X-Verdikt": "1", "Content-Type": "application/json"}
        request = urllib.request.Request(origin + path, json.dumps(body).encode(), headers)
        with opener.open(request, timeout=60) as response:
            answer: dict[str, object] = json.loads(response.read())
        return answer

    post("/v1/sign-in", {"code": link.partition("#")[2]})
    return str(post("/v1/tokens", {"name": "test", "scopes": ["read"]})["token"])


def test_from_nothing_to_two_replicas_and_back_from_a_backup(postgres: PostgresServer, tmp_path: Path) -> None:
    """Migrate, serve twice, work, enrol, send, look; dump, restore elsewhere, and the sender goes on there."""
    ensure_vendor_files()
    database, restored = postgres.create_database(), postgres.create_database()
    run_verdikt("serve", "migrate", database=database)
    home = tmp_path / "home"
    home.mkdir()
    with FileStore(home, durable=False) as store:
        for number in range(20):
            store.append("s", "tool_call", {"n": number, "tool": "Bash"})
    with run_replicas(database, 2) as replicas:
        code = run_verdikt("serve", "code", "--uses", "1", database=database).strip()
        urls = [f"http://127.0.0.1:{replica.port}" for replica in replicas]
        run_verdikt("ship", "enrol", urls[0], "--code", code, "--name", "laptop", home=home)
        assert "sent" in run_verdikt("ship", "run", "--once", home=home)
        token = sign_in(replicas[0], database)
        for replica in replicas:
            assert read_json(replica, "/readyz") == {"status": "ok"}
            sessions = read_json(replica, "/v1/sessions", token)["sessions"]
            assert isinstance(sessions, list)
            assert {row["session"]: row["seq"] for row in sessions}["s"] == 20
    copy = tmp_path / "backup.sql"
    with copy.open("wb") as file:
        subprocess.run([str(postgres.binaries / "pg_dump"), database], stdout=file, check=True, timeout=120)
    psql = [str(postgres.binaries / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", str(copy), restored]
    subprocess.run(psql, stdout=subprocess.DEVNULL, check=True, timeout=120)
    with FileStore(home, durable=False) as store:
        store.append("s", "tool_call", {"n": 20, "tool": "Bash"})
    with run_replicas(restored, 1) as replicas:
        config = home / "ship" / "config.json"
        moved = json.loads(config.read_text()) | {"url": f"http://127.0.0.1:{replicas[0].port}"}
        config.write_text(json.dumps(moved))
        run_verdikt("ship", "run", "--once", home=home)
        sessions = read_json(replicas[0], "/v1/sessions", token)["sessions"]
        assert isinstance(sessions, list)

    assert {row["session"]: row["seq"] for row in sessions}["s"] == 21


def read_role_statements() -> str:
    """Return what docs/team.md lets a superuser of PostgreSQL run once, without the question for a password."""
    page = (EXAMPLES.parents[1] / "docs" / "team.md").read_text()
    block = re.search(r"```sql\n(.*?)```", page, re.DOTALL)
    assert block is not None
    return block[1].replace("\\password verdikt\n", "")


def test_the_statements_of_the_docs_are_enough_and_a_copy_moves_to_another_cluster(tmp_path: Path) -> None:
    """The service's role is no superuser anywhere: it migrates, serves, indexes, is dumped and restored as itself."""
    ensure_vendor_files()
    home = tmp_path / "home"
    home.mkdir()

    def log_and_ship(replica: Replica, count: int) -> None:
        with FileStore(home, durable=False) as store:
            for number in range(count):
                store.append("s", "tool_call", {"n": number, "tool": "Bash"})
        config = home / "ship" / "config.json"
        if not config.exists():
            code = run_verdikt("serve", "code", database=replica.database).strip()
            run_verdikt("ship", "enrol", f"http://127.0.0.1:{replica.port}", "--code", code, home=home)
        moved = json.loads(config.read_text()) | {"url": f"http://127.0.0.1:{replica.port}"}
        config.write_text(json.dumps(moved))
        run_verdikt("ship", "run", "--once", home=home)

    with run_postgres(superuser="postgres") as first, run_postgres(superuser="postgres") as second:
        urls = [f"postgresql://verdikt@/verdikt?host={server.directory}" for server in (first, second)]
        for server in (first, second):
            server.run_sql(read_role_statements())
        run_verdikt("serve", "migrate", database=urls[0])
        with run_replicas(urls[0], 1) as (replica,):
            log_and_ship(replica, 20)
            run_verdikt("serve", "text-index", database=urls[0])
            dump = subprocess.run(
                [str(first.binaries / "pg_dump"), urls[0]], capture_output=True, check=True, timeout=120
            )
            log_and_ship(replica, 3)
        second.run_sql(dump.stdout.decode(), urls[1])
        with run_replicas(urls[1], 1) as (replica,):
            log_and_ship(replica, 1)
            sessions = read_json(replica, "/v1/sessions", sign_in(replica, urls[1]))["sessions"]

    assert isinstance(sessions, list)
    assert {row["session"]: (row["seq"], row["forked"]) for row in sessions}["s"] == (24, False)


def test_a_small_service_comes_back_from_a_copy_made_while_it_runs(tmp_path: Path) -> None:
    """SQLite: copied under load by its own means, put in place of the lost file; the sender closes the difference."""
    ensure_vendor_files()
    file = tmp_path / "team.db"
    database, home = f"sqlite:///{file}", tmp_path / "home"
    home.mkdir()
    run_verdikt("serve", "migrate", database=database)

    def log_and_ship(count: int) -> None:
        with FileStore(home, durable=False) as store:
            for number in range(count):
                store.append("s", "tool_call", {"n": number, "tool": "Bash"})
        run_verdikt("ship", "run", "--once", home=home)

    with run_replicas(database, 1) as (replica,):
        code = run_verdikt("serve", "code", database=database).strip()
        run_verdikt("ship", "enrol", f"http://127.0.0.1:{replica.port}", "--code", code, home=home)
        log_and_ship(20)
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            source.backup(copy)
        log_and_ship(5)
        replica.kill()
        for suffix in ("", "-wal", "-shm"):
            file.with_name(f"team.db{suffix}").unlink(missing_ok=True)
        (tmp_path / "copy.db").rename(file)
        replica.start()
        log_and_ship(1)
        sessions = read_json(replica, "/v1/sessions", sign_in(replica, database))["sessions"]

    assert isinstance(sessions, list)
    assert {row["session"]: (row["seq"], row["forked"]) for row in sessions}["s"] == (26, False)


def test_a_replica_writes_nothing_but_json_on_stderr(tmp_path: Path) -> None:
    """Whatever a library warns of when a provider is named, each line can be collected."""
    ensure_vendor_files()
    database = f"sqlite:///{tmp_path / 'team.db'}"
    run_verdikt("serve", "migrate", database=database)
    settings = tmp_path / "oidc.toml"
    settings.write_text('issuer = "http://127.0.0.1:1"\nclient_id = "verdikt"\n[roles]\nviewer = ["*"]\n')
    environment = {"PATH": os.environ["PATH"], "VERDIKT_DB": database, "VERDIKT_OIDC_SECRET": "x"}
    command = [*VERDIKT, "serve", "--listen", "127.0.0.1:0", "--oidc", str(settings)]
    replica = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert replica.stdout is not None
    address = replica.stdout.readline().removeprefix("listening on ").strip()
    with urllib.request.urlopen(f"http://{address}/readyz", timeout=60) as response:
        assert response.status == 200
    replica.send_signal(signal.SIGINT)
    _, lines = replica.communicate(timeout=60)

    assert replica.returncode == 0
    assert [json.loads(line) for line in lines.splitlines()][-1]["path"] == "/readyz"


@pytest.mark.parametrize("form", ["team", "embedded"])
def test_the_service_ends_when_told_though_a_page_is_open(tmp_path: Path, form: str) -> None:
    """A page's feed lasts for an hour, and neither Ctrl-C nor a new version waits for it."""
    ensure_vendor_files()
    database = f"sqlite:///{tmp_path / 'team.db'}"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "home")}
    FileStore(tmp_path / "home").close()
    command = [*VERDIKT, "serve", "--no-browser", "--port", "0"]
    if form == "team":
        run_verdikt("serve", "migrate", database=database)
        environment["VERDIKT_DB"] = database
        command = [*VERDIKT, "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    try:
        origin = said.partition("/sign-in")[0] if form == "embedded" else f"http://{said.split()[-1]}"
        link = said
        if form == "team":
            link = run_verdikt("serve", "link", "ana", "--public-url", origin, database=database).strip()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        headers = {"Origin": origin, "X-Verdikt": "1", "Content-Type": "application/json"}
        body = json.dumps({"code": link.partition("#")[2]}).encode()
        opener.open(urllib.request.Request(f"{origin}/v1/sign-in", body, headers), timeout=60).close()
        with opener.open(f"{origin}/v1/feed", timeout=60) as feed:
            assert feed.readline().startswith(b"id: ")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()

    assert process.returncode == 0


def test_a_worker_works_and_ends_when_told(postgres: PostgresServer) -> None:
    """It writes its log as JSON, and needs no port."""
    database = postgres.create_database()
    run_verdikt("serve", "migrate", database=database)
    environment = {"PATH": os.environ["PATH"], "VERDIKT_DB": database}
    worker = subprocess.Popen(
        [*VERDIKT, "serve", "--worker"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "working\n"
    worker.send_signal(signal.SIGTERM)
    _, problems = worker.communicate(timeout=60)

    assert (worker.returncode, problems) == (0, "")


@pytest.mark.parametrize("name", ["serve1", "serve2", "worker", "migrate"])
def test_the_commands_of_the_compose_file_are_ours(name: str) -> None:
    """Each option that it gives is one of the command's."""
    services = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())["services"]
    words = [word for word in services[name]["command"] if re.fullmatch(r"--?[a-z-]+|serve|migrate", word)]
    group = words[:2] if "migrate" in words else words[:1]
    text = run_verdikt(*group, "--help")

    assert services[name]["build"] == "."
    # A password in an address would have to be escaped.
    assert services[name]["environment"]["VERDIKT_DB"] == "postgresql://verdikt@db/verdikt"
    assert services[name]["environment"]["PGPASSWORD"] == services["db"]["environment"]["POSTGRES_PASSWORD"]
    assert all(word in text for word in words if word.startswith("-"))


def read_commands() -> dict[str, list[str]]:
    """Return what the compose file and the units run, with the address that the operator chooses."""
    services = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())["services"]
    commands = {
        f"compose {name}": [re.sub(r"\$\{VERDIKT_URL:\?[^}]*}", "https://verdikt.example", word) for word in words]
        for name, fields in services.items()
        if (words := fields.get("command"))
    }
    for unit in ("verdikt-serve.service", "verdikt-worker.service"):
        line = re.search(r"^ExecStart=/opt/verdikt/bin/verdikt (.*)$", (EXAMPLES / unit).read_text(), re.MULTILINE)
        assert line is not None
        commands[unit] = line[1].split()
    return commands


@pytest.mark.parametrize("name", read_commands())
def test_the_commands_of_compose_file_and_units_do_their_work(postgres: PostgresServer, name: str) -> None:
    """With nothing but the environment that the files give, without a home, and ended as docker and systemd end it."""
    ensure_vendor_files()
    command, database = read_commands()[name], postgres.create_database()
    if command == ["serve", "migrate"]:
        run_verdikt(*command, database=database)
        run_verdikt(*command, database=database)
        return
    run_verdikt("serve", "migrate", database=database)
    if "--listen" in command:
        # A port that is free here.
        place = command.index("--listen") + 1
        command[place] = "127.0.0.1:0"
    environment = {"PATH": os.defpath, "VERDIKT_DB": database, "HOME": "/nonexistent"}
    process = subprocess.Popen(
        [*VERDIKT, *command], env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    try:
        if "--worker" in command:
            assert said == "working"
        else:
            address = said.removeprefix("listening on ")
            with urllib.request.urlopen(f"http://{address}/readyz", timeout=60) as response:
                assert response.status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        _, problems = process.communicate(timeout=60)

    # Uvicorn ends by the signal itself, after what it had begun; both count as a clean end.
    assert process.returncode in (0, -signal.SIGTERM), problems
    assert not Path("/nonexistent").exists()


def test_the_proxy_knows_the_replicas_of_the_compose_file() -> None:
    """By their names and the port that each exposes; it asks what a replica answers under any name."""
    services = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())["services"]
    proxy = (EXAMPLES / "Caddyfile").read_text()
    replicas = re.search(r"reverse_proxy (.*) \{", proxy)
    path = re.search(r"health_uri (\S+)", proxy)

    assert replicas is not None
    assert path is not None
    assert replicas[1].split() == [f"{name}:{services[name]['expose'][0]}" for name in ("serve1", "serve2")]
    assert path[1] in PROBES
    assert "./Caddyfile:/etc/caddy/Caddyfile:ro" in services["proxy"]["volumes"]


@pytest.mark.parametrize("unit", ["verdikt-serve.service", "verdikt-worker.service"])
def test_the_units_are_understood(unit: str, tmp_path: Path) -> None:
    """By systemd itself, where it is; their commands by ours."""
    text = (EXAMPLES / unit).read_text()
    line = re.search(r"^ExecStart=/opt/verdikt/bin/verdikt (.*)$", text, re.MULTILINE)
    assert line is not None
    help_text = run_verdikt("serve", "--help")
    assert all(word in help_text for word in line[1].split() if word.startswith("--"))
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    program = tmp_path / "verdikt"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / unit
    copy.write_text(text.replace("/opt/verdikt/bin/verdikt", str(program)))
    completed = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)

    assert unit not in completed.stderr, completed.stderr
