"""Seed 000: findings, their verdict, and what stops a commit. The ids of its checklist stand above the tests."""

import dataclasses
import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cleanup import close_after_test
from verdikt.cli.findings import command
from verdikt.council.runs import Runs, runs_directory
from verdikt.errors import FindingError, LedgerError
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind
from verdikt.model.entry import EntryKind
from verdikt.model.finding import (
    CouncilVerdict,
    Evidence,
    Finding,
    Level,
    build_finding,
    finding_id,
    parse_evidence,
)
from verdikt.model.plan import Plan, plan_from_record, plan_hash
from verdikt.model.verdict import VerdictKind
from verdikt.policy import parse_policy
from verdikt.report.findings import explain, retro

INJECTION = "SQL injection in users.py"
RECORD = (
    "record --plan-hash abc123 --level HIGH --agent security-reviewer --title".split(),
    [INJECTION],
    ["--evidence", "src/users.py:42:unescaped", "input"],
    ["--rationale", "req.form values flow into raw SQL"],
)

EXPLAINED = """\
[verdict] plan=abc123  level=HIGH  2 finding(s): 1 high, 1 low
  - [HIGH] SQL injection in users.py  (agent: security-reviewer)
      why: req.form values flow into raw SQL
      evidence: src/users.py:42 — unescaped input
  - [LOW] style: trailing whitespace  (agent: code-reviewer)
      evidence: src/users.py:57
"""

RETRO = """\
[retro] 3 recent verdict(s):
  - plan-crit   CRITICAL  BLOCK  1 finding(s): 1 critical
  - plan-hi     HIGH      BLOCK  2 finding(s): 1 high, 1 low
  - plan-ok     LOW       ok     1 finding(s): 1 low
"""


