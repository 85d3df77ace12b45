"""Declared effects of a host's own tools, receipts that name their manifest, and postures that follow the risk."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cleanup import close_after_test
from verdikt import Action, ActionKind
from verdikt.cli import root
from verdikt.effects.manifest import parse_manifest
from verdikt.errors import PolicyError
from verdikt.govern import Governance
from verdikt.graph.posture_moves import PostureMove, find_posture_move
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.entry import EntryKind
from verdikt.model.posture import Posture
from verdikt.policy import parse_policy

MANIFEST = "manifest: {Bash: {effects: [destructive]}, Read: {effects: [network]}}\n"
CALLS = {
    "Bash": Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "ls"}),
    "Read": Action(kind=ActionKind.READ, tool="Read", payload={"file_path": "a.py"}),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home directory of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def govern(home: Path, text: str) -> Governance:
    """Return governance by a policy file with this text."""
    (home / "policy.yaml").write_text(text)
    governance = Governance.load(home / "policy.yaml")
    close_after_test(governance.store)
    return governance


@pytest.mark.parametrize(("tool", "effect"), [("Bash", "destructive"), ("Read", "network")])
def test_declared_effects_of_native_tools_count(home: Path, tool: str, effect: str) -> None:
    """In a posture that allows only reads, a declaration stops what the call alone would not."""
    governance = govern(home, "profile: none\nguards: [audit]\nposture: locked\n")
    assert governance.before(CALLS[tool]).passed
    governance = govern(home, "profile: none\nguards: [audit]\nposture: locked\n" + MANIFEST)
    decision = governance.before(CALLS[tool])
    assert not decision.passed
    assert decision.dominant == effect


def test_declaration_adds_and_never_lowers(home: Path) -> None:
    """A tool that is declared harmless keeps the effects of its calls."""
    governance = govern(home, "profile: none\nguards: [audit]\nmanifest: {Bash: {effects: [read]}}\n")
    deletion = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "rm -rf ~/x"})
    assert "destructive" in governance.before(deletion).effects.classes
    assert "fs.delete.tree" in {effect.what for effect in governance.before(deletion).effects}


def test_short_receipt_carries_the_digest_of_its_manifest(home: Path) -> None:
    """Bound, it has a ninth field; unbound, its bytes are those of the eight fields."""
    text = '{"tools": {"read_file": {"name": "read_file", "effects": ["read"]}}}'
    (home / "tools.json").write_text(text)
    words = ["check", "--manifest", "tools.json", "--tool", "read_file"]
    plain = json.loads(CliRunner().invoke(root, words).output)
    bound = json.loads(CliRunner().invoke(root, [*words, "--bind"]).output)
    assert len(plain) == 8
    assert bound == {**plain, "manifest_sha256": sha256_hex(parse_manifest(text).bytes)}


def test_risk_moves_the_session_to_a_stricter_posture(home: Path) -> None:
    """The move is recorded, holds from the next action on, and is made once."""
    risky = "profile: none\nguards: [{use: 'tests.unit.test_declared_tools:Risky'}]\n"
    governance = govern(home, risky + "raise_posture: {to: locked, risk: 0.5}\n")
    write = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "touch a"}, session_id="s")
    assert governance.before(write).passed
    assert not governance.before(write).passed
    governance.before(write)
    moves = [entry.body for entry in governance.store.read_entries("s") if entry.kind is EntryKind.POSTURE]
    assert [(move["before"], move["after"], move["by"]) for move in moves] == [("interactive", "locked", "policy")]


class Risky:
    """A guard that finds every action risky."""

    name = "risky"

    def check(self, action: Action, ctx: object) -> object:
        """Raise the risk and pass."""
        from verdikt import Verdict

        ctx.add_risk(0.6)  # type: ignore[attr-defined]
        return Verdict.pass_(guard=self.name)


@pytest.mark.parametrize(
    ("posture", "risk", "after"),
    [
        ("interactive", 0.4, None),
        ("interactive", 0.5, "autonomous"),
        ("interactive", 0.9, "locked"),
        ("autonomous", 0.6, None),
        ("locked", 1.0, None),
    ],
)
def test_posture_only_becomes_stricter(posture: str, risk: float, after: str | None) -> None:
    """Of several moves that are due, the strictest is made."""
    moves = (PostureMove(to=Posture.AUTONOMOUS, risk=0.5), PostureMove(to=Posture.LOCKED, risk=0.9))
    move = find_posture_move(moves, Posture(posture), risk)
    assert (move.to.value if move else None) == after


@pytest.mark.parametrize(
    "text", ["{to: interactive, risk: 0.5}", "{to: locked}", "{to: locked, risk: 2}", "locked", "[]"]
)
def test_move_that_makes_no_sense_is_refused(text: str) -> None:
    """A policy with such a move cannot be loaded."""
    with pytest.raises(PolicyError, match="expected"):
        parse_policy(f"profile: none\nraise_posture: {text}\n")
