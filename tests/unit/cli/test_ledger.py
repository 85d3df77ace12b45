"""`verdikt ledger`."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.activity_log import open_activity_log
from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.cli import root
from verdikt.ledger.files import FileStore
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.entry import SEAL_FIELDS, EntryKind, build_entry

Run = Callable[..., Result]


def decision(verdict: str, guard: str, *effects: str) -> dict[str, object]:
    """Return a decision's body."""
    action = {"tool": "Bash", "kind": "bash", "payload": {"command": "ls"}}
    return {"receipt": {"verdict": {"kind": verdict, "guard": guard}, "classes": list(effects), "action": action}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a data directory with two sessions."""
    store = close_after_test(FileStore(tmp_path / "home", FakeClock(), durable=False))
    store.append("s1", "decision", decision("pass", "all", "read"))
    store.append("s1", "decision", decision("block", "fs_delete", "destructive", "read"))
    store.append("s1", "tool_call", {"tool": "Bash"}, artifacts={"stdout": b"hello\n\xff"})
    store.append("s2", "posture", {"to": "locked"})
    store.close()
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the command line on that directory."""
    monkeypatch.setenv("VERDIKT_HOME", str(home))

    def call(*words: str) -> Result:
        return CliRunner().invoke(root, list(words), catch_exceptions=False)

    return call


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"moment": "stop", "integrity": ["`a` is gone", "`b` changed"]}, "not as it was set up: `a` is gone; `b` ch"),
        ({"moment": "after", "error": "KeyError"}, "something was not recorded: `after` failed with KeyError"),
        ({"reason": "torn", "bytes": 7}, "not recorded: the last line of the log was incomplete"),
        ({"moment": "after", "failures": {"style": "boom"}}, "a part failed at the moment `after`: style: boom"),
        (
            {"moment": "stop", "unreported": [{"tool": "Bash", "call_id": "1"}, {"tool": "Bash", "call_id": "2"}]},
            "calls passed and the host reported no outcome: Bash × 2",
        ),
        ({"moment": "config", "source": "local", "refused": True}, "host's settings (local) was refused"),
        ({}, "entry 2 says that something was not recorded"),
    ],
)
def test_verify_says_what_a_gap_is_about(run: Run, home: Path, body: dict[str, object], sentence: str) -> None:
    """Each kind of gap is a note with its own sentence, and the summary counts it."""
    store = close_after_test(FileStore(home, FakeClock(), durable=False))
    store.append("s2", "gap", body)
    store.close()

    result = run("ledger", "verify")

    assert result.exit_code == 0
    assert sentence in result.output
    assert "no reason given" not in result.output
    assert "log intact, 1 note above" in result.output


def test_verify_intact_log_ends_with_0(run: Run) -> None:
    """An intact log ends with 0 and one line for each session."""
    result = run("ledger", "verify")

    assert result.exit_code == 0
    assert "s1: intact, 3 entries, not signed yet" in result.output
    assert "s2: intact, 1 entry, signed up to 1" in result.output
    assert "7 entries in 3 sessions: log intact" in result.output


def test_verify_edited_log_names_kind_and_entry(run: Run, home: Path) -> None:
    """An edit ends with 1, its kind and its entry."""
    path = home / "ledger" / "s1.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"fs_delete"', b'"fs_create"'))

    result = run("ledger", "verify", "--all")

    assert result.exit_code == 1
    assert "s1: FAILING" in result.output
    assert "edit at s1 entry 2: entry 2: expected a body with digest" in result.output
    report = json.loads(run("ledger", "verify", "--session", "s1", "--json").output)
    assert (report["holds"], report["faults"][0]["kind"], report["faults"][0]["seq"]) == (False, "edit", 2)
    assert run("ledger", "verify", "--session", "s2").exit_code == 0


def test_verify_empty_directory_ends_with_3(run: Run, tmp_path: Path) -> None:
    """An empty directory proves nothing."""
    result = run("ledger", "verify", "--home", str(tmp_path / "empty"))

    assert result.exit_code == 3
    assert "nothing to verify" in result.output
    assert run("ledger", "verify", "--session", "unknown").exit_code == 3


def test_verify_with_session_and_all_is_refused(run: Run) -> None:
    """--session and --all exclude each other."""
    assert run("ledger", "verify", "--session", "s1", "--all").exit_code == 2


