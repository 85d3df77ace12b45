"""Rotation archives old entries without breaking a chain, also when it is killed at any step."""

import gzip
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger.audit import audit
from verdikt.ledger.audit_finding import Corruption
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import Projection
from verdikt.ledger.rotation import DAY_SECONDS, RotationPolicy, rotate
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind
from verdikt.model.gap import describe_gap

COUNT = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
NOW = FakeClock().now()
MONTH = "2023-11"
SMALL = RotationPolicy(max_hot_bytes=2_000, keep_lines=5)


def open_store(home: Path, *, after_days: float = 0.0) -> FileStore:
    """Open a store as a new process would, some days later."""
    return close_after_test(FileStore(home, FakeClock(NOW + after_days * DAY_SECONDS), (COUNT,), durable=False))


def fill_session(home: Path, session: str, count: int, *, days_old: float = 0.0) -> Path:
    """Write a session with artifacts, last touched some days ago, and return its file."""
    store = open_store(home)
    for at in range(count):
        store.append(session, "tool_call", {"at": at}, artifacts={"out": f"{session}{at}".encode()})
    store.close()
    path = home / "ledger" / f"{session}.jsonl"
    make_older(path, days_old)
    return path


def make_older(path: Path, days: float) -> None:
    """Make a file look older."""
    os.utime(path, (NOW - days * DAY_SECONDS, NOW - days * DAY_SECONDS))


def list_calls(store: FileStore, session: str) -> list[int]:
    """Return what the session's tool calls say."""
    return [entry.body["at"] for entry in store.read_entries(session) if entry.kind is EntryKind.TOOL_CALL]


def test_rotate_archives_an_old_session_by_month(tmp_path: Path) -> None:
    """The archive is compressed, and its entries stay readable, verifiable and countable."""
    path = fill_session(tmp_path, "s", 5, days_old=31)
    store = open_store(tmp_path)

    report = rotate(store)

    assert not path.exists()
    archive = tmp_path / "ledger" / "_archive" / MONTH / "s.1-6.jsonl.gz"
    assert archive.exists()
    assert report.archived[0] == path
    assert store.list_sessions() == ["operator", "s"]
    assert list_calls(store, "s") == [0, 1, 2, 3, 4]
    assert list_calls(open_store(tmp_path), "s") == [0, 1, 2, 3, 4]
    assert list(store.read_entries("s"))[-1].kind is EntryKind.ROTATION
    assert store.read_head("s").seq == 6
    assert store.read_projection("count", "s") == 6
    assert audit(tmp_path).findings == []
    assert audit(tmp_path).is_intact


def test_rotate_packs_artifacts_of_an_archived_session(tmp_path: Path) -> None:
    """Packed artifacts are still found, byte for byte."""
    fill_session(tmp_path, "s", 3, days_old=31)
    store = open_store(tmp_path)
    rotate(store)

    assert (tmp_path / "artifacts" / "_archive" / MONTH / "s.tar.gz").exists()
    assert not (tmp_path / "artifacts" / "s").exists()
    assert store.read_artifact("s", 2, "out") == b"s1"


def test_archived_session_can_continue(tmp_path: Path) -> None:
    """Its chain goes on from the archive, and can be archived again."""
    fill_session(tmp_path, "s", 3, days_old=31)
    store = open_store(tmp_path)
    rotate(store)

    assert store.append("s", "tool_call", {"at": 3}, artifacts={"out": b"s3"}).seq == 5
    assert list_calls(store, "s") == [0, 1, 2, 3]
    assert [entry.seq for entry in store.read_entries("s", since=3)] == [4, 5]
    assert store.read_projection("count", "s") == 5
    assert audit(tmp_path).is_intact
    make_older(tmp_path / "ledger" / "s.jsonl", 40)
    rotate(store)
    assert list_calls(store, "s") == [0, 1, 2, 3]
    assert [store.read_artifact("s", seq, "out") for seq in (1, 2, 3, 5)] == [b"s0", b"s1", b"s2", b"s3"]
    assert audit(tmp_path).findings == []