class Ticking:
    """A clock that advances by a second with each call."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        """Return the next second."""
        self.at += 1
        return self.at


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Return an empty runs directory."""
    return Runs(tmp_path / "runs", Ticking())


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """`verdikt findings`, on the same directory as `runs`."""
    monkeypatch.setenv("VERDIKT_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "ada")

    def run(*words: str) -> Result:
        return CliRunner().invoke(command, list(words))

    return run


def make_finding(level: str, title: str = "t", agent: str = "a", **more: object) -> Finding:
    """Build a finding."""
    return build_finding(level=level, title=title, agent=agent, **more)  # type: ignore[arg-type]


# S0-01
def test_evidence_is_frozen_and_has_defaults() -> None:
    """A place is a file, perhaps with a line and a note."""
    assert Evidence("x.py") == Evidence(file="x.py", line=None, note="")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Evidence("x.py").file = "y.py"  # type: ignore[misc]


# S0-02
def test_finding_is_frozen_and_has_defaults() -> None:
    """Id, level and title are enough."""
    finding = Finding("1", "LOW", "t")
    assert (finding.agent, finding.evidence, finding.rationale, finding.created_at) == ("", (), "", 0.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.level = "HIGH"  # type: ignore[misc]


# S0-03
def test_levels_are_ordered_by_severity() -> None:
    """`max` of two levels is the worse one."""
    assert [level.name for level in sorted(Level)] == ["LOW", "MEDIUM", "HIGH", "CRITICAL"]


# S0-04
def test_a_verdict_has_the_fields_of_the_seed(runs: Runs) -> None:
    """Plan, level, summary, findings and two moments, on disk too."""
    verdict = runs.record("abc123", make_finding("HIGH"))
    kept = json.loads(runs.verdict_path("abc123").read_bytes())
    assert list(kept) == ["plan_hash", "level", "summary", "findings", "created_at", "updated_at"]
    assert kept == verdict.record()
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.plan_hash = "x"  # type: ignore[misc]


# S0-05
def test_the_level_is_the_worst_of_what_remains(runs: Runs) -> None:
    """Clearing the worst finding leaves the next one's level."""
    runs.record("p", make_finding("MEDIUM", "m"))
    worst = make_finding("CRITICAL", "c")
    assert runs.record("p", worst).level == "CRITICAL"
    cleared = runs.clear("p", worst.id, by="ada", why="fixed")
    assert cleared is not None
    assert cleared.level == "MEDIUM"


# S0-06
def test_a_plan_says_what_should_run() -> None:
    """A plan read back is the same plan."""
    plan = Plan(toolbox="ship-it", agents=("a", "b"), files=("x.py",), contents={"x.py": "1f"}, guardrail=True)
    assert plan_from_record(json.loads(json.dumps(plan.to_record()))) == plan


# S0-07
def test_plan_and_verdict_lie_side_by_side(runs: Runs, tmp_path: Path) -> None:
    """In one directory, under one hash."""
    assert runs_directory({"HOME": "/home/ada"}) == Path("/home/ada/.claude/toolbox-runs")
    assert runs_directory({"HOME": "/home/ada", "VERDIKT_RUNS_DIR": str(tmp_path)}) == tmp_path
    assert runs.plan_path("abc123").name == "abc123.json"
    assert runs.verdict_path("abc123") == runs.plan_path("abc123").with_name("abc123.verdict.json")


# S0-08
def test_the_same_id_replaces_the_whole_record(runs: Runs) -> None:
    """No duplicates: rationale, evidence and level are the new ones."""
    runs.record("p", make_finding("MEDIUM", id="k", rationale="first", evidence=["a.py:1"]))
    verdict = runs.record("p", make_finding("CRITICAL", id="k", rationale="second", evidence=["b.py:2"]))
    (finding,) = verdict.findings
    assert (finding.level, finding.rationale, finding.evidence) == ("CRITICAL", "second", (Evidence("b.py", 2),))
    assert [event["event"] for event in runs.history("p")] == ["replaced"]


# S0-09
@pytest.mark.parametrize(
    ("level", "agent", "title", "id"),
    [
        ("HIGH", "security-reviewer", INJECTION, "79f1b2bfa09a"),
        ("MEDIUM", "security-reviewer", INJECTION, "52d40d98c1f8"),
        ("LOW", "code-reviewer", "style: trailing whitespace", "b5c6796f87f4"),
        ("HIGH", "", "t", "29f807f85420"),
    ],
)
def test_default_id_of_a_finding_is_a_digest_of_level_agent_and_title(
    level: str, agent: str, title: str, id: str
) -> None:
    """The default id has twelve hex digits; an id that is given wins."""
    assert finding_id(level, agent, title) == id
    assert make_finding(level.lower(), title, agent).id == id
    assert make_finding(level, title, agent, id="mine").id == "mine"


# S0-10, S0-11
def test_only_high_and_critical_block(runs: Runs) -> None:
    """LOW and MEDIUM are kept and never stop anything."""
    blocks = {level: runs.record(f"p-{level}", make_finding(level)).blocks for level in Level.__members__}
    assert blocks == {"LOW": False, "MEDIUM": False, "HIGH": True, "CRITICAL": True}


# S0-12
def test_findings_record_accepts_the_example_of_the_document(call) -> None:  # type: ignore[no-untyped-def]
    """The document's own example works, with its words unquoted."""
    result = call(*(word for words in RECORD for word in words))
    assert result.exit_code == 0
    (finding,) = json.loads(result.stdout)["findings"]
    assert finding["id"] == "79f1b2bfa09a"
    assert finding["evidence"] == [{"file": "src/users.py", "line": 42, "note": "unescaped input"}]


# S0-13, S0-15
def test_show_and_explain_to_the_character(call) -> None:  # type: ignore[no-untyped-def]
    """The seed's own output for the seed's own data."""
    style = ["record", "--plan-hash", "abc123", "--level", "low", "--title", "style: trailing whitespace"]
    call(*style, "--agent", "code-reviewer", "--evidence", "src/users.py:57")
    call(*(word for words in RECORD for word in words))
    assert call("explain", "--plan-hash", "abc123").stdout == EXPLAINED
    assert call("show", "--plan-hash", "abc123").stdout == EXPLAINED
    shown = json.loads(call("show", "--plan-hash", "abc123", "--json").stdout)
    assert (shown["level"], shown["summary"]) == ("HIGH", "2 finding(s): 1 high, 1 low")


# S0-14, S0-22
def test_findings_retro_prints_the_documented_table(runs: Runs, call) -> None:  # type: ignore[no-untyped-def]
    """The newest plan comes first, in columns."""
    runs.record("plan-ok", make_finding("LOW"))
    runs.record("plan-hi", make_finding("LOW", "s"))
    runs.record("plan-hi", make_finding("HIGH"))
    runs.record("plan-crit", make_finding("CRITICAL"))
    assert call("retro").stdout == RETRO
    assert call("retro", "--limit", "1").stdout.count("\n") == 2
    high = call("retro", "--min-level", "HIGH").stdout
    assert "plan-crit" in high
    assert "plan-hi" in high
    assert "plan-ok" not in high


# S0-16
def test_findings_clear_removes_a_finding_and_prints_the_remaining_verdict(call) -> None:  # type: ignore[no-untyped-def]
    """A cleared finding is gone from the verdict, which is printed."""
    call("record", "--plan-hash", "p", "--level", "HIGH", "--title", "t")
    result = call("clear", "--plan-hash", "p", "--id", "29f807f85420", "--why", "fixed")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["level"] == "LOW"


# S0-17
@pytest.mark.parametrize(
    ("spec", "evidence"),
    [
        ("src/foo.py", Evidence("src/foo.py")),
        ("src/foo.py:42", Evidence("src/foo.py", 42)),
        ("src/foo.py:42:race on counter", Evidence("src/foo.py", 42, "race on counter")),
        ("C:/Users/me/foo.py:17", Evidence("C:/Users/me/foo.py", 17)),
        ("C:\\Users\\me\\foo.py:17:x", Evidence("C:\\Users\\me\\foo.py", 17, "x")),
        ("C:/Users/me/foo.py", Evidence("C:/Users/me/foo.py")),
        ("a.py:1:2", Evidence("a.py", 1, "2")),
        ("a.py:42:note: with colon", Evidence("a.py", 42, "note: with colon")),
        ("a.py:42:see https://x.test:80/y", Evidence("a.py", 42, "see https://x.test:80/y")),
        ("a.py:42:", Evidence("a.py", 42)),
        ("a.py:0", Evidence("a.py", 0)),
        ("a.py:²", Evidence("a.py:²")),
        ("a.py:٣", Evidence("a.py:٣")),
        ("a.py:" + "9" * 5000, Evidence("a.py:" + "9" * 5000)),
        ("a.py:-1", Evidence("a.py:-1")),
        ("a:b.py:3", Evidence("a:b.py", 3)),
        ("a.py:12abc", Evidence("a.py:12abc")),
        ("two\nlines.py:3:a\nb", Evidence("two\nlines.py", 3, "a\nb")),
        ("https://x:8080", Evidence("https://x:8080")),
        (":42", Evidence("", 42)),
        ("", Evidence("")),
    ],
)
def test_evidence_spec_is_split_into_file_line_and_note(spec: str, evidence: Evidence) -> None:
    """The first number after a colon is the line; colons of drives and notes are not."""
    assert parse_evidence(spec) == evidence


# S0-18
def test_empty_evidence_is_left_out() -> None:
    """Nothing is no place."""
    assert make_finding("LOW", evidence=["", "  ", ":42", "a.py"]).evidence == (Evidence("a.py"),)


# S0-19
def test_explain_leaves_out_what_a_finding_does_not_have() -> None:
    """No rationale, no `why`; no name, no agent; a finding cannot imitate another line."""
    verdict = CouncilVerdict("p", (Finding("1", "LOW", "a\nb\x1b[2J", evidence=(Evidence("f", None, "n"),)),))
    assert explain(verdict) == (
        "[verdict] plan=p  level=LOW  1 finding(s): 1 low\n  - [LOW] a\\nb\\x1b[2J\n      evidence: f — n"
    )


# S0-20, S0-36
def test_the_worst_comes_first_then_by_title() -> None:
    """Whatever the order of recording."""
    findings = (Finding("1", "LOW", "b"), Finding("2", "HIGH", "z"), Finding("3", "HIGH", "a"))
    shown = [line.split("] ")[1] for line in explain(CouncilVerdict("p", findings)).splitlines()[1:]]
    assert shown == ["a", "z", "b"]


# S0-21, S0-34
def test_the_summary_counts_the_worst_first() -> None:
    """As the seed's document shows it."""
    levels = ("LOW", "CRITICAL", "LOW", "MEDIUM", "HIGH")
    verdict = CouncilVerdict("p", tuple(Finding(str(n), level, "t") for n, level in enumerate(levels)))
    assert verdict.summary == "5 finding(s): 1 critical, 1 high, 1 medium, 2 low"


# S0-30
@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "a.b", "a:b", "a b", "", "x" * 65, "a\n"])
def test_a_plan_hash_is_a_plain_name(runs: Runs, call, name: str) -> None:  # type: ignore[no-untyped-def]
    """It cannot lead out of the directory, and says so with status 2."""
    with pytest.raises(ValueError, match="invalid plan_hash"):
        runs.verdict_path(name)
    result = call("show", "--plan-hash", name)
    assert result.exit_code == 2
    assert "invalid plan_hash" in result.stderr