def test_verify_with_exported_checkpoint_finds_truncation(run: Run, home: Path, tmp_path: Path) -> None:
    """It finds a truncation even when `state.db` was changed as well."""
    elsewhere = tmp_path / "elsewhere"
    result = run("ledger", "checkpoint", "--export", str(elsewhere))
    assert "2 sessions signed, 3 heads known" in result.output
    assert run("ledger", "verify", "--witness", str(elsewhere)).exit_code == 0
    (home / "ledger" / "s1.jsonl").unlink()
    for path in home.glob("state.db*"):
        path.unlink()
    run("ledger", "reindex")

    result = run("ledger", "verify")
    assert result.exit_code == 1
    assert "missing at s1 entry 1" in result.output
    assert "as the operator's log says" in result.output
    result = run("ledger", "verify", "--witness", str(next(elsewhere.iterdir())))
    assert result.exit_code == 1
    assert "missing at s1 entry 1" in result.output


def test_verify_of_exported_lines_says_which_stretches_they_are(run: Run, tmp_path: Path) -> None:
    """In any order, and with those left out that a search did not find; the log of this machine is not looked at."""
    exported = tmp_path / "export.jsonl"
    run("ledger", "export", "--output", str(exported))
    lines = exported.read_bytes().splitlines(keepends=True)

    def verify(*lines: bytes) -> Result:
        exported.write_bytes(b"".join(lines))
        return run("ledger", "verify", "--file", str(exported), "--home", str(tmp_path / "nowhere"))

    whole = verify(*reversed(lines))
    assert whole.exit_code == 0
    assert "s1: entries 1–3" in whole.output
    (gone,) = (line for line in lines if b'"seq":2,"session":"s1"' in line)
    partly = verify(*(line for line in lines if line != gone))
    assert (partly.exit_code, "s1: entry 1," in partly.output, "s1: entry 3," in partly.output) == (0, True, True)
    assert verify().exit_code == 3
    assert run("ledger", "verify", "--file", str(exported), "--all").exit_code == 2


def test_verify_of_exported_lines_finds_what_was_changed(run: Run, home: Path, tmp_path: Path) -> None:
    """A line with another hash by itself; one that was hashed again by what a checkpoint has seen."""
    elsewhere, exported = tmp_path / "elsewhere", tmp_path / "export.jsonl"
    run("ledger", "checkpoint", "--export", str(elsewhere))
    run("ledger", "export", "--session", "s1", "--output", str(exported))
    lines = exported.read_bytes().splitlines(keepends=True)
    exported.write_bytes(lines[0] + lines[1].replace(b"fs_delete", b"fs_copies") + b'{"v":2}\n')
    edited = run("ledger", "verify", "--file", str(exported))
    assert (edited.exit_code, "line 2: " in edited.output, "line 3: " in edited.output) == (1, True, True)

    last = json.loads(lines[-1])
    fields = {"seq": last["seq"], "ts": last["ts"], "session": "s1", "prev": last["prev"], "kid": last["kid"]}
    _, forged = build_entry(**fields, kind=EntryKind.TOOL_CALL, body={})
    exported.write_bytes(b"".join([*lines[:-1], forged]))
    assert run("ledger", "verify", "--file", str(exported)).exit_code == 0
    report = json.loads(run("ledger", "verify", "--file", str(exported), "--witness", str(elsewhere), "--json").output)
    assert [(fault["kind"], fault["seq"]) for fault in report["faults"]] == [("forgery", last["seq"])]


