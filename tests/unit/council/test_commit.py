"""Councils at commits in real repositories."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.acceptance import accept
from tests.unit.council.conftest import Repo
from verdikt.council.command_reviewer import FAILURE_TITLE
from verdikt.model.finding import build_finding
from verdikt.observe.git_index import GitIndex


def test_commit_with_finding_is_stopped_until_fixed(repo: Repo) -> None:
    """The hook stops the first commit until the finding is fixed."""
    assert repo.verdikt("git", "install").returncode == 0
    repo.write("a b.py", "MEH\nBAD\n")
    stopped = repo.git("commit", "-m", "x", check=False)
    assert stopped.returncode != 0
    assert "council `ship-it` stops this: the level is HIGH" in stopped.stderr
    lines = [line for line in stopped.stderr.splitlines() if line.startswith("  - [")]
    assert lines == ["  - [HIGH] BAD in a b.py  (agent: words)", "  - [MEDIUM] MEH in a b.py  (agent: words)"]
    assert repo.git("rev-parse", "-q", "--verify", "HEAD", check=False).returncode != 0
    repo.write("a b.py", "MEH\ngood\n")
    passed = repo.git("commit", "-m", "x")
    assert "[MEDIUM] MEH in a b.py" in passed.stderr
    (repo.path / "a b.py").write_text("WORST\n")
    again = repo.git("commit", "-am", "y", check=False)
    assert "the level is CRITICAL" in again.stderr
    assert repo.git("log", "--format=%s").stdout == "x\n"


def test_git_check_with_finding_ends_with_2_until_cleared(repo: Repo) -> None:
    """A cleared finding is recorded with who and why."""
    repo.write("a.py", "BAD\n")
    stopped = repo.verdikt("git", "check")
    assert stopped.returncode == 2
    plan = (
        repo.govern()
        .council_reviews.open_runner(str(repo.path))
        .build_plan(repo.govern().councils.get_council("ship-it"))
    )
    id = build_finding(level="HIGH", title="BAD in a.py", agent="words").id
    cleared = repo.verdikt("findings", "clear", "--plan-hash", plan.plan_hash, "--id", id, "--by", "ada", "--why", "ok")
    assert cleared.returncode == 0, cleared.stderr
    assert repo.verdikt("git", "check", "--no-run").returncode == 0


def test_commit_without_valid_verdict_is_stopped(repo: Repo) -> None:
    """A missing, stale or unreadable verdict stops the commit and is named."""
    gov = repo.govern()
    repo.write("a.py", "good\n")
    assert "there is no verdict on what is staged" in gov.commit(str(repo.path)).reason
    assert gov.commit(str(repo.path), run=True).allowed
    repo.write("a.py", "better\n")
    answer = gov.commit(str(repo.path))
    assert not answer.allowed
    assert "is stale: the files have changed since" in answer.reason
    assert gov.commit(str(repo.path), run=True).allowed
    for path in Path(repo.env["VERDIKT_RUNS_DIR"]).glob("*.verdict.json"):
        path.write_text("{")
    answer = gov.commit(str(repo.path), run=True)
    assert not answer.allowed
    assert "cannot be read" in answer.reason


def test_finding_removed_from_file_still_blocks(repo: Repo) -> None:
    """A finding that was deleted from the file is still in the log."""
    gov = repo.govern()
    repo.write("a.py", "BAD\n")
    assert not gov.commit(str(repo.path), run=True).allowed
    (path,) = Path(repo.env["VERDIKT_RUNS_DIR"]).glob("*.verdict.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"findings": []}))
    answer = gov.commit(str(repo.path), run=True)
    assert not answer.allowed
    assert "is in the log and not in the verdict file" in answer.reason


def test_finding_made_harmless_in_the_file_still_blocks(repo: Repo) -> None:
    """Its level in the log counts."""
    gov = repo.govern()
    repo.write("a.py", "BAD\n")
    assert not gov.commit(str(repo.path), run=True).allowed
    (path,) = Path(repo.env["VERDIKT_RUNS_DIR"]).glob("*.verdict.json")
    path.write_text(path.read_text().replace("HIGH", "LOW"))
    answer = gov.commit(str(repo.path), run=True)
    assert not answer.allowed
    assert "is in the log and of a lower level in the verdict file" in answer.reason


def test_council_without_guardrail_only_reports(repo: Repo) -> None:
    """Findings are shown, and the commit passes."""
    repo.policy(guardrail=False)
    repo.write("a.py", "BAD\n")
    answer = repo.govern().commit(str(repo.path), run=True)
    assert answer.allowed
    assert "[HIGH] BAD in a.py" in answer.context


def test_empty_index_or_no_council_passes(repo: Repo) -> None:
    """There is nothing to review."""
    assert repo.govern().commit(str(repo.path)).allowed
    (repo.path / "governance.yaml").write_text("profile: standard\n")
    repo.write("a.py", "BAD\n")
    assert not repo.govern().commit(str(repo.path)).allowed
    accept(repo.path, repo.env)
    assert repo.govern().commit(str(repo.path)).allowed


def test_council_without_acceptance_runs_no_command_and_still_stops_the_commit(repo: Repo) -> None:
    """The commands of a policy that came with a clone do not run, and its guardrail is not passed in silence."""
    document = json.loads((repo.path / "governance.yaml").read_text())
    document["councils"]["ship-it"]["reviewers"] = {"run": {"command": ["touch", "ran"]}}
    document["councils"] = {"other": document["councils"]["ship-it"]}
    (repo.path / "governance.yaml").write_text(json.dumps(document))
    repo.write("a.py", "good\n")

    answer = repo.govern().commit(str(repo.path), run=True)

    assert not answer.allowed
    assert "council `other` stops this" in answer.reason
    assert "`verdikt policy accept`" in answer.reason
    assert not (repo.path / "ran").exists()


def test_unreadable_repository_with_guardrail_is_refused(repo: Repo) -> None:
    """A failure of git or an invalid policy stops the commit."""
    repo.write("a.py", "good\n")
    (repo.path / ".git" / "index").write_bytes(b"broken")
    answer = repo.govern().commit(str(repo.path))
    assert not answer.allowed
    assert "the councils could not be asked" in answer.reason
    (repo.path / "governance.yaml").write_text("councils: 3\n")
    assert repo.verdikt("git", "check").returncode == 2


def test_review_uses_staged_contents(repo: Repo) -> None:
    """The work tree may differ from what is committed."""
    gov = repo.govern()
    repo.write("a.py", "BAD\n")
    (repo.path / "a.py").write_text("good\n")
    assert "[HIGH] BAD in a.py" in gov.commit(str(repo.path), run=True).reason
    repo.write("a.py", "good\n")
    (repo.path / "a.py").write_text("BAD\n")
    assert gov.commit(str(repo.path), run=True).allowed


ODD = ["with space.py", "new\nline.py", "-option.py", "ünïcode.py", "tab\t.py", 'quo"te.py', "dir/a/b.py", "{files}.py"]


def test_files_with_odd_names_are_reviewed(repo: Repo) -> None:
    """Spaces, newlines and leading dashes in names are handled."""
    for name in ODD:
        repo.write(name, "BAD\n")
    repo.git("add", "-A")
    repo.git("rm", "-q", "--cached", "governance.yaml")
    gov = repo.govern()
    runner = gov.council_reviews.open_runner(str(repo.path))
    plan = runner.build_plan(gov.councils.get_council("ship-it"))
    assert set(plan.files) == set(ODD)
    verdict = runner.run_reviewers(gov.councils.get_council("ship-it"), plan)
    assert len(verdict.findings) == len(ODD)
    assert runner.runs.load_plan(plan.plan_hash) is not None


def test_file_name_that_is_not_utf8_is_reviewed(repo: Repo) -> None:
    """Names with other bytes are handled."""
    name = os.fsdecode(b"bad\xff.py")
    (repo.path / name).write_text("BAD\n")
    repo.git("add", "--", name)
    gov = repo.govern()
    assert not gov.commit(str(repo.path), run=True).allowed
    assert "bad\\udcff.py" in gov.commit(str(repo.path)).reason


def test_plan_covers_renames_deletions_binaries_and_links(repo: Repo) -> None:
    """Each has its content in the plan; deleted files are named and not scanned."""
    repo.write("old.py", "one\ntwo\nthree\n")
    repo.write("gone.py", "x")
    repo.git("commit", "-qm", "first")
    repo.git("mv", "old.py", "new.py")
    repo.git("rm", "-q", "gone.py")
    repo.write("binary", bytes(range(256)))
    (repo.path / "link").symlink_to("new.py")
    repo.git("add", "link")
    contents = GitIndex(str(repo.path), repo.env).list_changes()
    assert set(contents) == {"old.py", "new.py", "gone.py", "binary", "link"}
    assert [name for name, id in contents.items() if not id] == ["gone.py", "old.py"]
    assert contents["link"].startswith("120000 ")
    assert repo.govern().commit(str(repo.path), run=True).allowed


def test_submodule_is_planned_and_not_scanned(repo: Repo) -> None:
    """A submodule is part of the plan, but no scanner opens it."""
    other = repo.path.parent / "other"
    other.mkdir()
    repo.git("init", "-q", cwd=other)
    repo.git("commit", "-q", "--allow-empty", "-m", "x", cwd=other)
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    contents = GitIndex(str(repo.path), repo.env).list_changes()
    assert contents["sub"].startswith("160000 ")
    assert repo.govern().commit(str(repo.path), run=True).allowed


def test_worktree_uses_its_own_index(repo: Repo) -> None:
    """Each worktree has its own index; the hooks are shared."""
    repo.git("add", "governance.yaml")
    repo.git("commit", "-qm", "policy")
    repo.verdikt("git", "install")
    tree = repo.path.parent / "tree"
    repo.git("worktree", "add", "-q", str(tree), "-b", "side")
    (tree / "a.py").write_text("BAD\n")
    repo.git("add", "a.py", cwd=tree)
    stopped = repo.git("commit", "-m", "x", check=False, cwd=tree)
    assert "the level is HIGH" in stopped.stderr
    assert repo.govern().commit(str(repo.path)).allowed


def test_push_is_checked_for_new_commits(repo: Repo) -> None:
    """What the remote lacks is reviewed."""
    repo.policy(trigger=["pre-push"])
    remote = repo.path.parent / "remote.git"
    repo.git("init", "-q", "--bare", str(remote))
    repo.git("remote", "add", "origin", str(remote))
    repo.write("a.py", "good\n")
    repo.git("commit", "-qm", "one")
    repo.verdikt("git", "install")
    repo.git("push", "-q", "origin", "main")
    repo.write("b.py", "BAD\n")
    repo.git("commit", "-qm", "two")
    stopped = repo.git("push", "-q", "origin", "main", check=False)
    assert stopped.returncode != 0
    assert "[HIGH] BAD in b.py" in stopped.stderr
    assert "a.py" not in stopped.stderr
    repo.git("revert", "--no-edit", "HEAD")
    repo.git("push", "-q", "origin", "main")
    repo.git("push", "-q", "origin", ":main", check=False)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit(7)", "printed nothing and ended with status 7"),
        ("print('[]'); raise SystemExit(3)", "it ended with status 3"),
        ("print('nonsense')", "expected SARIF or findings as JSON"),
        ("import os; os.kill(os.getpid(), 9)", "it was ended by signal 9"),
        ("import time; time.sleep(60)", "it took longer than 1 seconds"),
        ("pass", "printed nothing"),
    ],
)
def test_failed_reviewer_is_a_finding_until_it_succeeds(repo: Repo, code: str, why: str) -> None:
    """A crash, a timeout or bad output is a finding of level HIGH."""
    limit = 1 if "sleep" in code else 60
    repo.policy(reviewers={"words": {"command": [sys.executable, "-c", code], "seconds": limit}})
    repo.write("a.py", "good\n")
    answer = repo.govern().commit(str(repo.path), run=True)
    assert not answer.allowed
    assert FAILURE_TITLE in answer.reason
    assert why in answer.reason
    repo.policy()
    assert repo.verdikt("council", "run").returncode == 0


def test_failed_reviewer_runs_again_at_the_next_commit(repo: Repo) -> None:
    """A reviewer that was repaired is run by the commit itself; one that still fails stops the commit again."""
    flag = repo.path.parent / "repaired"
    code = f"import os, sys; os.path.exists({str(flag)!r}) and print('[]') or sys.exit('first line\\nsecond line')"
    repo.policy(reviewers={"words": {"command": [sys.executable, "-c", code]}})
    repo.write("a.py", "good\n")
    repo.verdikt("git", "install")

    for _ in range(2):
        stopped = repo.git("commit", "-qm", "a", check=False)
        assert stopped.returncode != 0
        assert f"{FAILURE_TITLE}  (agent: words)" in stopped.stderr
        # Every line of the reviewer's own text is shown as one.
        assert "with status 1: first line\n           second line\n" in stopped.stderr
    flag.touch()

    assert repo.git("commit", "-qm", "a").returncode == 0


def test_reviewer_without_limit_uses_council_budget(repo: Repo) -> None:
    """The council's seconds are the default limit."""
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    repo.policy(reviewers={"words": {"command": slow}}, budget={"seconds": 2})
    repo.write("a.py", "good\n")

    assert "it took longer than 2 seconds" in repo.govern().commit(str(repo.path), run=True).reason