# S0-31
def test_the_hash_of_a_plan() -> None:
    """Without contents it is the seed's; contents change it."""
    assert plan_hash("ship-it", ["a", "b"], ["x.py"], "diff") == "49ff74065116a09d"
    assert plan_hash("ship-it", ["a", "b"], ["x.py"], "diff", {"x.py": "1f"}) != "49ff74065116a09d"


# S0-32
def test_a_plan_has_the_fields_of_the_seed() -> None:
    """And ours beside them."""
    fields = "toolbox agents files scope_mode budget_tokens budget_seconds guardrail created_at plan_hash source"
    assert set(fields.split()) <= set(Plan(toolbox="t", agents=(), files=()).to_record())


# S0-33
def test_verdict_without_findings_is_low_and_says_so() -> None:
    """Without findings the level is LOW, in the words of the document."""
    assert (CouncilVerdict("p").level, CouncilVerdict("p").summary, CouncilVerdict("p").blocks) == (
        "LOW",
        "No findings.",
        False,
    )


# S0-35
def test_the_plan_column_fits_the_longest() -> None:
    """Whatever the names."""
    lines = retro([CouncilVerdict("a"), CouncilVerdict("b" * 20)]).splitlines()[1:]
    assert len({line.index("LOW") for line in lines}) == 1


