"""`verdikt replay` over a log that governance wrote."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from tests.unit.test_decide import RULED, action
from verdikt.cli import root
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.entry import decode_entry
from verdikt.policy import parse_policy

Run = Callable[..., Result]
COMMANDS = ["git push --force", "make all", "ls", "PASSWORD=hunter2 rm -rf /usr/x"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a data directory with two sessions, the second a day later under another policy."""
    clock = FakeClock()
    store = close_after_test(FileStore(tmp_path / "home", clock, load_projections(), durable=False))
    for session, policy in (("s1", RULED), ("s2", parse_policy("profile: standard"))):
        governance = Governance(policy, store, world_factory=lambda cwd: FakeWorld(), clock=clock)
        for command in COMMANDS:
            governance.before(replace(action("Bash", command=command), session_id=session))
        governance.before(replace(action("deploy"), session_id=session))
        clock.sleep(86_400)
    store.close()
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `verdikt replay` on that directory, a little later."""
    monkeypatch.setenv("VERDIKT_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("verdikt.observe.clock.SystemClock.now", lambda self: FakeClock().now() + 86_400 + 3_600)

    def call(*words: str) -> Result:
        return CliRunner().invoke(root, ["replay", *words], catch_exceptions=False)

    return call


def test_replay_reproduces_every_receipt(run: Run) -> None:
    """All decisions replay to the same bytes with their stored policies."""
    result = run()

    assert result.exit_code == 0
    assert result.stdout == "10 decisions replayed: all the same, byte for byte\n"


@pytest.mark.parametrize(
    ("words", "total"),
    [
        (["--session", "s1"], 5),
        (["--since", "2h"], 5),
        (["--since", "3d"], 10),
        (["2", "--session", "s1"], 1),
        (["1"], 1),
    ],
)
def test_replay_options_select_decisions(run: Run, words: list[str], total: int) -> None:
    """A session, a time or an entry can be selected."""
    result = run(*words, "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"total": total, "same": total, "different": []}


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--session", "s9"], 1, "no session `s9` in "),
        (["99", "--session", "s1"], 1, "no decision to replay"),
        (["--since", "soon"], 64, "expected a time such as"),
        (["--policy", "absent.yaml"], 65, "absent.yaml"),
    ],
)
def test_replay_without_decisions_or_with_bad_options_fails(
    run: Run, words: list[str], status: int, message: str
) -> None:
    """A selection without decisions is an error."""
    result = run(*words)

    assert result.exit_code == status
    assert message in result.output


def test_replay_of_changed_receipt_shows_the_fields(run: Run, home: Path) -> None:
    """A receipt that was rewritten with its hash differs from the replayed one."""
    store = close_after_test(FileStore(home, FakeClock(), load_projections(), durable=False))
    entry = decode_entry(next(iter(store.reader.read_lines("s1"))))
    body = json.loads(json.dumps(entry.body))
    body["receipt"]["verdict"]["kind"] = "pass"
    store.append("s3", "decision", body)
    store.close()

    result = run("--session", "s3")

    assert result.exit_code == 1
    assert '  verdict.kind: recorded "pass", found "block"' in result.stdout
    assert result.stdout.endswith("1 decision replayed: 1 differ\n")
    assert (
        json.loads(run("--session", "s3", "--json").stdout)["different"][0]["differences"][0]["field"] == "verdict.kind"
    )


def test_replay_without_stored_policy_fails(run: Run, home: Path) -> None:
    """It succeeds only when the policy in force is the same one."""
    for path in (home / "policies").iterdir():
        path.unlink()

    result = run("--session", "s1")

    assert result.exit_code == 1
    assert "cannot be replayed: the policy" in result.stdout
    Path("governance.yaml").write_text("profile: standard\n")
    assert run("--session", "s2").exit_code == 1  # the same words in another layer are another policy


def test_replay_with_another_policy_groups_the_changes(run: Run, tmp_path: Path) -> None:
    """Groups, counts, examples and summary are shown, without secrets."""
    (tmp_path / "new.yaml").write_text(
        "profile: none\nmanifest: {deploy: {effects: read}}\n"
        "rules: [{name: no_ls, command: ls, verdict: block, reason: no listing, fix: look away}]\n"
    )

    result = run("--policy", "new.yaml", "--session", "s1")

    assert result.exit_code == 0
    assert "newly blocked: 1\n  s1 #3" in result.stdout
    assert "    was pass by rules, now block by no_ls: no listing" in result.stdout
    assert "newly allowed: 2" in result.stdout
    assert result.stdout.endswith(
        "5 past decisions: this policy would have removed 1 prompt, blocked 1 thing that ran"
        " and let 1 thing through that was blocked\n"
    )
    report = json.loads(run("--policy", "new.yaml", "--json").stdout)
    assert report["total"] == 10
    assert report["blocked"]["count"] == len(report["blocked"]["examples"]) == 2
    assert "hunter2" not in json.dumps(report)


def test_replay_of_broken_chain_fails(run: Run, home: Path) -> None:
    """A log that does not verify is not replayed."""
    path = home / "ledger" / "s1.jsonl"
    path.write_bytes(path.read_bytes().replace(b"git push --force", b"git push --farce"))

    result = run("--session", "s1")

    assert result.exit_code == 1
    assert "run `verdikt ledger verify`" in result.output
