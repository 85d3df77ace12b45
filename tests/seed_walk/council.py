"""toolbox_verdict: findings, verdicts and the commit that they stop."""

import json
from pathlib import Path

from tests.seed_walk.user import User, walks

EXPLAINED = """\
[verdict] plan=abc123  level=HIGH  2 finding(s): 1 high, 1 low
  - [HIGH] SQL injection in users.py  (agent: security-reviewer)
      why: req.form values flow into raw SQL
      evidence: src/users.py:42 — unescaped input
  - [LOW] style: trailing whitespace  (agent: code-reviewer)
      evidence: src/users.py:57
"""


def record(user: User, level: str, title: str, *words: str, plan: str = "abc123") -> dict[str, object]:
    """Record a finding as the document does, and return the verdict that is printed."""
    options = ["--plan-hash", plan, "--level", level, "--title", title, *words]
    completed = user.module("verdikt.council", "record", *options)
    assert completed.returncode == 0, completed.stderr
    verdict: dict[str, object] = json.loads(completed.stdout)
    return verdict


@walks("S0-01", "S0-02", "S0-03", "S0-04", "S0-17", "S0-18")
def try_types_of_findings(user: User) -> None:
    """Import the data model and parse evidence as a program would."""
    user.python("""
import dataclasses
from verdikt import CouncilVerdict, Evidence, Finding
from verdikt.model.finding import Level, build_finding, parse_evidence
assert Evidence("a") == Evidence(file="a", line=None, note="")
assert Finding("i", "LOW", "t") == Finding(id="i", level="LOW", title="t", agent="", evidence=(), rationale="")
for value, field in ((Evidence("a"), "file"), (Finding("i", "LOW", "t"), "id")):
    try:
        setattr(value, field, "x")
        raise SystemExit("not frozen")
    except dataclasses.FrozenInstanceError:
        pass
assert [level.name for level in sorted(Level)] == ["LOW", "MEDIUM", "HIGH", "CRITICAL"]
verdict = CouncilVerdict("abc123", (Finding("i", "HIGH", "t"),), 1.0, 2.0)
assert (verdict.plan_hash, verdict.level, verdict.created_at, verdict.updated_at) == ("abc123", "HIGH", 1.0, 2.0)
assert parse_evidence("src/foo.py") == Evidence("src/foo.py")
assert parse_evidence("src/foo.py:42") == Evidence("src/foo.py", 42)
assert parse_evidence("src/foo.py:42:race on counter") == Evidence("src/foo.py", 42, "race on counter")
assert parse_evidence("C:/Users/me/foo.py:17") == Evidence("C:/Users/me/foo.py", 17)
assert parse_evidence("").file == ""
assert build_finding(level="LOW", title="t", evidence=["", "a"]).evidence == (Evidence("a"),)
""")


@walks("S0-05", "S0-07", "S0-08", "S0-09", "S0-12", "S0-13", "S0-15", "S0-16", "S0-19", "S0-20", "S0-21")
def try_findings_of_a_plan(user: User) -> None:
    """Run the commands of the document, in its order, on its own directory."""
    rationale = ("--rationale", "req.form values flow into raw SQL")
    evidence = ("--agent", "security-reviewer", "--evidence", "src/users.py:42:unescaped", "input")
    record(user, "HIGH", "SQL injection in users.py", *evidence, *rationale)
    style = ("--agent", "code-reviewer", "--evidence", "src/users.py:57")
    verdict = record(user, "LOW", "style: trailing whitespace", *style)
    assert [finding["id"] for finding in verdict["findings"]] == ["79f1b2bfa09a", "b5c6796f87f4"]  # type: ignore[attr-defined]
    assert (user.home / ".claude" / "toolbox-runs" / "abc123.verdict.json").exists()
    for command in ("show", "explain"):
        assert user.module("verdikt.council", command, "--plan-hash", "abc123").stdout == EXPLAINED
    shown = json.loads(user.module("verdikt.council", "show", "--plan-hash", "abc123", "--json").stdout)
    assert shown["summary"] == "2 finding(s): 1 high, 1 low"
    bumped = record(user, "MEDIUM", "t", "--id", "custom-value", plan="p2")
    bumped = record(user, "CRITICAL", "t", "--id", "custom-value", "--rationale", "worse", plan="p2")
    assert (bumped["level"], len(bumped["findings"])) == ("CRITICAL", 1)  # type: ignore[arg-type]
    clear = ("clear", "--plan-hash", "abc123", "--id", "79f1b2bfa09a", "--why", "fixed")
    assert json.loads(user.module("verdikt.council", *clear).stdout)["level"] == "LOW"


@walks("S0-14", "S0-22")
def try_the_retrospective(user: User) -> None:
    """Print the table, newest first, with a limit and a lowest level."""
    record(user, "LOW", "a", plan="plan-ok")
    record(user, "HIGH", "a", plan="plan-hi")
    record(user, "LOW", "b", plan="plan-hi")
    record(user, "CRITICAL", "a", plan="plan-crit")
    assert user.module("verdikt.council", "retro", "--limit", "10").stdout == (
        "[retro] 3 recent verdict(s):\n"
        "  - plan-crit   CRITICAL  BLOCK  1 finding(s): 1 critical\n"
        "  - plan-hi     HIGH      BLOCK  2 finding(s): 1 high, 1 low\n"
        "  - plan-ok     LOW       ok     1 finding(s): 1 low\n"
    )
    assert "plan-ok" not in user.module("verdikt.council", "retro", "--min-level", "HIGH").stdout
    assert "plan-hi" not in user.module("verdikt.council", "retro", "--limit", "1").stdout


@walks("S0-06", "S0-10", "S0-11")
def try_the_commit_check(user: User) -> None:
    """Plan, review, and have the guardrail stop the commit with 2."""
    user.run("git", "init", "-q")
    council = {"guardrail": True, "reviewers": {"security-reviewer": {"agent": "look for injections"}}}
    user.write("governance.yaml", json.dumps({"councils": {"ship-it": council}}))
    user.write("src/users.py", "x = 1\n")
    user.run("git", "add", "src")
    plan = json.loads(user.verdikt("council", "plan", "ship-it", "--json").stdout)
    assert Path(plan["plan_file"]).exists()
    reviewer = ("--agent", "security-reviewer")
    record(user, "MEDIUM", "a smell", *reviewer, plan=plan["plan_hash"])
    assert user.verdikt("git", "check").returncode == 0
    record(user, "HIGH", "an injection", *reviewer, plan=plan["plan_hash"])
    refused = user.verdikt("git", "check")
    assert (refused.returncode, "an injection" in refused.stderr) == (2, True)