# S0-37
def test_record_prints_json_and_refuses_with_2(call) -> None:  # type: ignore[no-untyped-def]
    """Indented by two; bad levels and bad names are a wrong call."""
    result = call("record", "--plan-hash", "p", "--level", "high", "--title", "t")
    assert result.stdout.startswith('{\n  "plan_hash": "p",\n')
    assert call("record", "--plan-hash", "p", "--level", "SEVERE", "--title", "t").exit_code == 2
    assert call("record", "--plan-hash", "p", "--level", "HIGH", "--title", " ").exit_code == 2
    assert call("record", "--plan-hash", "p").exit_code == 2


# S0-38
def test_unknown_plan_or_finding_is_refused_with_status_1(call) -> None:  # type: ignore[no-untyped-def]
    """An unknown plan or id ends with status 1 and changes nothing."""
    for words in (["show"], ["explain"], ["clear", "--id", "x", "--why", "y"]):
        result = call(*words, "--plan-hash", "none")
        assert (result.exit_code, result.stderr) == (1, "No verdict for plan none\n")
    before = json.loads(call("record", "--plan-hash", "p", "--level", "LOW", "--title", "t").stdout)
    result = call("clear", "--plan-hash", "p", "--id", "unknown", "--why", "y")
    assert (result.exit_code, json.loads(result.stdout)) == (0, before)
    assert "has no open finding `unknown`" in result.stderr


