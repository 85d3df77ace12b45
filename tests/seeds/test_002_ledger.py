"""Seed 002, the log."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.ledger.audit import audit
from verdikt.ledger.audit_finding import Corruption
from verdikt.ledger.files import FileStore
from verdikt.ledger.key_rotation import rotate_key
from verdikt.ledger.keys import HMAC
from verdikt.ledger.rotation import DAY_SECONDS, RotationPolicy, rotate
from verdikt.model.entry import EntryKind, decode_entry

NOW = FakeClock().now()


def open_store(home: Path, days: float = 0) -> FileStore:
    """Open a store as a new process would."""
    return close_after_test(FileStore(home, FakeClock(NOW + days * DAY_SECONDS), durable=False))


def aged(path: Path, days: float) -> None:
    """Make a file look older."""
    os.utime(path, (NOW - days * DAY_SECONDS, NOW - days * DAY_SECONDS))


# S2-010
def test_one_chained_line_and_one_artifact_directory_per_tool_call(tmp_path: Path) -> None:
    """`ledger/<sid>.jsonl` and `artifacts/<sid>/<seq>/`."""
    store = open_store(tmp_path)
    for at in range(3):
        raw = {"cmd": b"ls", "stdout": b"%d" % at, "stderr": b""}
        store.append("sid-1", "tool_call", {"tool": "Bash"}, artifacts=raw)

    lines = [
        decode_entry(line) for line in (tmp_path / "ledger" / "sid-1.jsonl").read_bytes().splitlines(keepends=True)
    ]
    assert [line.prev for line in lines[1:]] == [line.hash for line in lines[:-1]]
    for seq in (1, 2, 3):
        assert sorted(p.name for p in (tmp_path / "artifacts" / "sid-1" / str(seq)).iterdir()) == [
            "cmd",
            "stderr",
            "stdout",
        ]


# S2-050
def test_archives_lie_where_the_seed_says(tmp_path: Path) -> None:
    """By month; contracts keep the session's directory; artifacts are one tar per session."""
    open_store(tmp_path).append("sid", "tool_call", {}, artifacts={"stdout": b"x"})
    (tmp_path / "contracts" / "sid").mkdir(parents=True)
    (tmp_path / "contracts" / "sid" / "1.yml").write_text("objective: x\n")
    (tmp_path / "overrides").mkdir()
    (tmp_path / "overrides" / "sid.jsonl").write_text("{}\n")
    for path in [*tmp_path.rglob("*.jsonl"), *tmp_path.rglob("*.yml")]:
        aged(path, 31)

    rotate(open_store(tmp_path))

    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.gz")) == [
        "artifacts/_archive/2023-11/sid.tar.gz",
        "contracts/_archive/2023-11/sid/1.yml.gz",
        "ledger/_archive/2023-11/sid.1-2.jsonl.gz",
        "overrides/_archive/2023-11/sid.jsonl.gz",
    ]


# S2-070
def test_rotation_limits_have_the_documented_defaults(tmp_path: Path) -> None:
    """30 days, 50 MB, 10,000 lines, one year."""
    policy = RotationPolicy.from_env({})

    assert (policy.hot_days, policy.max_hot_bytes, policy.keep_lines, policy.keep_days) == (30, 50_000_000, 10_000, 365)
    assert RotationPolicy.from_env({"EG_HOT_DAYS": "14", "EG_MAX_HOT_BYTES": "20000000"}).hot_days == 14


# S2-071
def test_only_what_is_older_than_the_limit_goes(tmp_path: Path) -> None:
    """29 days stay, 31 go, compressed."""
    for session, days in (("young", 29), ("old", 31)):
        open_store(tmp_path).append(session, "tool_call", {})
        aged(tmp_path / "ledger" / f"{session}.jsonl", days)

    rotate(open_store(tmp_path))

    assert sorted(p.name for p in (tmp_path / "ledger").glob("*.jsonl")) == ["operator.jsonl", "young.jsonl"]
    (archive,) = tmp_path.glob("ledger/_archive/*/*")
    assert len(gzip.decompress(archive.read_bytes()).splitlines()) == 2


