"""The engine as users import it, with facts and effects from this machine."""

from pathlib import Path

import pytest

from verdikt import Action, ActionKind, All, PolicyEngine
from verdikt.guards import BashSafetyGuard, FileBoundaryGuard


def bash(command: str, cwd: Path) -> Action:
    """Return a shell command in a project."""
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
def test_command_is_judged_by_its_effects(tmp_path: Path, command: str, verdict: str) -> None:
    """Guards judge what a command does, however it is written."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "auth.py").write_text("")
    engine = PolicyEngine(All(BashSafetyGuard(), FileBoundaryGuard(red_line_files=["auth.py"])))
    result = engine.evaluate(bash(command, tmp_path))

    assert result.verdict.kind.word == verdict, result.reason


def test_write_through_a_symbolic_link_is_judged_by_its_destination(tmp_path: Path) -> None:
    """A path is judged where the disk puts it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "out").symlink_to("/usr")
    engine = PolicyEngine(FileBoundaryGuard(allowed_dirs=["src"]))
    write = Action(kind=ActionKind.WRITE, payload={"file_path": "src/out/x"}, cwd=str(tmp_path))

    assert "`src/out/x` → `/usr/x` may be read but not changed" in engine.evaluate(write).reason


@pytest.mark.parametrize("cwd", ["", "/no/such/place", "\0", "\ud800", "x" * 100_000])
def test_action_in_an_impossible_directory_is_judged(cwd: str) -> None:
    """A directory that cannot exist still gets a verdict without an error."""
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
def test_blocked_prefix_is_found_in_every_notation(tmp_path: Path, command: str | list[str]) -> None:
    """Quotes, variables, directories and word lists do not hide a blocked prefix."""
    action = Action(kind=ActionKind.BASH, payload={"command": command}, cwd=str(tmp_path))
    engine = PolicyEngine(BashSafetyGuard(blocked_prefixes=["sudo"], defaults=False))

    assert engine.evaluate(action).reason == "Command starts with blocked prefix: sudo"


@pytest.mark.parametrize("command", [["rm", "-rf", "/"], ["bash", "-lc", "rm -rf /"]])
def test_command_given_as_words_is_judged_like_text(command: list[str]) -> None:
    """Engine and guard judge a list of words like the text it stands for."""
    action = Action(kind=ActionKind.BASH, payload={"command": command})

    assert not PolicyEngine(BashSafetyGuard()).evaluate(action).passed
    assert not BashSafetyGuard().check(action).passed


@pytest.mark.parametrize("kind", list(ActionKind))
def test_payload_nested_a_thousand_levels_is_judged(kind: ActionKind) -> None:
    """A payload that is nested too deeply to print gets a verdict without an error, in every field that is read."""
    deep: object = "rm -rf /"
    for _ in range(1000):
        deep = [deep]
    payload = dict.fromkeys(("command", "file_path", "content", "edits", "code", "paths", "url", "prompt"), deep)
    result = PolicyEngine(All(BashSafetyGuard(), FileBoundaryGuard())).evaluate(Action(kind=kind, payload=payload))

    assert not result.verdict.error, result.reason
