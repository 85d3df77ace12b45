"""Servers that govern themselves, on the real SDKs: what is refused leaves no side effect."""

import os
import sysconfig
from pathlib import Path

import pytest

from tests.mcp_servers.test_real_servers import HERE, build_env, call, drive
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections

RULE = "rules:\n  - {name: keep, tool: mcp__notes__delete_note, verdict: block, reason: stays, fix: archive it}\n"


@pytest.mark.parametrize("kind", ["fastmcp", "mcp"])
@pytest.mark.parametrize("broken", [False, True])
def test_a_server_that_governs_itself_refuses_and_records(
    servers: Path, project: Path, kind: str, broken: bool
) -> None:
    """Pass, block, ask and a failing tool; with a policy that cannot be read, nothing runs at all."""
    (project / "governance.yaml").write_text("profile: [" if broken else RULE)
    # The server runs in the environment of the SDKs, which finds verdikt and what it needs here.
    source = HERE.parent.parent / "src"
    paths = os.pathsep.join([str(source), sysconfig.get_paths()["purelib"]])
    command = ["env", f"PYTHONPATH={paths}", str(servers / "env/bin/python"), str(HERE / "governed_server.py"), kind]
    calls = [
        call("get_note", {"key": "a"}),
        call("delete_note", {"path": str(project / "d")}),
        call("frobnicate", {"path": str(project / "f")}),
        call("get_failure"),
    ]
    results = drive(servers, project, "auto", ["--", *command], calls)["calls"]
    texts = [result["content"][0]["text"] for result in results]

    assert [(project / name).exists() for name in ("d", "f")] == [False, False]
    assert [result.get("isError", False) for result in results] == [broken, True, True, True]
    if broken:
        assert all("no decision could be made" in text for text in texts)
        return
    assert texts[0] == "note a"
    assert "stays" in texts[1]
    assert "No person can be asked" in texts[2]
    assert "get_failure" in texts[3] or "it failed" in texts[3]
    with open_store(Path(build_env(project)["VERDIKT_HOME"]), projections=load_projections()) as store:
        entries = [entry for session in store.list_sessions() for entry in store.read_entries(session)]
    assert [entry.body["success"] for entry in entries if entry.kind == "tool_call"] == [True, False]