def test_verify_with_git_note_finds_truncation(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints in git notes work as witnesses; each is appended."""
    repository = tmp_path / "repository"
    repository.mkdir()
    monkeypatch.chdir(repository)
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "t")
        monkeypatch.setenv(f"{name}_EMAIL", "t@example.com")
    subprocess.run(["git", "init", "-q"], check=True)
    assert "failed" in run("ledger", "checkpoint", "--git-note").output
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    assert "expected a checkpoint in the git notes" in run("ledger", "verify", "--witness", "git-note").output

    assert run("ledger", "checkpoint", "--git-note").exit_code == 0
    assert run("ledger", "checkpoint", "--git-note").exit_code == 0
    assert run("ledger", "verify", "--witness", "git-note").exit_code == 0
    path = home / "ledger" / "s1.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    result = run("ledger", "verify", "--witness", "git-note")
    assert result.exit_code == 1
    assert "rollback at s1 entry 3" in result.output


def test_tail_shows_newest_entries_oldest_first(run: Run) -> None:
    """The newest entries are printed in one line each."""
    lines = run("ledger", "tail", "-n", "3").output.splitlines()

    assert len(lines) == 3
    assert "s1 2 decision block by fs_delete Bash ls" in lines[0]
    assert json.loads(run("ledger", "tail", "--session", "s2", "--json").output)["kind"] == "posture"
    assert run("ledger", "tail", "-n", "0").output == ""


def test_show_of_damaged_log_prints_intact_entries(run: Run, home: Path) -> None:
    """Intact entries of a damaged log are shown."""
    path = home / "ledger" / "s1.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"tool":"Bash"},"kid"', b'"tool":"Lash"},"kid"') + b"junk\n")

    assert "s1 2 decision block" in run("ledger", "tail").output
    assert run("ledger", "stats").exit_code == 0
    assert run("ledger", "checkpoint").exit_code == 0
    assert run("ledger", "verify").exit_code == 1


def test_tail_follow_prints_new_entries(home: Path) -> None:
    """New entries are printed as they are written, also of new sessions."""
    process = subprocess.Popen(
        [sys.executable, "-m", "verdikt", "ledger", "tail", "-f", "-n", "1", "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "VERDIKT_HOME": str(home), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["session"] in ("s1", "s2")
        store = close_after_test(FileStore(home, FakeClock(), durable=False))
        store.append("s1", "crash", {"n": 1})
        assert json.loads(process.stdout.readline())["body"] == {"n": 1}
        store.append("s3", "crash", {"n": 2})
        assert json.loads(process.stdout.readline())["session"] == "s3"
    finally:
        process.terminate()
        process.communicate()


def test_tail_follow_prints_only_what_the_filter_selects(home: Path) -> None:
    """A person who waits for blocks is not shown the rest."""
    process = subprocess.Popen(
        [sys.executable, "-m", "verdikt", "ledger", "tail", "-f", "-n", "1", "--verdict", "block", "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "VERDIKT_HOME": str(home), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["seq"] == 2
        store = close_after_test(FileStore(home, FakeClock(), durable=False))
        store.append("s3", "decision", decision("pass", "all"))
        store.append("s3", "decision", decision("block", "no_push"))
        assert json.loads(process.stdout.readline())["body"]["receipt"]["verdict"]["guard"] == "no_push"
    finally:
        process.terminate()
        process.communicate()


def test_session_prefix_selects_the_only_match(run: Run, home: Path) -> None:
    """A prefix of a session id is enough when only one session matches."""
    store = close_after_test(FileStore(home, FakeClock(), durable=False))
    store.append("947e0df6-49fe-423d", "decision", decision("block", "g", "read"))
    store.close()

    assert "entry 1 of session 947e0df6-49fe-423d" in run("ledger", "show", "947e", "1").output
    assert "947e0df6 1 decision" in run("ledger", "tail", "--session", "947e0d").output
    assert run("ledger", "stats", "--session", "947").output.startswith("1 entries")
    for words, message in (
        (("show", "s", "1"), "expected the beginning of one session, found `s`, which fits 2"),
        (("show", "94f", "1"), "no session `94f` in"),
        (("tail", "--session", "x"), "no session `x` in"),
        (("export", "--session", "x"), "no session `x` in"),
    ):
        result = CliRunner().invoke(root, ["ledger", *words])
        assert result.exit_code == 1
        assert message in str(result.exception) + result.output


def test_tail_orders_entries_of_all_sessions_by_time(run: Run, home: Path) -> None:
    """A session with many entries does not hide later ones of another."""
    clock = FakeClock()
    store = close_after_test(FileStore(home, clock, durable=False))
    for at in range(30):
        store.append("zebra", "gap", {"at": at})
        clock.seconds += 1
    store.append("ant", "gap", {})
    store.close()
    shown = [line.split()[2] for line in run("ledger", "tail", "-n", "4").output.splitlines()]

    assert shown == ["zebra", "zebra", "zebra", "ant"]


def test_show_prints_all_fields_and_artifacts(run: Run) -> None:
    """Body, hashes, signature and artifacts are printed exactly."""
    assert "entry 2 of session s1: decision" in run("ledger", "show", "s1", "2").output
    assert "covered by the next signed checkpoint" in run("ledger", "show", "s1", "2").output
    assert "signed with ed-" in run("ledger", "show", "s2", "1").output
    assert len(run("ledger", "show", "s1").output.splitlines()) == 3
    assert run("ledger", "show", "s1", "3", "--artifact", "stdout").stdout_bytes == b"hello\n\xff"
    assert json.loads(run("ledger", "show", "s1", "2", "--json").output)["seq"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "s1", "9"], "no entry 9 in session `s1`"),
        (["show", "unknown"], "no session `unknown`"),
        (["show", "s1", "3", "--artifact", "x"], "no artifact `x` with entry 3"),
        (["checkpoint", "--session", "unknown"], "no session `unknown`"),
        (["verify", "--witness", "/nowhere"], "cannot read the witness `/nowhere`"),
        (["tail", "--home", "/nowhere/at/all"], "no log in `/nowhere/at/all`"),
        (["export", "-o", "/nowhere/at/all"], "cannot write `/nowhere/at/all`"),
    ],
)
def test_wrong_argument_is_reported_in_one_line(run: Run, words: list[str], message: str) -> None:
    """A mistake ends with 1 and one line, without a traceback."""
    result = run("ledger", *words)

    assert result.exit_code == 1
    assert message in result.output


def test_stats_count_entries_by_criteria(run: Run) -> None:
    """Entries are counted by verdict, guard, effect, kind and session."""
    assert json.loads(run("ledger", "stats", "--json").output) == {
        "entries": 5,
        "verdict": {"pass": 1, "block": 1},
        "guard": {"fs_delete": 1},
        "effect": {"read": 2, "destructive": 1},
        "kind": {"decision": 2, "key_rotation": 1, "tool_call": 1, "posture": 1},
        "session": {"s1": 3, "operator": 1, "s2": 1},
    }
    assert "fs_delete  1" in run("ledger", "stats", "--session", "s1").output


def test_export_jsonl_equals_the_log(run: Run, home: Path, tmp_path: Path) -> None:
    """The exported lines are the bytes of the log."""
    lines = b"".join((home / "ledger" / f"{session}.jsonl").read_bytes() for session in ("operator", "s1", "s2"))

    assert run("ledger", "export").stdout_bytes == lines
    run("ledger", "export", "-o", str(tmp_path / "x.jsonl"))
    assert (tmp_path / "x.jsonl").read_bytes() == lines


def test_export_in_toto_gives_valid_statements(run: Run) -> None:
    """Each subject is the entry's hash, which the predicate's fields reproduce."""
    statements = [json.loads(line) for line in run("ledger", "export", "--format", "in-toto").stdout_bytes.splitlines()]
    assert len(statements) == 7
    for statement in statements:
        assert statement["_type"] == "https://in-toto.io/Statement/v1"
        predicate = statement["predicate"]
        fields = {name: value for name, value in predicate.items() if name not in {*SEAL_FIELDS, "body"}}
        assert fields["body_sha256"] == sha256_hex(encode_canonical(predicate["body"]))
        assert statement["predicateType"] == "urn:verdikt:ledger-entry:v2"
        assert statement["subject"][0]["digest"]["sha256"] == sha256_hex(encode_canonical(fields))
        assert statement["subject"][0]["name"] == f"verdikt:{predicate['session']}/{predicate['seq']}"


def test_export_parquet_gives_typed_table(run: Run, tmp_path: Path) -> None:
    """The columns are typed; the body is JSON."""
    from pyarrow import parquet

    assert run("ledger", "export", "--format", "parquet").exit_code == 2
    run("ledger", "export", "--format", "parquet", "-o", str(tmp_path / "x.parquet"))

    rows = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    assert [(row["session"], row["seq"], row["verdict"], row["guard"]) for row in rows[3:]] == [
        ("s1", 1, "pass", "all"),
        ("s1", 2, "block", "fs_delete"),
        ("s1", 3, None, None),
        ("s2", 1, None, None),
    ]
    assert rows[4]["effects"] == ["destructive", "read"]
    assert rows[0]["ts"].timestamp() == FakeClock().now()
    assert json.loads(rows[6]["body"]) == {"to": "locked"}


def test_export_parquet_without_pyarrow_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The missing extra is named."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    result = run("ledger", "export", "--format", "parquet", "-o", str(tmp_path / "x"))

    assert result.exit_code == 1
    assert "pip install pyarrow" in result.output


def test_rotate_reads_environment_and_writes_its_log(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run appends a line to `_rotate.log`."""
    old = FakeClock().now()
    os.utime(home / "ledger" / "s1.jsonl", (old, old))
    monkeypatch.setenv("EG_HOT_DAYS", "100000")
    assert "0 archived" in run("ledger", "rotate").output
    monkeypatch.setenv("EG_HOT_DAYS", "14")
    result = run("ledger", "rotate", "--json")

    assert str(home / "ledger" / "s1.jsonl") in json.loads(result.output)["archived"]
    assert len((home / "_rotate.log").read_text().splitlines()) == 2
    assert run("ledger", "verify").exit_code == 0
    monkeypatch.setenv("EG_HOT_DAYS", "soon")
    assert "expected a number in EG_HOT_DAYS, found `soon`" in run("ledger", "rotate").output


def test_rotate_with_damaged_log_ends_with_1(run: Run, home: Path) -> None:
    """The damaged file and the reason are printed."""
    path = home / "ledger" / "s1.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"pass"', b'"miss"'))
    os.utime(path, (1, 1))

    result = run("ledger", "rotate")

    assert result.exit_code == 1
    assert "is damaged and stays as it is" in result.output


def test_reindex_rebuilds_the_database(run: Run, home: Path) -> None:
    """The database is rebuilt from the log."""
    for path in home.glob("state.db*"):
        path.unlink()

    assert "sessions read" in run("ledger", "reindex").output
    assert (home / "state.db").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["ledger"],
        ["keys"],
        ["grant"],
        *(["ledger", name] for name in ("verify", "checkpoint", "tail", "show", "stats")),
        ["ledger", "export"],
        ["ledger", "rotate"],
        ["ledger", "reindex"],
        ["keys", "rotate"],
        ["grant", "add"],
    ],
)
def test_help_of_every_command_has_an_example(run: Run, words: list[str]) -> None:
    """Every help text has an example."""
    result = run(*words, "--help")

    assert result.exit_code == 0
    assert "Example: " in result.output