def test_reviewer_that_cannot_start_stops_the_commit(repo: Repo) -> None:
    """A typing error in a command lets nothing through."""
    repo.policy(reviewers={"words": {"command": "no-such-scanner {files}"}})
    repo.write("a.py", "good\n")
    assert "`no-such-scanner` cannot be started" in repo.govern().commit(str(repo.path), run=True).reason


def test_agent_reviewer_must_report_before_the_commit(repo: Repo) -> None:
    """The plan tells the agent how to record findings and to finish."""
    repo.policy(reviewers={"security": {"agent": "look for injections"}})
    repo.write("a.py", "good\n")
    completed_process = repo.verdikt("council", "run")
    assert completed_process.returncode == 2
    assert "reviewer `security` has not reported" in completed_process.stdout
    assert "verdikt findings record --plan-hash" in completed_process.stdout
    row = json.loads(repo.verdikt("council", "plan", "--trigger", "pre-commit", "--json").stdout)
    assert row["agents"] == ["security"]
    assert Path(row["plan_file"]).exists()
    assert (row["source"], row["guardrail"], row["files"]) == ("cached", True, ["a.py"])
    done = ["council", "done", "--plan-hash", row["plan_hash"], "--agent", "security"]
    assert repo.verdikt(*done).returncode == 0
    assert repo.verdikt("git", "check").returncode == 0
    assert repo.verdikt("council", "done", "--plan-hash", "none", "--agent", "x").returncode == 1