# S2-072
def test_the_chain_stays_verifiable_across_the_cut(tmp_path: Path) -> None:
    """The entry chain itself is the sidecar: the signed rotation entry carries the head of what was archived."""
    store = open_store(tmp_path)
    for at in range(30):
        store.append("s", "tool_call", {"at": at})
    aged(tmp_path / "ledger" / "s.jsonl", 1)

    rotate(store, RotationPolicy(max_hot_bytes=1000, keep_lines=10))

    hot = (tmp_path / "ledger" / "s.jsonl").read_bytes().splitlines(keepends=True)
    assert len(hot) == 11
    assert decode_entry(hot[-1]).body["head"]["hash"] == decode_entry(hot[0]).prev
    assert audit(tmp_path).is_intact
    assert audit(tmp_path).sessions[0].entry_count == 31


# S2-073
def test_an_active_session_is_never_archived(tmp_path: Path) -> None:
    """Touched 59 minutes ago: stays. 61 minutes: goes."""
    open_store(tmp_path).append("s", "tool_call", {})
    path = tmp_path / "ledger" / "s.jsonl"
    policy = RotationPolicy(hot_days=0)
    aged(path, 59 / 1440)
    rotate(open_store(tmp_path), policy)
    assert path.exists()
    aged(path, 61 / 1440)
    rotate(open_store(tmp_path), policy)
    assert not path.exists()


# S2-074
def test_archives_are_deleted_after_a_year(tmp_path: Path) -> None:
    """364 days stay, 366 go."""
    open_store(tmp_path).append("s", "tool_call", {})
    aged(tmp_path / "ledger" / "s.jsonl", 31)
    rotate(open_store(tmp_path))

    rotate(open_store(tmp_path, days=364))
    assert list(tmp_path.glob("ledger/_archive/*/*"))
    rotate(open_store(tmp_path, days=366))
    assert not list(tmp_path.glob("ledger/_archive/*/*"))


# S2-095, W2-4
def test_rotating_a_key_destroys_nothing(tmp_path: Path) -> None:
    """Every VALIDATOR_PASS before it is verifiable after it, of either algorithm."""
    store = open_store(tmp_path)
    store.keyring.create_first_key(HMAC)
    store.append("s", EntryKind.VALIDATOR_PASS, {"claim": "done"})
    for algorithm in (HMAC, "ed25519", "ed25519"):
        rotate_key(store, algorithm)
        store.append("s", EntryKind.VALIDATOR_PASS, {"claim": "done"})

    found = audit(tmp_path)
    assert found.findings == []
    assert found.sessions[-1].signature_count == 4


# W2-2
def test_verification_needs_no_secret(tmp_path: Path) -> None:
    """The private key may lie with another user; verification still tells good from forged."""
    store = open_store(tmp_path)
    store.append("s", EntryKind.VALIDATOR_PASS, {"claim": "done"})
    for secret in (tmp_path / "keys").glob("*.key"):
        secret.unlink()

    assert audit(tmp_path).is_intact
    path = tmp_path / "ledger" / "s.jsonl"
    line = path.read_bytes()
    sig = decode_entry(line).sig.encode()
    path.write_bytes(line.replace(sig, b"00" + sig[2:] if not sig.startswith(b"00") else b"11" + sig[2:]))
    assert audit(tmp_path).findings[0].kind is Corruption.BAD_SIGNATURE


# W2-9
def test_tampering_by_shell_is_detected(tmp_path: Path) -> None:
    """A real `sed -i`, which is how an agent would do it."""
    open_store(tmp_path).append("s", "tool_call", {"exit": 1})
    subprocess.run(["sed", "-i", 's/"exit":1/"exit":0/', str(tmp_path / "ledger" / "s.jsonl")], check=True)

    env = {**os.environ, "VERDIKT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "verdikt", "ledger", "verify"], env=env, capture_output=True, check=False
    )

    assert done.returncode == 1
    assert b"edit at s entry 1" in done.stdout


# W2-10
def test_missing_evidence_is_an_explicit_gap(tmp_path: Path) -> None:
    """A line torn by a crash becomes an entry that says so, not a silence."""
    open_store(tmp_path).append("s", "tool_call", {})
    with open(tmp_path / "ledger" / "s.jsonl", "ab") as file:
        file.write(b'{"body":{"tool":"Ba')

    store = open_store(tmp_path)
    store.append("s", "tool_call", {})

    assert [entry.kind.value for entry in store.read_entries("s")] == ["tool_call", "gap", "tool_call"]
    assert audit(tmp_path).is_intact
