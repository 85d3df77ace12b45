"""Findings that stop a commit are shed only by those who may clear them."""

import json
import os
import pwd
from pathlib import Path

import pytest

from tests.unit.council.conftest import Repo
from verdikt.council.finding_place import locate_finding
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.council_log import OpenFinding
from verdikt.model.finding import Evidence, build_finding

AGENT = {"CLAUDECODE": "1"}
VULNERABLE = "import db\n\n\ndef find(name):\n    return db.execute('select ' + name)\n"


def review(repo: Repo, *words: str, **env: str) -> str:
    """Plan a review, record a finding with these options, and return the plan's hash."""
    row = json.loads(repo.verdikt("council", "plan", "--trigger", "pre-commit", "--json").stdout)
    plan: str = row["plan_hash"]
    if words:
        completed = repo.verdikt("findings", "record", "--plan-hash", plan, "--agent", "security", *words, **env)
        assert completed.returncode == 0, completed.stderr
    return plan


@pytest.fixture
def reviewed(repo: Repo) -> Repo:
    """Return a repository whose agent reviewer has recorded a finding of level HIGH on what is staged."""
    repo.policy(reviewers={"security": {"agent": "look for injections"}})
    repo.write("a.py", VULNERABLE)
    review(repo, "--level", "HIGH", "--title", "injection", "--evidence", "a.py:5")
    return repo


def is_stopped(repo: Repo) -> bool:
    """Return whether the commit check refuses what is staged."""
    return repo.verdikt("git", "check").returncode == 2


def finish(repo: Repo, plan: str) -> None:
    """End the review of a plan as its reviewer."""
    assert repo.verdikt("council", "done", "--plan-hash", plan, "--agent", "security").returncode == 0


@pytest.mark.parametrize("lower", [["--id", "ID", "--title", "other"], ["--title", "injection"]])
def test_agent_cannot_lower_a_finding(reviewed: Repo, lower: list[str]) -> None:
    """The same id or title at a lower level is refused inside an agent, and counts for nothing in the log."""
    plan = review(reviewed)
    verdict_path = Path(reviewed.env["VERDIKT_RUNS_DIR"]) / f"{plan}.verdict.json"
    id = json.loads(verdict_path.read_text())["findings"][0]["id"]
    words = [id if word == "ID" else word for word in lower]
    record = ["findings", "record", "--plan-hash", plan, "--agent", "security", "--level", "LOW", *words]
    assert "is for operators" in reviewed.verdikt(*record, **AGENT).stderr
    # With the file out of the way there is nothing to compare with, except the log.
    verdict_path.unlink()
    assert reviewed.verdikt(*record, **AGENT).returncode == 0
    assert is_stopped(reviewed)


def test_finding_is_carried_into_a_later_plan_until_fixed(reviewed: Repo) -> None:
    """A comment, moved lines or a new name make a new plan, which inherits the finding; a fix does not."""
    reviewed.write("a.py", "# a comment\n" + VULNERABLE.replace("+ name)", "+ name)  # checked"))
    plan = review(reviewed)
    finish(reviewed, plan)
    assert is_stopped(reviewed)
    shown = reviewed.verdikt("findings", "explain", "--plan-hash", plan).stdout
    assert "[HIGH] injection" in shown
    assert "a.py:6" in shown

    reviewed.git("mv", "a.py", "b.py")
    plan = review(reviewed)
    finish(reviewed, plan)
    assert is_stopped(reviewed)
    assert "b.py:6" in reviewed.verdikt("findings", "explain", "--plan-hash", plan).stdout

    reviewed.write("b.py", VULNERABLE.replace("'select ' + name", "SELECT, [name]"))
    assert is_stopped(reviewed)  # not reviewed yet
    finish(reviewed, review(reviewed))
    assert not is_stopped(reviewed)


def test_retro_shows_a_carried_finding_as_fixed(reviewed: Repo) -> None:
    """Also for a plan that only a commit saw: its verdict is the carried finding, and the fix is for it too."""
    reviewed.write("a.py", "# a comment\n" + VULNERABLE)
    assert is_stopped(reviewed)
    assert reviewed.verdikt("findings", "retro").stdout.count("BLOCK") == 2
    reviewed.write("a.py", VULNERABLE.replace("'select ' + name", "SELECT, [name]"))
    finish(reviewed, review(reviewed))
    shown = reviewed.verdikt("findings", "retro").stdout
    assert shown.count("fixed by plan") == 2
    assert "BLOCK" not in shown


def test_person_clears_a_carried_finding_for_good(reviewed: Repo) -> None:
    """Cleared on one plan, it does not come back from an older one, but its reviewer has to look at the new plan."""
    reviewed.write("a.py", "# a comment\n" + VULNERABLE)
    plan = review(reviewed)
    assert is_stopped(reviewed)
    id = json.loads(reviewed.verdikt("findings", "show", "--plan-hash", plan, "--json").stdout)["findings"][0]["id"]
    assert reviewed.verdikt("findings", "clear", "--plan-hash", plan, "--id", id, "--why", "no").returncode == 0
    answer = reviewed.govern().commit(str(reviewed.path))
    assert "reviewer `security` has not reported" in answer.reason
    assert "the level is" not in answer.reason
    finish(reviewed, plan)
    assert not is_stopped(reviewed)
    reviewed.write("a.py", "# another comment\n" + VULNERABLE)
    finish(reviewed, review(reviewed))
    assert not is_stopped(reviewed)


