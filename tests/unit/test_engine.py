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