# S0-39
def test_retro_as_json_lists_at_most_ten_plans_after_filtering(runs: Runs, call) -> None:  # type: ignore[no-untyped-def]
    """The JSON form is a list of at most ten plans, and the filter comes before the limit."""
    runs.record("high", make_finding("HIGH"))
    for number in range(11):
        runs.record(f"low-{number}", make_finding("LOW"))
    assert len(json.loads(call("retro", "--json").stdout)) == 10
    high = json.loads(call("retro", "--json", "--limit", "1", "--min-level", "high").stdout)
    assert [verdict["plan_hash"] for verdict in high] == ["high"]
    assert Runs(Path("/nonexistent/runs"), Ticking()).recent() == ([], [])


# S0-40
@pytest.mark.parametrize(
    ("words", "specs"),
    [
        (["--evidence", "a.py:1", "b.py:2"], ["a.py:1", "b.py:2"]),
        (["--evidence", "a.py:1:two", "words", "b.py:2"], ["a.py:1 — two words", "b.py:2"]),
        (["--evidence", "a.py:1:x", "--evidence", "Makefile"], ["a.py:1 — x", "Makefile"]),
        (["--evidence=a.py:1", "--evidence", "Makefile"], ["a.py:1", "Makefile"]),
    ],
)
def test_evidence_option_takes_several_words(call, words: list[str], specs: list[str]) -> None:  # type: ignore[no-untyped-def]
    """Several pieces of evidence may follow one option; a word that continues a note is part of it."""
    result = call("record", "--plan-hash", "p", "--level", "LOW", *words, "--title", "t")
    (finding,) = json.loads(result.stdout)["findings"]
    assert [str(Evidence(**place)) for place in finding["evidence"]] == specs


# S0-41
def test_recording_again_keeps_creation_time_and_place(runs: Runs) -> None:
    """A verdict keeps its creation time, a finding gets the time of its last record and keeps its place."""
    first = runs.record("p", make_finding("LOW", "one"))
    runs.record("p", make_finding("LOW", "two"))
    last = runs.record("p", make_finding("LOW", "one", rationale="more"))
    assert [finding.title for finding in last.findings] == ["one", "two"]
    assert last.created_at == first.created_at
    assert last.updated_at == last.findings[0].created_at > first.updated_at


# S0-42
def test_verdict_files_are_indented_json_without_leftovers(runs: Runs) -> None:
    """A file is indented JSON with a final newline, and no draft is left beside it."""
    runs.record("p", make_finding("LOW"))
    text = runs.verdict_path("p").read_text()
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    assert sorted(path.name for path in runs.directory.iterdir()) == ["p.verdict.json", "p.verdict.json.lock"]


# S0-43
@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff\xfe", b"3", b"{}", b'{"findings": {}}', b'{"findings": [1]}'])
def test_what_cannot_be_read_is_refused_and_not_taken_for_nothing(runs: Runs, call, data: bytes) -> None:  # type: ignore[no-untyped-def]
    """A broken verdict is neither a verdict nor the absence of one, and retro goes on without it (W0-2, W0-6)."""
    runs.record("good", make_finding("HIGH"))
    runs.verdict_path("bad").write_bytes(data)
    with pytest.raises(FindingError, match=r"`bad.verdict.json`"):
        runs.load("bad")
    with pytest.raises(FindingError):
        runs.record("bad", make_finding("LOW"))
    assert runs.verdict_path("bad").read_bytes() == data
    shown = call("retro")
    assert shown.exit_code == 0
    assert "good" in shown.stdout
    assert "  ! unreadable: bad.verdict.json\n" in shown.stdout
    assert call("show", "--plan-hash", "bad").exit_code == 2