def test_loss_of_the_database_is_accepted_by_a_person_only(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then verification fails, also after a reindex; an agent cannot accept it, nor rebuild `state.db`."""
    for path in home.glob("state.db*"):
        path.unlink()
    run("ledger", "reindex")
    assert run("ledger", "verify").exit_code == 1

    with monkeypatch.context() as agent:
        agent.setenv("CLAUDECODE", "1")
        for words in (("checkpoint", "--accept"), ("reindex",)):
            assert "is for operators: this runs inside Claude Code" in run("ledger", *words).output
    assert run("ledger", "verify").exit_code == 1
    assert run("ledger", "checkpoint", "--accept").exit_code == 0
    assert run("ledger", "verify").exit_code == 0


def test_output_in_a_pipe_has_no_colours(home: Path) -> None:
    """A pipe gets no colour codes."""
    done = subprocess.run(
        [sys.executable, "-m", "verdikt", "ledger", "verify"],
        capture_output=True,
        env={**os.environ, "VERDIKT_HOME": str(home)},
        check=True,
    )

    assert b"\x1b" not in done.stdout
    assert io.BytesIO(done.stdout).readline().startswith(b"s1: intact")


def test_views_select_by_verdict_rule_host_project_and_time(run: Run, home: Path) -> None:
    """Every view takes the same options."""
    clock = FakeClock()
    store = close_after_test(FileStore(home, clock, durable=False))
    body = decision("block", "no_push", "network")
    body["receipt"]["action"] |= {"host": "claude", "cwd": "/srv/shop/api"}  # type: ignore[index]
    clock.sleep(86_400)
    store.append("s3", "decision", body)
    store.close()

    def list_sessions(*words: str) -> list[str]:
        lines = run("ledger", "tail", "--json", *words).output.splitlines()
        return [json.loads(line)["session"] for line in lines if json.loads(line)["session"] != "operator"]

    assert list_sessions("--verdict", "block") == ["s1", "s3"]
    assert list_sessions("--rule", "no_push") == ["s3"]
    assert list_sessions("--host", "claude") == ["s3"]
    assert list_sessions("--project", "/srv/shop") == ["s3"]
    assert list_sessions("--project", "/srv/sho") == []
    assert list_sessions("--since", "2023-11-15") == ["s3"]
    assert list_sessions("--until", "2023-11-15") == ["s1", "s1", "s1", "s2"]
    assert list_sessions("--since", "1h") == []
    for words in (("--verdict", "block"), ("--rule", "no_push"), ("--host", "claude"), ("--project", "/srv/shop")):
        stats = json.loads(run("ledger", "stats", "--json", *words).output)
        assert stats["entries"] == len(list_sessions(*words))
    assert json.loads(run("ledger", "stats", "--json", "--session", "s3").output)["verdict"] == {"block": 1}
    assert json.loads(run("ledger", "stats", "--json", "--since", "2023-11-15").output)["session"] == {"s3": 1}
    assert json.loads(run("ledger", "stats", "--json", "--until", "2023-11-14").output)["entries"] == 0
    assert len(run("ledger", "show", "s1", "--verdict", "block").output.splitlines()) == 1
    assert "expected an age such as 2h or 7d" in run("ledger", "tail", "--since", "soon").output


@pytest.mark.parametrize(
    ("kind", "body", "line"),
    [
        ("tool_call", {"tool": "Bash", "payload": {"command": "make"}, "success": True}, "Bash make: ok"),
        (
            "tool_call",
            {"tool": "Bash", "payload": {"command": "make"}, "success": False, "exit_code": 2},
            "Bash make: failed with status 2",
        ),
        ("contract", {"objective": "fix the parser"}, "fix the parser"),
        ("grant", {"grant": {"guard": "g", "target": "/srv", "by": "ada", "reason": "x"}}, "g for /srv by ada: x"),
        ("grant", {"pause": {"until": 9, "by": "ada", "reason": "x"}}, "pause by ada: x"),
        ("grant", {"exceptions": [{"rule": "r"}], "file": "f.yaml"}, "exceptions for r in f.yaml"),
        (
            "grant",
            {"accept": {"root": "/p", "digest": "1f2b8d92cc12ff", "by": "ada", "how": "init"}},
            "policy 1f2b8d92cc12 of /p accepted by ada (init)",
        ),
        ("grant", {"pause": {"until": 0, "by": "ada", "reason": "ended"}}, "pause ended by ada"),
        ("grant", {"revoke": "b0b9"}, "revoked: grant b0b9"),
        ("grant", {"revoke": "b0b9", "used_by": "s1"}, "used up: grant b0b9, by session s1"),
        ("snapshot", {"root": "/p", "dirty": {}}, "the work tree /p when the turn began: as committed"),
        (
            "snapshot",
            {"root": "/p", "dirty": {"a.py": ["", ""]}},
            "the work tree /p when the turn began: 1 file differs from the last commit",
        ),
        (
            "snapshot",
            {"root": "/p", "dirty": None},
            "the work tree /p when the turn began: too many files differ from the last commit",
        ),
        ("validator_pass", {"claim": "tests_pass", "words": "All pass."}, "proven: tests_pass “All pass.”"),
        (
            "override",
            {"found": [["no_verify", "--no-verify"]]},
            "a prompt asks to get past a check, which changes nothing: “--no-verify”",
        ),
        (
            "feedback",
            {"given": [{"provider": "stale_evidence", "text": "run the tests again"}], "failures": {"x": "ValueError"}},
            "stale_evidence: run the tests again; x failed: ValueError",
        ),
        ("completion", {"by": "evidence", "result": "silent"}, "the agent stopped and claimed nothing"),
        (
            "completion",
            {"by": "evidence", "result": "refused", "missing": [{"words": "fixed", "reason": "no test ran"}]},
            "a claim without proof (recorded only): “fixed”: no test ran",
        ),
        (
            "completion",
            {"by": "completion", "allowed": False, "text": "no tests"},
            "stop refused, the work is incomplete: no tests",
        ),
        ("completion", {"by": "completion", "allowed": True}, "work is complete"),
        (
            "completion",
            {"child": "s.1", "result": "proven"},
            "sub-agent s.1: the agent stopped, and what it said is proven",
        ),
        ("review", {"review": {"reviewer": "bandit", "status": "done"}, "council": "ship"}, "bandit for ship: done"),
        ("rotation", {"first": 1, "last": 9, "month": "2026-11"}, "entries 1 to 9 moved into the archive of 2026-11"),
        ("rotation", {"expired": {"s": {"seq": 1}}}, "archives of 1 session deleted, their time is over"),
        ("key_rotation", {"old": "", "new": "ed-1"}, "the log is signed with ed-1 from here on"),
        ("key_rotation", {"old": "ed-0", "new": "ed-1"}, "signed with ed-1 from here on, in place of ed-0"),
        ("checkpoint", {"reason": "session_end"}, "every entry so far is signed: the session ended"),
        ("crash", {"error": "ValueError"}, "error=ValueError"),
        ("session", {"session": "s1", "seq": 1}, "session s1 began"),
        ("gap", {"moment": "stop", "integrity": ["a is gone"]}, "verdikt was not as it was set up: a is gone"),
        ("finding", {"finding": {"level": "HIGH", "title": "leak"}}, "[HIGH] leak"),
        ("posture", {"before": "interactive", "after": "locked", "reason": "night"}, "interactive → locked night"),
    ],
)
def test_each_kind_of_entry_has_a_readable_line(
    run: Run, home: Path, kind: str, body: dict[str, object], line: str
) -> None:
    """A reader learns what happened without the entry's fields."""
    store = close_after_test(FileStore(home, FakeClock(), durable=False))
    store.append("new", kind, body)
    store.close()

    assert f"new 1 {kind} {line}\n" in run("ledger", "tail", "--session", "new").output


def test_each_line_says_how_an_ask_was_answered(run: Run, tmp_path: Path) -> None:
    """Yes is noted at the call that ran, with the time where the host tells it; anything else at the ask."""
    with open_activity_log(tmp_path / "asks") as log:
        log.call("s9", "npm publish", wait=7)
        log.call("s9", "npm publish --tag next", runs=False)
        log.store.append_checkpoint("s9")

    for words in (("tail", "--session", "s9"), ("show", "s9")):
        lines = run("ledger", *words, "--home", str(tmp_path / "asks")).output.splitlines()
        assert lines[0].endswith("decision ask by package_careful Bash npm publish")
        assert lines[1].endswith("tool_call Bash npm publish: ok (a person said yes to #1 after 7 s)")
        assert lines[2].endswith("Bash npm publish --tag next (not answered with yes: it did not run)")


@pytest.mark.parametrize("words", [("tail", "--session", "new"), ("show", "new"), ("show", "new", "1")])
def test_text_of_an_agent_cannot_control_the_terminal(run: Run, home: Path, words: tuple[str, ...]) -> None:
    """Sequences that move the cursor, set a title or turn the direction of text are shown, not obeyed."""
    store = close_after_test(FileStore(home, FakeClock(), durable=False))
    command = "ls \x1b[2J\x1b]0;x\x07 \x9b31m \u202e \x00"
    store.append("new", "decision", {"receipt": {"action": {"tool": "Bash", "payload": {"command": command}}}})
    store.close()

    output = run("ledger", *words).output

    assert [line for line in output.splitlines() if not line.isprintable()] == []
    assert "31m" in output


@pytest.mark.parametrize(("columns", "date"), [(120, "2023-"), (72, "11-14 ")])
def test_tail_at_a_terminal_is_in_columns_and_ends_at_its_width(home: Path, columns: int, date: str) -> None:
    """No line is wrapped, and what a narrow screen has no room for is cut with a mark."""
    store = close_after_test(FileStore(home, FakeClock(), durable=False))
    store.append("0c9f2f5e-6f2a-4f0e-9d5b-1f2a3b4c5d6e", "contract", {"objective": "a long request " * 20})
    store.close()
    child, terminal = pty.fork()
    if child == 0:
        env = os.environ | {"VERDIKT_HOME": str(home), "COLUMNS": str(columns), "NO_COLOR": "1"}
        os.execve(sys.executable, [sys.executable, "-m", "verdikt", "ledger", "tail"], env)
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        output = b""
        with suppress(OSError):  # raised when the command has ended
            while data := screen.read(4096):
                output += data
    os.waitpid(child, 0)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in output.decode().splitlines()]

    assert all(len(line) <= columns for line in lines)
    assert (
        len({line.index(kind) for line in lines for kind in ("decision", "posture", "contract") if kind in line}) == 1
    )
    (cut,) = (line for line in lines if "contract" in line)
    assert cut.startswith(date)
    assert "0c9f2f5e    1 contract" in cut
    assert cut.endswith("…")
