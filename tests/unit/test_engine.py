"""The engine as users import it: it finds out by itself what actions would do."""

from pathlib import Path

import pytest

from verdikt import Action, ActionKind, All, PolicyEngine
from verdikt.guards import BashSafetyGuard, FileBoundaryGuard


def bash(command: str, cwd: Path) -> Action:
    """A shell command in a project."""
    return Action(kind=ActionKind.BASH, payload={"command": command}, cwd=str(cwd))


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("ls -la", "pass"),
        ("rm -rf /", "block"),
        ("rm -r -f /", "block"),
        ("rm -fr '/'", "block"),
        ("cd / && rm -rf *", "block"),
        ("bash -c 'rm -rf /'", "block"),
        ("find / -delete", "block"),
        ("echo 'rm -rf /'", "pass"),
        ("git commit -m 'never run rm -rf / again'", "pass"),
        ("grep -rn 'DROP TABLE' src", "pass"),
        ("rm -rf /tmp/scratch", "pass"),
        ('rm -rf "$TARGET"', "ask"),
        ("cat ~/.ssh/id_rsa", "block"),
        ("echo x > /etc/hosts", "block"),
        ("echo x > src/a.py", "pass"),
        ("echo x > auth.py", "block"),
        ("ln -sf x auth.py", "block"),
        ("sed -i s/a/b/ ./src/../auth.py", "block"),
        ("cat auth.py", "pass"),
        ("echo profile: none > governance.yaml", "block"),
    ],
)
def test_guards_judge_what_a_command_does(tmp_path: Path, command: str, verdict: str) -> None:
    """Not how it is written."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "auth.py").write_text("")
    engine = PolicyEngine(All(BashSafetyGuard(), FileBoundaryGuard(red_line_files=["auth.py"])))
    result = engine.evaluate(bash(command, tmp_path))

    assert result.verdict.kind.word == verdict, result.reason


def test_a_link_is_followed(tmp_path: Path) -> None:
    """As the disk has it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "out").symlink_to("/usr")
    engine = PolicyEngine(FileBoundaryGuard(allowed_dirs=["src"]))
    write = Action(kind=ActionKind.WRITE, payload={"file_path": "src/out/x"}, cwd=str(tmp_path))

    assert "`src/out/x` → `/usr/x` may be read but not changed" in engine.evaluate(write).reason


@pytest.mark.parametrize("cwd", ["", "/no/such/place", "\0", "\ud800", "x" * 100_000])
def test_any_directory_gets_a_verdict(cwd: str) -> None:
    """Also one that cannot be."""
    result = PolicyEngine(BashSafetyGuard()).evaluate(
        Action(kind=ActionKind.BASH, payload={"command": "rm -rf /"}, cwd=cwd)
    )

    assert result.verdict.kind.word == "block"
    assert not result.verdict.error, result.reason


@pytest.mark.parametrize(
    "command",
    [
        "sudo ls",
        "s'ud'o ls",
        "/usr/bin/sudo ls",
        "x=sudo; $x ls",
        "true && sudo ls",
        ["sudo", "ls"],
        ["bash", "-lc", "sudo ls"],
    ],
)
def test_a_blocked_prefix_is_found_however_it_is_written(tmp_path: Path, command: str | list[str]) -> None:
    """Quotes, variables and directories are no way around it; nor is a host that gives words instead of a text."""
    action = Action(kind=ActionKind.BASH, payload={"command": command}, cwd=str(tmp_path))
    engine = PolicyEngine(BashSafetyGuard(blocked_prefixes=["sudo"], defaults=False))

    assert engine.evaluate(action).reason == "Command starts with blocked prefix: sudo"


@pytest.mark.parametrize("command", [["rm", "-rf", "/"], ["bash", "-lc", "rm -rf /"]])
def test_a_command_of_words_is_judged_like_a_text(command: list[str]) -> None:
    """By engine and by guard alone."""
    action = Action(kind=ActionKind.BASH, payload={"command": command})

    assert not PolicyEngine(BashSafetyGuard()).evaluate(action).passed
    assert not BashSafetyGuard().check(action).passed


@pytest.mark.parametrize("kind", list(ActionKind))
def test_a_payload_too_deep_to_print_gets_a_verdict(kind: ActionKind) -> None:
    """A thousand lists in each other, in every field that somebody reads."""
    deep: object = "rm -rf /"
    for _ in range(1000):
        deep = [deep]
    payload = dict.fromkeys(("command", "file_path", "content", "edits", "code", "paths", "url", "prompt"), deep)
    result = PolicyEngine(All(BashSafetyGuard(), FileBoundaryGuard())).evaluate(Action(kind=kind, payload=payload))

    assert not result.verdict.error, result.reason