def test_reviewer_limits_level_and_files(repo: Repo) -> None:
    """`at_most` limits the level; `files` limits what is reviewed."""
    scanner = [sys.executable, str(repo.path.parent / "scanner.py"), "{files}"]
    repo.policy(reviewers={"lint": {"command": scanner, "at_most": "MEDIUM", "files": "*.py"}})
    repo.write("a.py", "WORST\n")
    repo.write("b.txt", "WORST\n")
    answer = repo.govern().commit(str(repo.path), run=True)
    assert answer.allowed
    assert "[MEDIUM] WORST in a.py" in answer.context
    assert "b.txt" not in answer.context


def test_history_lists_plans_and_purge_deletes_old_ones(repo: Repo) -> None:
    """Old plans and verdicts are deleted, also unreadable ones."""
    repo.write("a.py", "good\n")
    repo.verdikt("council", "run")
    shown = repo.verdikt("council", "history").stdout
    assert "ship-it  1 file(s)  LOW  No findings." in shown
    (Path(repo.env["VERDIKT_RUNS_DIR"]) / "broken.json").write_text("{")
    assert "! unreadable: broken.json" in repo.verdikt("council", "history").stdout
    assert "0 plan(s) deleted" in repo.verdikt("council", "purge").stdout
    assert "2 plan(s) deleted" in repo.verdikt("council", "purge", "--older-than-days", "-1").stdout
    assert list(Path(repo.env["VERDIKT_RUNS_DIR"]).iterdir()) == []