def test_rotate_trims_a_long_log_to_its_newest_lines(tmp_path: Path) -> None:
    """The older entries are archived, and the chain holds across the cut."""
    path = fill_session(tmp_path, "s", 20, days_old=1)
    store = open_store(tmp_path)

    assert rotate(store, SMALL).trimmed == [path]

    assert len(path.read_bytes().splitlines()) == 6  # five kept, and the entry that says so
    assert list_calls(store, "s") == list(range(20))
    rotation = list(store.read_entries("s"))[-1]
    assert (rotation.kind, rotation.body["first"], rotation.body["last"]) == (EntryKind.ROTATION, 1, 15)
    assert rotation.body["head"]["hash"] == list(store.read_entries("s"))[14].hash
    assert rotation.sig
    for since in range(21):
        assert [e.seq for e in store.read_entries("s", since=since)] == list(range(since + 1, 22))
    assert audit(tmp_path).findings == []
    assert path.stat().st_mtime == pytest.approx(NOW - DAY_SECONDS)


def test_trimming_twice_makes_two_archives_of_one_chain(tmp_path: Path) -> None:
    """Each archive begins where the one before ends."""
    path = fill_session(tmp_path, "s", 20, days_old=1)
    rotate(open_store(tmp_path), SMALL)
    fill_session(tmp_path, "s", 20, days_old=1)
    rotate(open_store(tmp_path), SMALL)

    names = sorted(p.name for p in (tmp_path / "ledger" / "_archive" / MONTH).iterdir())
    assert names == ["s.1-15.jsonl.gz", "s.16-36.jsonl.gz"]
    assert path.exists()
    assert list_calls(open_store(tmp_path), "s") == [*range(20), *range(20)]
    assert audit(tmp_path).findings == []


def test_rotate_skips_files_touched_within_the_hour(tmp_path: Path) -> None:
    """A session that may be running is left alone, however long it is."""
    path = fill_session(tmp_path, "s", 20, days_old=0.5 / 24)
    before = path.read_bytes()

    report = rotate(open_store(tmp_path), SMALL)

    assert report.active == [path]
    assert path.read_bytes() == before


def test_contracts_of_two_sessions_stay_apart_in_the_archive(tmp_path: Path) -> None:
    """The session's directory is part of the path; a second contract of the same name is numbered."""
    for session in ("a", "b"):
        contract = tmp_path / "contracts" / session / "1.yml"
        contract.parent.mkdir(parents=True)
        contract.write_text(f"objective: {session}\n")
        make_older(contract, 31)
    fresh = tmp_path / "contracts" / "a" / "2.yml"
    fresh.write_text("objective: fresh\n")
    make_older(fresh, 1)
    rotate(open_store(tmp_path))
    again = tmp_path / "contracts" / "b" / "1.yml"
    again.parent.mkdir(exist_ok=True)
    again.write_text("objective: again\n")
    make_older(again, 31)
    rotate(open_store(tmp_path))

    archive = tmp_path / "contracts" / "_archive" / MONTH
    archived = {str(p.relative_to(archive)): gzip.decompress(p.read_bytes()).decode() for p in archive.rglob("*.gz")}
    assert archived == {
        "a/1.yml.gz": "objective: a\n",
        "b/1.yml.gz": "objective: b\n",
        "b/1.yml.2.gz": "objective: again\n",
    }
    assert fresh.exists()


def test_rotate_archives_overrides_by_session(tmp_path: Path) -> None:
    """Each session's file is archived."""
    path = tmp_path / "overrides" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    make_older(path, 31)

    rotate(open_store(tmp_path))

    assert gzip.decompress((tmp_path / "overrides" / "_archive" / MONTH / "s.jsonl.gz").read_bytes()) == b"{}\n"
    assert not path.exists()


