"""`verdikt check` without a manifest."""

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
    """Return a function that runs `verdikt check` in a project of its own."""
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
    ("words", "status", "text"),
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
def test_call_as_words_gives_verdict_and_exit_status(run: Run, words: list[str], status: int, text: str) -> None:
    """Allow ends with 0, deny with 1, ask with 2; the reason is printed."""
    result = run(*words)

    assert result.exit_code == status
    assert text in result.stdout
    assert "\x1b[" not in result.stdout


@pytest.mark.parametrize(
    "payload",
    [
        '{"tool": "Bash", "arguments": {"command": "rm -rf /usr/share/other"}}',
        '{"tool_name": "Bash", "tool_input": {"command": "rm -rf /usr/share/other"}, "hook_event_name": "y"}',
        '{"tool": "Bash", "input": {"command": "rm -rf /usr/share/other"}}',
    ],
)
def test_call_on_stdin_accepts_keys_of_hosts(run: Run, payload: str) -> None:
    """A payload may use our keys or a host's own."""
    assert run(stdin=payload).exit_code == 1


def test_json_prints_the_canonical_receipt(run: Run) -> None:
    """The output is the canonical receipt and a newline, the same bytes each time."""
    first, second = run("--json", "ls"), run("--json", "ls")

    receipt = json.loads(first.stdout)
    assert first.stdout_bytes == encode_canonical(receipt) + b"\n"
    assert first.stdout_bytes == second.stdout_bytes
    assert receipt["verdict"]["kind"] == "pass"


def test_check_writes_no_file(run: Run, tmp_path: Path) -> None:
    """A check leaves no file behind."""
    before = sorted(tmp_path.rglob("*"))
    run("rm -rf /usr/share/other")

    assert sorted(tmp_path.rglob("*")) == before


def test_policy_is_selected_by_project_option_or_profile(run: Run, tmp_path: Path) -> None:
    """The project's file decides, unless a file or a profile is named; both together are refused."""
    rule = "rules: [{name: no_ls, command: ls, verdict: block, reason: no listing, fix: look away}]"
    assert run("ls").exit_code == 0
    Path("governance.yaml").write_text(rule)
    assert run("ls").exit_code == 1
    assert run("--profile", "standard", "ls").exit_code == 0
    (tmp_path / "p.yaml").write_text(rule.replace("block", "ask"))
    assert run("--policy", str(tmp_path / "p.yaml"), "ls").exit_code == 2
    assert run("--policy", str(tmp_path / "p.yaml"), "--profile", "standard", "ls").exit_code == 64


def test_invalid_policy_denies_with_status_65(run: Run) -> None:
    """An invalid policy ends with 65 and names every error."""
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
def test_invalid_payload_denies_with_status_64(run: Run, words: list[str], stdin: str | bytes) -> None:
    """An invalid payload is denied with an error as canonical JSON."""
    result = run(*words, stdin=stdin)

    assert result.exit_code == 64
    assert json.loads(result.stdout)["error"] == "HookError"


def test_secret_in_command_is_not_printed(run: Run) -> None:
    """Secrets appear neither in the text nor in the receipt."""
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
def test_batch_answers_equal_single_checks(run: Run, posture: str) -> None:
    """A batch gives the verdict, guard, reason and fix of single checks, in order."""
    lines = [
        json.dumps({"id": n, "tool": tool, "input": payload, "cwd": os.getcwd()})
        for n, (tool, payload) in enumerate(BATCH)
    ]
    answers = [
        json.loads(line) for line in run("--batch", "--posture", posture, stdin="\n".join(lines)).stdout.splitlines()
    ]

    for line, answer in zip(lines, answers, strict=True):
        receipt = json.loads(run("--profile", "standard", "--posture", posture, "--json", stdin=line).stdout)
        verdict = receipt["verdict"]
        assert {key: answer[key] for key in ("verdict", "guard", "reason", "fix")} == {
            "verdict": verdict["kind"], "guard": verdict["guard"], "reason": verdict["reason"], "fix": verdict["fix"]
        }  # fmt: skip


def test_batch_with_invalid_line_answers_the_others(run: Run) -> None:
    """An invalid line gets an `error`, the others are answered, and no secret is printed."""
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


def test_batch_reads_only_the_policy_that_is_named(run: Run) -> None:
    """A batch compares machines, so what lies in its directory is nothing to it; a named policy must be sound."""
    line = json.dumps({"id": 1, "tool": "Bash", "input": {"command": "ls"}, "cwd": os.getcwd()})
    Path("governance.yaml").write_text("profile: nonsense\n", encoding="utf-8")
    alone, batch = run("ls"), run("--batch", stdin=line)
    named = run("--batch", "--policy", "governance.yaml", stdin=line)

    assert (alone.exit_code, batch.exit_code, named.exit_code) == (65, 0, 65)
    assert json.loads(batch.stdout)["verdict"] == "pass"
    assert "unless --profile or --policy" in " ".join(run("--help").stdout.split())
    assert all("`profile`: expected one of" in json.loads(denial.stdout)["message"] for denial in (alone, named))


@pytest.mark.parametrize(
    "part", ["redact_action", "find_project_root", "list_guarded_paths", "Facts", "RealWorld", "decide"]
)
def test_internal_error_blocks(run: Run, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any failure while deciding is a block; a batch goes on with the next line."""

    def fail(*payload: object, **more: object) -> None:
        raise RuntimeError("x")

    monkeypatch.setattr(f"verdikt.cli.batch.{part}", fail)
    line = {"id": 1, "tool": "Bash", "input": {"command": "ls"}, "cwd": os.getcwd()}
    alone, batch = run("ls"), run("--batch", stdin=2 * (json.dumps(line) + "\n"))

    assert alone.exit_code == 1
    assert "RuntimeError" in alone.stdout
    assert [json.loads(answer)["verdict"] for answer in batch.stdout.splitlines()] == ["block", "block"]