# S0-43
def test_malformed_parts_of_a_record_never_unblock(runs: Runs) -> None:
    """Malformed evidence is dropped, and an unknown level counts as the worst, so that no edit unblocks."""
    odd = {
        "level": "harmless",
        "evidence": [1, {"file": "a", "line": "x"}, {"file": "b", "line": True}],
        "supersedes": 5,
        "created_at": 10**400,
    }
    runs.directory.mkdir()
    runs.verdict_path("p").write_text(json.dumps({"findings": [odd], "level": "LOW", "updated_at": "x", "history": 3}))
    verdict = runs.load("p")
    assert verdict is not None
    assert verdict.level == "CRITICAL"
    assert verdict.findings[0].evidence == (Evidence("a"), Evidence("b"))
    assert verdict.updated_at == 0.0


# S0-44
def test_build_finding_accepts_levels_in_any_case_and_evidence_as_text() -> None:
    """Levels are accepted in any case, evidence as text or as a value."""
    finding = build_finding(level="high", title="t", evidence=["a.py:1", Evidence("b.py")])
    assert (finding.level, finding.evidence) == ("HIGH", (Evidence("a.py", 1), Evidence("b.py")))
    with pytest.raises(ValueError, match="expected a level of LOW, MEDIUM, HIGH or CRITICAL, found `SEVERE`"):
        build_finding(level="SEVERE", title="t")


POLICY = {
    "councils": {
        "ship-it": {"guardrail": True, "reviewers": {"sec": {"agent": "look"}}},
        "auth": {"trigger": ["file-save"], "files": ["**/auth/**"], "reviewers": {"sec": {"agent": "look"}}},
        "start": {"trigger": ["session-start", "session-end"], "reviewers": {"sec": {"agent": "look"}}},
    }
}


@pytest.fixture
def council(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """`verdikt council` in a repository with three councils and one staged file."""
    from verdikt.cli import root

    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / "governance.yaml").write_text(json.dumps(POLICY))
    (project / "x.py").write_text("x")
    subprocess.run(["git", "add", "x.py"], cwd=project, check=True)
    monkeypatch.chdir(project)

    def run(*words: str) -> Result:
        return CliRunner().invoke(root, ["council", *words])

    return run


# S0-45
def test_a_trigger_gives_a_line_for_each_council(council) -> None:  # type: ignore[no-untyped-def]
    """Each council that the trigger calls gets a line with its plan's file; an unknown trigger is an error."""
    result = council("plan", "--trigger", "pre-commit", "--json")
    (line,) = result.stdout.splitlines()
    row = json.loads(line)
    assert set(row) >= {"trigger", "toolbox", "plan_file", "agents", "files", "source", "guardrail"}
    assert (row["trigger"], row["toolbox"], row["agents"], row["files"]) == ("pre-commit", "ship-it", ["sec"], ["x.py"])
    assert Path(row["plan_file"]).name == f"{row['plan_hash']}.json"
    assert row["source"] == "fresh"
    assert json.loads(council("plan", "--trigger", "pre-commit", "--json").stdout)["source"] == "cached"
    assert council("plan", "--trigger", "full-moon").exit_code == 1


# S0-46
@pytest.mark.parametrize(("path", "lines"), [("src/auth/x.py", 1), ("auth/x.py", 1), ("src/x.py", 0)])
def test_a_saved_file_calls_those_whom_it_concerns(council, path: str, lines: int) -> None:  # type: ignore[no-untyped-def]
    """`**/` also stands for no directory at all."""
    result = council("plan", "--trigger", "file-save", "--path", path, "--json")
    assert len(result.stdout.splitlines()) == lines
    assert len(council("plan", "--trigger", "session-start", "--json").stdout.splitlines()) == 1


# S0-47
def test_council_has_the_documented_budget_and_no_guardrail_by_default() -> None:
    """The default budget is the document's, and a guardrail has to be asked for."""
    start = parse_policy(json.dumps(POLICY)).section("councils").get_council("start")
    assert (start.budget_tokens, start.budget_seconds, start.guardrail, start.scope) == (150_000, 300, False, "diff")


# S0-48
def test_files_that_are_named_win(council) -> None:  # type: ignore[no-untyped-def]
    """Sorted, each once."""
    words = ["plan", "ship-it", "--json", "--files", "z.py", "--files", "x.py", "--files", "x.py"]
    row = json.loads(council(*words).stdout)
    assert row["files"] == ["x.py", "z.py"]