def test_what_a_service_has_not_yet_stays_as_long_as_there_is_room(tmp_path: Path) -> None:
    """Acknowledged archives go at their time; others when too much waits, which a signed entry says beforehand."""
    for session in ("sent", "unsent"):
        fill_session(tmp_path, session, 5, days_old=31)
    rotate(open_store(tmp_path), SMALL)
    (tmp_path / "ship").mkdir()
    config, acknowledged = tmp_path / "ship" / "config.json", tmp_path / "ship" / "acknowledged.json"
    config.write_text('{"url": "https://verdikt.example", "machine": 1}')
    acknowledged.write_text('{"sent": 99, "unsent": 3}')
    store = open_store(tmp_path, after_days=366)

    rotate(store)
    assert store.list_sessions() == [OPERATOR, "unsent"]
    config.write_text('{"url": "https://verdikt.example", "machine": 1, "max_unsent": 10}')
    rotate(store)

    gap, expired = list(store.read_entries(OPERATOR))[-2:]
    assert store.list_sessions() == [OPERATOR]
    assert (gap.kind, bool(gap.sig)) == (EntryKind.GAP, True)
    assert gap.body == {"reason": "unsent", "sessions": {"unsent": {"first": 1, "last": 6}}}
    assert expired.body["expired"].keys() == {"unsent"}
    assert "before the team's service had them" in describe_gap(gap.body)
    assert {finding.kind for finding in audit(tmp_path).findings} <= {Corruption.GAP}


def test_rotate_deletes_archives_after_a_year_and_records_it(tmp_path: Path) -> None:
    """The session is gone, and verification does not call it tampering."""
    fill_session(tmp_path, "s", 5, days_old=31)
    fill_session(tmp_path, "t", 20, days_old=1)
    contract = tmp_path / "contracts" / "s" / "1.yml"
    contract.parent.mkdir(parents=True)
    contract.write_text("x: 1\n")
    make_older(contract, 31)
    rotate(open_store(tmp_path), SMALL)
    store = open_store(tmp_path, after_days=366)
    store.append("t", "tool_call", {"at": 20})
    os.utime(tmp_path / "ledger" / "t.jsonl", (NOW + 365 * DAY_SECONDS, NOW + 365 * DAY_SECONDS))

    report = rotate(store)

    assert not list(tmp_path.glob("*/_archive/**/*.gz"))
    assert len(report.deleted) == 4
    assert store.list_sessions() == [OPERATOR, "t"]
    assert list(store.read_entries(OPERATOR))[-1].body["expired"].keys() == {"s", "t"}
    assert audit(tmp_path).findings == []
    store.flush_projections()
    with store.state.hold_connection() as db:
        before = db.dump_tables()
    store.reindex()
    with store.state.hold_connection() as db:
        assert db.dump_tables() == before


def test_archive_removed_by_hand_is_reported(tmp_path: Path) -> None:
    """Only archives that the operator's signed log names may be missing."""
    fill_session(tmp_path, "s", 20, days_old=1)
    rotate(open_store(tmp_path), SMALL)
    next(tmp_path.glob("ledger/_archive/*/*.gz")).unlink()

    (fault,) = audit(tmp_path).findings

    assert (fault.kind, fault.seq) == (Corruption.DROP, 1)


def test_edited_archive_is_reported(tmp_path: Path) -> None:
    """Archived entries are verified like others."""
    fill_session(tmp_path, "s", 20, days_old=1)
    rotate(open_store(tmp_path), SMALL)
    path = next(tmp_path.glob("ledger/_archive/*/*.gz"))
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"at":7', b'"at":8')))
    assert (audit(tmp_path).findings[0].kind, audit(tmp_path).findings[0].seq) == (Corruption.EDIT, 8)

    path.write_bytes(path.read_bytes()[:-30])
    assert "restore it from a backup" in audit(tmp_path).findings[0].message


