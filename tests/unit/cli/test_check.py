"""`verdikt check` without a manifest: the policy in force, over the world as it is, with nothing recorded."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from verdikt.cli import root
from verdikt.model.canonical_json import encode_canonical

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in a project of its own."""
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("VERDIKT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))

    def call(*words: str, stdin: str | bytes = b"") -> Result:
        return CliRunner().invoke(root, ["check", *words], input=stdin, catch_exceptions=False)

    return call


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["ls"], 0, "pass"),
        (["--tool", "Bash", "rm -rf /usr/share/other"], 1, "block"),
        (["--tool", "Weird"], 2, "ask"),
        (["--tool", "Weird", "--posture", "autonomous"], 1, "none is there to answer"),
        (["--tool", "Write", "a.txt", "--posture", "locked"], 1, "the session is locked"),
        (
            ["--tool", "Write", '{"file_path": "a", "content": "b"}', "--posture", "dry_run"],
            1,
            "live it would have run",
        ),
        (["--tool", "Read", "a.txt"], 0, "pass"),
    ],
)
def test_words_are_judged_and_the_status_tells(run: Run, words: list[str], status: int, said: str) -> None:
    """0 allow, 1 deny, 2 ask; the reason and the fix for people."""
    result = run(*words)

    assert result.exit_code == status
    assert said in result.stdout
    assert "\x1b[" not in result.stdout


@pytest.mark.parametrize(
    "payload",
    [
        '{"tool": "Bash", "arguments": {"command": "rm -rf /usr/share/other"}}',
        '{"tool_name": "Bash", "tool_input": {"command": "rm -rf /usr/share/other"}, "session_id": "x", "hook_event_name": "y"}',
        '{"tool": "Bash", "input": {"command": "rm -rf /usr/share/other"}}',
    ],
)
def test_a_call_on_stdin_may_be_in_a_hosts_words(run: Run, payload: str) -> None:
    """Whoever pipes a payload gets an answer about it."""
    assert run(stdin=payload).exit_code == 1


def test_json_is_the_canonical_receipt_and_a_newline(run: Run) -> None:
    """The same bytes each time, whatever the hour."""
    first, second = run("--json", "ls"), run("--json", "ls")

    receipt = json.loads(first.stdout)
    assert first.stdout_bytes == encode_canonical(receipt) + b"\n"
    assert first.stdout_bytes == second.stdout_bytes
    assert receipt["verdict"]["kind"] == "pass"


def test_nothing_is_recorded(run: Run, tmp_path: Path) -> None:
    """Asking leaves no trace."""
    before = sorted(tmp_path.rglob("*"))
    run("rm -rf /usr/share/other")

    assert sorted(tmp_path.rglob("*")) == before


def test_the_policy_in_force_here_decides(run: Run, tmp_path: Path) -> None:
    """A project's file, a named file or a profile."""
    rule = "rules: [{name: no_ls, command: ls, verdict: block, reason: no listing, fix: look away}]"
    assert run("ls").exit_code == 0
    Path("governance.yaml").write_text(rule)
    assert run("ls").exit_code == 1
    assert run("--profile", "standard", "ls").exit_code == 0
    (tmp_path / "p.yaml").write_text(rule.replace("block", "ask"))
    assert run("--policy", str(tmp_path / "p.yaml"), "ls").exit_code == 2
    assert run("--policy", str(tmp_path / "p.yaml"), "--profile", "standard", "ls").exit_code == 64


def test_a_policy_that_cannot_be_read_denies_with_its_faults(run: Run) -> None:
    """Exit 65, every fault named; the policy before it is not silently kept."""
    Path("governance.yaml").write_text("rules: 7\nposture: asleep\n")

    result = run("ls")

    assert result.exit_code == 65
    assert json.loads(result.stdout)["error"] == "PolicyError"
    assert "governance.yaml:1:8" in json.loads(result.stdout)["message"]
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        ([], "{"),
        ([], ""),
        ([], "[]"),
        ([], '{"tool": 1}'),
        ([], '{"tool_name": "Bash", "tool_input": "ls"}'),
        ([], b"\xff"),
        (["--tool", "Weird", "some words"], ""),
        (["--tool", "Weird", "{broken"], ""),
    ],
)
def test_a_payload_that_is_no_tool_call_is_64(run: Run, words: list[str], stdin: str | bytes) -> None:
    """Denied, in canonical JSON and one line."""
    result = run(*words, stdin=stdin)

    assert result.exit_code == 64
    assert json.loads(result.stdout)["error"] == "HookError"