# S0-49
def test_dry_run_keeps_nothing_history_lists_plans_and_purge_removes_both(council, runs: Runs) -> None:  # type: ignore[no-untyped-def]
    """A dry run keeps nothing, history lists plans, purge removes plans and verdicts, unreadable ones too (W0-8)."""
    council("plan", "ship-it", "--dry-run")
    assert runs.plans() == ([], [])
    plan = json.loads(council("plan", "ship-it", "--json").stdout)["plan_hash"]
    runs.record(plan, make_finding("LOW"))
    (runs.directory / "bad.json").write_text("{")
    rows = json.loads(council("history", "--json").stdout)
    assert [row["plan_hash"] for row in rows["plans"]] == [plan]
    assert rows["unreadable"] == ["bad.json"]
    assert json.loads(council("history", "--council", "no-such-council", "--json").stdout)["plans"] == []
    assert json.loads(council("purge", "--json").stdout) == {"purged": []}
    assert json.loads(council("purge", "--older-than-days", "-1", "--json").stdout)["purged"] == sorted([plan, "bad"])
    assert runs.plans() == ([], [])


FAULTS = [
    ({"c": 3}, "`c`: expected a mapping with `reviewers`, found `3`"),
    ({"c": {}}, "expected the key `reviewers`"),
    ({"c": {"reviewers": {"r": {}}}}, "reviewer `r`: expected either `command` or `agent`, found both or neither"),
    ({"c": {"reviewers": {"r": {"command": "a 'b"}}}}, "expected a command"),
    ({"c": {"reviewers": {"r": {"agent": "x"}}, "scope": "explicit"}}, "the scope `explicit` needs `files`"),
    ({"c": {"reviewers": {"r": {"agent": "x"}}, "guardrial": True}}, "did you mean `guardrail`?"),
    ({"c": {"reviewers": {"r": {"agent": "x"}}, "trigger": "commit"}}, "expected one of pre-commit"),
    ({"c": {"reviewers": {}}}, "expected at least one reviewer"),
]


@pytest.mark.parametrize(("councils", "words"), FAULTS)
def test_a_council_that_cannot_be_is_refused(councils: object, words: str) -> None:
    """With the place and what was meant."""
    from verdikt.errors import PolicyError

    with pytest.raises(PolicyError) as caught:
        parse_policy(json.dumps({"councils": councils}))
    assert words in str(caught.value)


# W0-1
def test_finding_recorded_again_at_another_level_supersedes_the_first(runs: Runs) -> None:
    """The same title by the same agent at another level is one finding, with its lineage."""
    old = make_finding("MEDIUM", INJECTION, "security-reviewer")
    runs.record("p", old)
    runs.record("p", make_finding("MEDIUM", INJECTION, "someone-else"))
    verdict = runs.record("p", make_finding("CRITICAL", INJECTION, "security-reviewer"))
    assert [(f.agent, f.level, f.supersedes) for f in verdict.findings] == [
        ("someone-else", "MEDIUM", ()),
        ("security-reviewer", "CRITICAL", (old.id,)),
    ]
    back = runs.record("p", make_finding("HIGH", INJECTION, "security-reviewer"))
    assert [len(f.supersedes) for f in back.findings] == [0, 2]
    assert [event["event"] for event in runs.history("p")] == ["superseded", "superseded"]


# W0-1
def test_findings_with_ids_of_their_own_stay_apart(runs: Runs) -> None:
    """A scanner's rule may fire at two places with two levels."""
    runs.record("p", make_finding("LOW", "B101", id="one"))
    assert len(runs.record("p", make_finding("HIGH", "B101", id="two")).findings) == 2


# W0-3
def test_a_level_edited_on_disk_changes_nothing(runs: Runs, call) -> None:  # type: ignore[no-untyped-def]
    """It follows from the findings."""
    runs.record("p", make_finding("CRITICAL"))
    path = runs.verdict_path("p")
    path.write_text(path.read_text().replace('"level": "CRITICAL",\n  "summary"', '"level": "LOW",\n  "summary"'))
    assert json.loads(call("show", "--plan-hash", "p", "--json").stdout)["level"] == "CRITICAL"


