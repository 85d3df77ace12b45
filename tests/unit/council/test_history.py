"""Past verdicts: of one project, fixed by which plan, and from files that toolbox_verdict wrote."""

import json
from pathlib import Path

from tests.unit.council.conftest import Repo


def test_retro_names_the_plan_that_fixed_a_finding(repo: Repo) -> None:
    """A verdict that blocks is not shown as a block for ever."""
    repo.write("a.py", "BAD\n")
    assert repo.verdikt("council", "run").returncode == 2
    assert "BLOCK" in repo.verdikt("findings", "retro").stdout
    repo.write("a.py", "good\n")
    repo.write("b.py", "BAD\n")
    assert repo.verdikt("council", "run").returncode == 2
    rows = repo.verdikt("findings", "retro").stdout.splitlines()[1:]
    assert "BLOCK" in rows[0]
    assert f"fixed  1 finding(s): 1 high  (fixed by plan {rows[0].split()[1]})" in rows[1]
    records = json.loads(repo.verdikt("findings", "retro", "--json").stdout)
    assert records[1]["fixed_by"] == records[0]["plan_hash"]
    assert "fixed_by" not in records[0]


def test_retro_of_one_repository(repo: Repo, tmp_path: Path) -> None:
    """With `--repo`, verdicts of other repositories in the same directory are left out."""
    repo.write("a.py", "MEH\n")
    repo.verdikt("council", "run")
    other = Repo(tmp_path / "other", repo.env)
    other.path.mkdir()
    other.git("init", "-q", "-b", "main")
    assert "2 recent" not in repo.verdikt("findings", "retro").stdout
    assert "1 recent" in repo.verdikt("findings", "retro", "--repo", ".").stdout
    assert "0 recent" in other.verdikt("findings", "retro", "--repo", ".").stdout
    assert "1 recent" in other.verdikt("findings", "retro").stdout


def test_plans_of_toolbox_verdict_are_read(repo: Repo) -> None:
    """A plan without contents keeps the name that its file has, however its hash was computed."""
    directory = Path(repo.env["VERDIKT_RUNS_DIR"])
    directory.mkdir()
    plan = {"toolbox": "ship-it", "agents": ["security-reviewer"], "files": ["src/users.py"], "source": "pre-commit"}
    (directory / "abc123.json").write_text(json.dumps(plan | {"budget": {"tokens": 9, "seconds": 8}}))
    finding = {"id": "79f1b2bfa09a", "level": "HIGH", "title": "SQL injection", "agent": "security-reviewer"}
    verdict = {"plan_hash": "abc123", "level": "HIGH", "summary": "1 finding(s): 1 high", "findings": [finding]}
    (directory / "abc123.verdict.json").write_text(json.dumps(verdict | {"created_at": 1.0, "updated_at": 2.0}))
    history = json.loads(repo.verdikt("council", "history", "--json").stdout)
    assert history["unreadable"] == []
    assert history["plans"][0]["plan_hash"] == "abc123"
    assert "SQL injection" in repo.verdikt("findings", "explain", "--plan-hash", "abc123").stdout
    assert repo.verdikt("council", "done", "--plan-hash", "abc123", "--agent", "security-reviewer").returncode == 0