def test_rotate_leaves_a_damaged_log_in_place(tmp_path: Path) -> None:
    """A damaged log is evidence; other sessions are rotated."""
    path = fill_session(tmp_path, "s", 5, days_old=31)
    path.write_bytes(path.read_bytes().replace(b'"at":2', b'"at":9'))
    make_older(path, 31)
    other = fill_session(tmp_path, "t", 5, days_old=31)

    report = rotate(open_store(tmp_path))

    assert path.exists()
    assert "is damaged and stays as it is" in report.failed[path]
    assert not other.exists()


def test_rotate_leaves_a_log_whose_only_line_is_torn(tmp_path: Path) -> None:
    """A power cut in the first write leaves such a file; other sessions are rotated."""
    path = fill_session(tmp_path, "s", 1, days_old=31)
    path.write_bytes(path.read_bytes()[:20])
    make_older(path, 31)
    other = fill_session(tmp_path, "t", 5, days_old=31)

    report = rotate(open_store(tmp_path))

    assert path.read_bytes()
    assert path not in report.failed
    assert not other.exists()


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, RotationPolicy(hot_days=30, max_hot_bytes=50_000_000)),
        ({"EG_HOT_DAYS": "14", "EG_MAX_HOT_BYTES": "20000000"}, RotationPolicy(hot_days=14, max_hot_bytes=20_000_000)),
        ({"EG_HOT_DAYS": ""}, RotationPolicy()),
    ],
)
def test_rotation_policy_reads_the_environment(env: dict[str, str], expected: RotationPolicy) -> None:
    """Cron jobs use these variables."""
    assert RotationPolicy.from_env(env) == expected


@pytest.mark.parametrize("text", ["a month", "-1", "nan", "inf"])
def test_rotation_limit_that_is_not_a_number_raises(text: str) -> None:
    """Read as zero, it would archive everything."""
    with pytest.raises(LedgerError, match="expected a number.* in EG_HOT_DAYS, found"):
        RotationPolicy.from_env({"EG_HOT_DAYS": text})


STEPS = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.utime", "shutil.rmtree")


def _rotate_until_killed(home: Path, step: int) -> int:
    """Rotate in a child that kills itself at its n-th step on the disk; return its exit code."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def hook(event: str, args: tuple[Any, ...]) -> None:
            nonlocal count
            if event in STEPS or (event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)):
                count += 1
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            rotate(open_store(home), SMALL)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_rotation_killed_at_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Killed after every single step on the disk, the next rotation completes it."""
    template = tmp_path / "template"
    fill_session(template, "old", 4, days_old=31)
    fill_session(template, "long", 20, days_old=1)
    contract = template / "contracts" / "old" / "1.yml"
    contract.parent.mkdir(parents=True)
    contract.write_text("objective: x\n")
    make_older(contract, 31)
    open_store(template).keyring.get_signing_key()
    step = killed = 0
    while True:
        step += 1
        home = tmp_path / "home"
        shutil.copytree(template, home)
        code = _rotate_until_killed(home, step)
        killed += code == -signal.SIGKILL
        store = open_store(home)
        for _ in range(2):  # as it was left, and when the next rotation has finished the work
            assert list_calls(store, "old") == [0, 1, 2, 3], step
            assert list_calls(store, "long") == list(range(20)), step
            assert [store.read_artifact("old", seq, "out") for seq in (1, 4)] == [b"old0", b"old3"], step
            assert [f for f in audit(home).findings if not f.is_note] == [], step
            assert (
                len(list(home.glob("contracts/*/1.yml"))) + len(list(home.glob("contracts/_archive/*/*/1.yml.gz"))) >= 1
            )
            for name, days in (("old", 31.0), ("long", 1.0)):
                if (home / "ledger" / f"{name}.jsonl").exists():
                    make_older(home / "ledger" / f"{name}.jsonl", days)
            rotate(store, SMALL)
        assert [p.name for p in home.glob("contracts/**/*") if p.is_file()] == ["1.yml.gz"], step
        assert not (home / "ledger" / "old.jsonl").exists(), step
        shutil.rmtree(home)
        if code == 0:
            break
    assert killed == step - 1 > 20
