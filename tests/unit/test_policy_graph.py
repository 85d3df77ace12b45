"""The policy graph: loaded from a file, drawn, traced, with missing outcomes and with records that last."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tests.cleanup import close_after_test
from verdikt import Action, ActionKind, Outcome, PolicyEngine
from verdikt.cli import root as verdikt
from verdikt.govern import Governance
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Turn
from verdikt.report.graph_view import render_mermaid, render_svg

POLICY = """\
profile: none
bash_safety: {blocked_patterns: ['rm\\s+-rf\\s+/']}
guards:
  - audit
  - when:
      if: action.task_type == 'deploy'
      then: {escalate: {primary: sandbox, fallback: {budget: {max_tasks: 3}}}}
      otherwise: {threshold: {n: 1, of: [sandbox, intent]}}
"""

GRAPH = """\
all policy
├─ guard bash_safety
├─ guard audit
├─ when
│  ├─ if action.task_type == 'deploy': escalate
│  │  ├─ primary: guard sandbox
│  │  └─ fallback on block: guard budget
│  └─ otherwise: threshold  (1 of 2)
│     ├─ guard sandbox
│     └─ guard intent
"""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a policy file in a project of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "governance.yaml"
    file.write_text(POLICY)
    return file


def run(*words: str) -> str:
    """Return what a command prints."""
    return CliRunner().invoke(verdikt, list(words)).output


def bash(command: str, **more: str) -> Action:
    """Return a shell call."""
    return Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, **more)  # type: ignore[arg-type]


def test_pattern_of_the_policy_applies_as_written_although_it_is_built_in(policy: Path) -> None:
    """The built-in pattern gives way to effects; the same pattern written down does not."""
    engine = PolicyEngine.load(policy)
    result = engine.evaluate(bash("rm -rf /tmp/x"))
    assert not result.passed
    assert result.reason == r"Command matches blocked pattern: rm\s+-rf\s+/"
    assert PolicyEngine.load(str(policy)).evaluate(bash("ls")).passed


def test_graph_is_shown_as_text_mermaid_and_svg(policy: Path) -> None:
    """Each form has every node; the picture is valid XML."""
    assert run("policy", "show", "--policy", str(policy), "--graph", "text").startswith(GRAPH)
    assert run("policy", "show", "--policy", str(policy), "--graph").startswith(GRAPH)
    mermaid = run("policy", "show", "--policy", str(policy), "--graph", "mermaid")
    assert mermaid.startswith("flowchart TD\n")
    assert "-->|otherwise|" in mermaid
    picture = ElementTree.fromstring(run("policy", "show", "--policy", str(policy), "--graph", "svg"))
    texts = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "fallback on block: guard budget" in texts


def test_drawn_names_are_escaped() -> None:
    """A name is the policy author's text, and must not become markup."""
    node = {"name": '<b>"#|', "type": "guard", "edge": "", "note": "", "children": []}
    assert render_mermaid(node).splitlines()[1] == '  n0["guard #lt;b#gt;#quot;#35;#124;"]'
    assert "<b>" not in render_svg(node)


def test_path_is_in_check_explain_and_ledger_show(policy: Path) -> None:
    """Each says which nodes were evaluated, and which one decided."""
    traced = run("check", "--policy", str(policy), "--trace", "rm -rf /tmp/x")
    assert "  path   block bash_safety  Command matches" in traced
    assert "  path     pass  threshold" in traced
    assert "path policy › bash_safety" in run("explain", "--policy", str(policy), "rm -rf /tmp/x")
    with Governance.load(policy) as governance:
        governance.before(bash("rm -rf /tmp/x", session_id="s"))
    assert "path   block bash_safety" in run("ledger", "show", "s", "1")


def test_call_without_an_outcome_is_a_gap_at_stop(policy: Path) -> None:
    """An outcome that the host never reports shows once; blocked calls and reported ones do not."""
    governance = Governance.load(policy)
    close_after_test(governance.store)
    reported, lost = (bash(text, session_id="s", call_id=text) for text in ("ls", "pwd"))
    for action in (reported, lost, bash("rm -rf /", session_id="s", call_id="no")):
        governance.before(action)
    governance.after(reported, Outcome(success=True))
    for _ in range(2):
        governance.stop(Turn(session_id="s", message="hello"))
    gaps = [entry.body for entry in governance.store.read_entries("s") if entry.kind is EntryKind.GAP]
    assert gaps == [{"moment": "stop", "unreported": [{"tool": "Bash", "call_id": "pwd"}]}]


def test_engine_knows_what_never_came_to_post_action(policy: Path) -> None:
    """An evaluation without an outcome can be found in its session."""
    engine = PolicyEngine.load(policy)
    first, second = (bash(text, session_id="s", call_id=text) for text in ("ls", "rm -rf /"))
    engine.evaluate(first)
    engine.evaluate(second)
    assert [entry["tool"] for entry in engine.find_unreported("s")] == ["Bash"]
    engine.post_action(first, Outcome(success=True))
    assert engine.find_unreported("s") == []


def test_audit_records_last_under_hooks(policy: Path) -> None:
    """Each hook is a process of its own: the records of the guard are in the log."""
    for _ in range(2):
        with Governance.load(policy) as governance:
            governance.before(bash("ls", session_id="s"))
    with Governance.load(policy) as governance:
        records = [entry.body["audit"][0] for entry in governance.store.read_entries("s") if "audit" in entry.body]
    assert [record["number"] for record in records] == [1, 2]
    assert json.dumps(records).count('"tool": "Bash"') == 2
