"""A server that wants a login, through the relay: the real client and authorization server of the `mcp` SDK."""

import json
import subprocess
from pathlib import Path

from tests.mcp_servers.test_real_servers import HERE, build_env, find_free_port, relay, run_process


def log_in(servers: Path, project: Path, login: str, modes: tuple[str, ...]) -> list[list[str]]:
    """Return what clients that log in get for a call that passes and for one that does not."""
    port, relay_port = find_free_port(), find_free_port()
    python = str(servers / "env/bin/python")
    server = [python, str(HERE / "oauth_server.py"), str(port), login]
    relaying = [*relay("protected"), "--listen", f"127.0.0.1:{relay_port}", "--to", f"http://127.0.0.1:{port}/mcp"]
    client = [python, str(HERE / "oauth_client.py")]
    reports = []
    with run_process(server, project, port), run_process(relaying, project, relay_port):
        for mode in modes:
            command = [*client, mode, f"http://127.0.0.1:{relay_port}/mcp"]
            completed = subprocess.run(
                command, cwd=project, env=build_env(project), capture_output=True, text=True, timeout=120, check=True
            )
            reports.append(json.loads(completed.stdout))
    return reports


def test_a_client_logs_in_at_a_server_behind_the_relay(servers: Path, project: Path) -> None:
    """In both eras challenge, metadata and token pass; the calls are governed all the same."""
    for note, refusal in log_in(servers, project, "open", ("legacy", "auto")):
        assert note == "note a"
        assert "deletes something in a connected service" in refusal


def test_a_server_that_takes_tokens_for_its_own_address_alone_refuses_the_relays(servers: Path, project: Path) -> None:
    """The client asks for a token for the address that it calls, which is the relay's; nothing runs with it."""
    [[error]] = log_in(servers, project, "strict", ("legacy",))

    assert "note a" not in error