def test_scope_selects_the_files_of_a_plan(repo: Repo) -> None:
    """Changes, all files, a difference to a branch, or named files."""
    repo.write("a.py", "x")
    repo.git("commit", "-qm", "one")
    repo.git("branch", "side")
    repo.write("b.py", "x")
    repo.git("commit", "-qm", "two")
    repo.write("c.py", "x")
    (repo.path / "d.py").write_text("x")

    def files(*words: str) -> list[str]:
        found: list[str] = json.loads(repo.verdikt("council", "plan", "ship-it", "--json", *words).stdout)["files"]
        return found

    assert files() == ["c.py"]
    assert files("--scope", "full") == ["a.py", "b.py", "c.py"]
    assert files("--base", "side") == ["b.py", "c.py"]
    assert files("--files", "d.py", "--files", "a.py") == ["a.py", "d.py"]
    assert repo.verdikt("council", "plan", "--base", "nowhere").returncode == 2
    assert repo.verdikt("council", "plan", "unknown").returncode == 1
    assert repo.verdikt("council", "plan", "--trigger", "full-moon").returncode == 1


HOOK = "#!/bin/sh\necho mine >> ../mine\ntest ! -e ../refuse\n"


@pytest.mark.parametrize("hooks_path", ["", "own hooks"])
def test_existing_hooks_still_run_and_are_restored(repo: Repo, hooks_path: str) -> None:
    """Our hook runs after existing ones; uninstalling restores bytes and modes."""
    directory = repo.path / (hooks_path or ".git/hooks")
    if hooks_path:
        repo.git("config", "core.hooksPath", hooks_path)
    directory.mkdir(exist_ok=True)
    hook = directory / "pre-commit"
    hook.write_text(HOOK)
    hook.chmod(0o751)
    assert repo.verdikt("git", "status").returncode == 1
    repo.verdikt("git", "install")
    again = repo.verdikt("git", "install", "--json")
    assert json.loads(again.stdout)["changed"] == []
    assert repo.verdikt("git", "status").returncode == 0
    repo.write("a.py", "BAD\n")
    assert "the level is HIGH" in repo.git("commit", "-m", "x", check=False).stderr
    assert (repo.path.parent / "mine").read_text() == "mine\n"
    (repo.path.parent / "refuse").touch()
    refused = repo.git("commit", "-m", "x", check=False)
    assert refused.returncode != 0
    assert "level" not in refused.stderr
    assert repo.verdikt("git", "uninstall", CLAUDECODE="1").returncode == 1
    assert repo.verdikt("git", "uninstall").returncode == 0
    assert (hook.read_text(), hook.stat().st_mode & 0o777) == (HOOK, 0o751)
    assert sorted(path.name for path in directory.iterdir() if not path.name.endswith(".sample")) == ["pre-commit"]