def test_secrets_are_not_repeated(run: Run) -> None:
    """Neither for people nor in the receipt."""
    for words in (["PASSWORD=hunter2 rm -rf /usr/share/other"], ["--json", "PASSWORD=hunter2 rm -rf /usr/share/other"]):
        assert "hunter2" not in run(*words).output


BATCH = (
    ("Bash", {"command": "ls -la"}),
    ("Bash", {"command": "rm -rf ~/Documents"}),
    ("Bash", {"command": "git push --force origin main"}),
    ("Bash", {"command": 'rm -rf "$BUILD_DIR"'}),
    ("Bash", {"command": "echo password=hunter2hunter2 > .verdikt/x"}),
    ("Bash", {"command": "touch $HOME/../VERDIKT_HOME/canary"}),
    ("Write", {"file_path": "governance.yaml", "content": ""}),
    ("Write", {"file_path": 7}),
    ("Weird", {"deep": [[[]]]}),
    ("Bash", {"command": "a\0b"}),
)


@pytest.mark.parametrize("posture", ["interactive", "autonomous", "locked"])
def test_a_batch_says_what_each_check_says(run: Run, posture: str) -> None:
    """Verdict, guard, reason and fix, in order: both ask the same core."""
    lines = [
        json.dumps({"id": n, "tool": tool, "input": given, "cwd": os.getcwd()}) for n, (tool, given) in enumerate(BATCH)
    ]
    answered = [
        json.loads(line) for line in run("--batch", "--posture", posture, stdin="\n".join(lines)).stdout.splitlines()
    ]

    for line, answer in zip(lines, answered, strict=True):
        receipt = json.loads(run("--profile", "standard", "--posture", posture, "--json", stdin=line).stdout)
        verdict = receipt["verdict"]
        assert {key: answer[key] for key in ("verdict", "guard", "reason", "fix")} == {
            "verdict": verdict["kind"], "guard": verdict["guard"], "reason": verdict["reason"], "fix": verdict["fix"]
        }  # fmt: skip


def test_a_batch_tells_no_secret_and_goes_on_after_a_bad_line(run: Run) -> None:
    """A line that is no call gets a line with `error`; a policy that cannot be loaded gets status 65."""
    token = "ghp_" + "a1B2" * 9
    lines = [
        b"{",
        b"[]",
        json.dumps({"id": "x", "tool": "Bash", "input": {"command": f"rm -rf /{token}"}}).encode(),
        b"\xff",
    ]
    result = run("--batch", stdin=b"\n".join(lines))
    answers = [json.loads(line) for line in result.stdout.splitlines()]

    assert result.exit_code == 0
    assert ["error" in answer for answer in answers] == [True, True, False, True]
    assert answers[0]["error"].startswith("expected a JSON object with `tool` and `input`: ")
    assert (answers[2]["id"], answers[2]["verdict"]) == ("x", "ask")
    assert token not in result.stdout
    assert run("--batch", "--policy", "nowhere.yaml").exit_code == 65


@pytest.mark.parametrize(
    "part", ["redact_action", "find_project_root", "list_guarded_paths", "Facts", "RealWorld", "decide"]
)
def test_whatever_fails_on_the_way_is_a_block(run: Run, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one call and in a batch, which goes on with the next line."""

    def fail(*given: object, **more: object) -> None:
        raise RuntimeError("x")

    monkeypatch.setattr(f"verdikt.cli.batch.{part}", fail)
    line = {"id": 1, "tool": "Bash", "input": {"command": "ls"}, "cwd": os.getcwd()}
    alone, batch = run("ls"), run("--batch", stdin=2 * (json.dumps(line) + "\n"))

    assert alone.exit_code == 1
    assert "RuntimeError" in alone.stdout
    assert [json.loads(answer)["verdict"] for answer in batch.stdout.splitlines()] == ["block", "block"]