def test_reviewer_withdraws_its_finding_on_a_later_plan(reviewed: Repo) -> None:
    """The same title at a lower level, from its reviewer, closes the finding of the earlier plan."""
    reviewed.write("a.py", "# a comment\n" + VULNERABLE)
    review(reviewed, "--level", "LOW", "--title", "injection", "--evidence", "a.py:6")
    assert not is_stopped(reviewed)


def test_agent_is_not_its_own_reviewer_unless_the_council_says_so(repo: Repo) -> None:
    """`council done` and findings in a reviewer's name open nothing inside an agent without the reviewer's key."""
    repo.policy(reviewers={"security": {"agent": "look", "key_sha256": sha256_hex(b"s3cret")}})
    repo.write("a.py", "good\n")
    plan = review(repo, "--level", "LOW", "--title", "fine", **AGENT)
    done = ["council", "done", "--plan-hash", plan, "--agent", "security"]
    assert "without its key" in repo.verdikt(*done, **AGENT).stderr
    assert "without its key" in repo.verdikt(*done, VERDIKT_REVIEWER_KEY="guess", **AGENT).stderr
    assert is_stopped(repo)
    assert repo.verdikt(*done, VERDIKT_REVIEWER_KEY="s3cret", **AGENT).returncode == 0
    assert not is_stopped(repo)

    repo.policy(reviewers={"security": {"agent": "look"}}, self_review=True)
    repo.write("a.py", "better\n")
    plan = review(repo)
    assert repo.verdikt("council", "done", "--plan-hash", plan, "--agent", "security", **AGENT).returncode == 0
    assert not is_stopped(repo)


def test_reviews_written_by_hand_count_for_nothing(repo: Repo) -> None:
    """Who has reported is read from the log, not from the verdict file."""
    repo.write("a.py", "BAD\n")
    plan = review(repo)
    document = {"findings": [], "reviews": [{"reviewer": "words", "status": 0, "seconds": 0, "failure": ""}]}
    (Path(repo.env["VERDIKT_RUNS_DIR"]) / f"{plan}.verdict.json").write_text(json.dumps(document))
    assert "reviewer `words` has not reported" in repo.govern().commit(str(repo.path)).reason


def test_finding_of_another_repository_or_council_is_not_carried(reviewed: Repo, tmp_path: Path) -> None:
    """Only plans of the same repository and council inherit a finding."""
    other = Repo(tmp_path / "other", reviewed.env)
    other.path.mkdir()
    other.git("init", "-q", "-b", "main")
    other.policy(reviewers={"security": {"agent": "look for injections"}})
    other.write("a.py", "# a comment\n" + VULNERABLE)
    finish(other, review(other))
    assert not is_stopped(other)


OLD = {"100644 old": b"one\n  value = compute(left,\n    right_one)\n}\n", "100644 same": b"x\n"}


@pytest.mark.parametrize(
    ("evidence", "new", "places"),
    [
        (Evidence("a.py", 2), b"value = compute(left, right_one)  # ok\n", (Evidence("a.py", 1),)),
        (Evidence("a.py", 2), b"value = None\n", None),
        (Evidence("a.py", 4), b"}\n", None),  # a bracket alone is everywhere
        (Evidence("a.py", 4), b"    right_one)\n}\n", (Evidence("a.py", 1),)),
        (Evidence("a.py"), b"anything\n", (Evidence("a.py"),)),
        (Evidence("a.py", 99), b"anything\n", (Evidence("a.py", 99),)),
    ],
)
def test_place_is_found_by_what_the_line_says(
    evidence: Evidence, new: bytes, places: tuple[Evidence, ...] | None
) -> None:
    """White space, line breaks and comments do not hide a place; a changed line does."""
    finding = build_finding(level="HIGH", title="t", evidence=[evidence])
    earlier = OpenFinding("p", finding, {"a.py": "100644 old"})
    contents = {**OLD, "100644 new": new}
    assert locate_finding(earlier, {"a.py": "100644 new"}, contents.get) == places
    assert locate_finding(earlier, {"a.py": ""}, contents.get) is None


def test_finding_without_a_place_is_carried_while_a_file_of_its_plan_is_there() -> None:
    """Without evidence it is about the files of its plan."""
    earlier = OpenFinding("p", build_finding(level="HIGH", title="t"), {"a.py": "100644 old"})
    assert locate_finding(earlier, {"a.py": "100644 new"}, OLD.get) == ()
    assert locate_finding(earlier, {"b.py": "100644 new"}, OLD.get) is None


def test_clearing_without_a_user_variable_names_the_account(reviewed: Repo) -> None:
    """Containers and hooks often have no `$USER`; the account is found by its id."""
    plan = review(reviewed)
    show = ["findings", "show", "--plan-hash", plan, "--json"]
    id = json.loads(reviewed.verdikt(*show).stdout)["findings"][0]["id"]
    completed = reviewed.verdikt("findings", "clear", "--plan-hash", plan, "--id", id, "--why", "fixed")
    assert completed.returncode == 0, completed.stderr
    history = json.loads((Path(reviewed.env["VERDIKT_RUNS_DIR"]) / f"{plan}.verdict.json").read_text())["history"]
    assert history[-1]["by"] in (pwd.getpwuid(os.getuid()).pw_name, str(os.getuid()))