def test_init_installs_git_hooks(repo: Repo) -> None:
    """`init` wires git with other hosts, or alone."""
    done = repo.verdikt("init", "--host", "git", "--yes")
    assert done.returncode == 0, done.stderr
    assert repo.verdikt("git", "status").returncode == 0
    gone = repo.verdikt("uninstall", "--yes")
    assert gone.returncode == 0, gone.stderr
    assert repo.verdikt("git", "status").returncode == 1


def test_partial_commit_and_merge_review_what_they_commit(repo: Repo) -> None:
    """`git commit FILE` and `git merge` are reviewed by what they would commit."""
    repo.write("a.py", "one\n")
    repo.write("b.py", "one\n")
    repo.git("commit", "-qm", "first")
    repo.git("checkout", "-qb", "side")
    repo.write("c.py", "BAD\n")
    repo.git("commit", "-qm", "bad")
    repo.git("checkout", "-q", "main")
    repo.verdikt("git", "install")
    (repo.path / "a.py").write_text("BAD\n")
    (repo.path / "b.py").write_text("two\n")
    assert "BAD in a.py" in repo.git("commit", "-m", "x", "a.py", check=False).stderr
    repo.git("commit", "-qm", "x", "b.py")
    merged = repo.git("merge", "--no-edit", "side", check=False)
    assert merged.returncode != 0
    assert "BAD in c.py" in merged.stderr