# W0-5
def test_clearing_needs_who_and_why_and_is_remembered(runs: Runs, call) -> None:  # type: ignore[no-untyped-def]
    """Clearing a finding needs a name and a reason, and is recorded."""
    finding = make_finding("HIGH")
    runs.record("p", finding)
    assert call("clear", "--plan-hash", "p", "--id", finding.id).exit_code == 2
    assert call("clear", "--plan-hash", "p", "--id", finding.id, "--why", " ").exit_code == 2
    assert call("clear", "--plan-hash", "p", "--id", finding.id, "--by", "", "--why", "y").exit_code == 2
    assert runs.load("p") is not None
    assert call("clear", "--plan-hash", "p", "--id", finding.id, "--why", "parameterised").exit_code == 0
    (event,) = runs.history("p")
    assert (event["event"], event["by"], event["why"]) == ("cleared", "ada", "parameterised")
    assert event["finding"]["id"] == finding.id


def test_what_cannot_be_logged_is_kept_and_not_cleared(tmp_path: Path) -> None:
    """A finding is never lost for want of a log; nothing is let through without one."""

    def log(*_: object) -> None:
        raise LedgerError("no space")

    runs = Runs(tmp_path / "runs", Ticking(), log)
    with pytest.raises(LedgerError):
        runs.record("p", make_finding("HIGH"))
    verdict = runs.load("p")
    assert verdict is not None
    with pytest.raises(LedgerError):
        runs.clear("p", verdict.findings[0].id, by="ada", why="fixed")
    assert runs.load("p") == verdict


# W0-10
def test_a_bypass_is_on_record(tmp_path: Path) -> None:
    """The agent's own `--no-verify` is asked about, and the log has it."""
    gov = Governance(
        parse_policy("profile: standard\n"), close_after_test(FileStore(tmp_path / "data", None, load_projections()))
    )
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "git commit --no-verify -m x"})
    decision = gov.before(action)
    assert (decision.verdict.kind, decision.verdict.guard) == (VerdictKind.ASK, "git_hooks_skipped")
    assert [entry.kind for entry in gov.store.read_entries(action.session_id)] == [EntryKind.DECISION]


def test_no_secret_stays_in_a_finding() -> None:
    """Scanners quote what they find."""
    key = "AKIA" + "Q4T6ZC3XW2LM7NPR"
    finding = make_finding("HIGH", f"key {key}", rationale=f"`{key}`", evidence=[f"a.py:1:{key}"])
    assert key not in str(finding)
    assert "<secret:" in finding.title


def test_python_m_verdikt_council_accepts_the_same(tmp_path: Path) -> None:
    """The seed's way to call it."""
    env = {"HOME": str(tmp_path), "VERDIKT_RUNS_DIR": str(tmp_path / "r"), "VERDIKT_HOME": str(tmp_path / "d")}
    words = [sys.executable, "-m", "verdikt.council"]
    missing = subprocess.run([*words, "show", "--plan-hash", "x"], env=env, capture_output=True, text=True, check=False)
    assert (missing.returncode, missing.stderr) == (1, "No verdict for plan x\n")


def _reviewer(directory: str, number: int) -> None:
    clock = Ticking()
    for index in range(50):
        Runs(Path(directory), clock).record("shared", make_finding("LOW", f"title {index}", f"agent {number}"))


def test_sixteen_reviewers_at_once_lose_nothing(runs: Runs) -> None:
    """800 findings written by 16 processes at once are all kept, each under its own id."""
    fork = multiprocessing.get_context("fork")
    reviewers = [fork.Process(target=_reviewer, args=(str(runs.directory), number)) for number in range(16)]
    for reviewer in reviewers:
        reviewer.start()
    for reviewer in reviewers:
        reviewer.join()
    verdict = runs.load("shared")
    assert verdict is not None
    assert len(verdict.findings) == 800
