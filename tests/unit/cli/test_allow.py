"""`verdikt allow` at a terminal, over a log of calls that were stopped."""

import json
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from tests.acceptance import accept
from tests.cleanup import close_after_test
from tests.unit.cli.test_grant import run_at_terminal
from verdikt.cli.exception_file import add_exceptions
from verdikt.errors import PolicyError
from verdikt.govern import Governance
from verdikt.graph.rule_exception import RuleException
from verdikt.model.action import Action, ActionKind
from verdikt.observe.agent_environment import AGENT_VARIABLES
from verdikt.policy import parse_policy

FORCE_PUSH = "git push --force origin main"
ANSWERS = "staging is mine\nallow"


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment of a person whose project is the working directory."""
    project = tmp_path / "home/project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    agents = {*chain(*AGENT_VARIABLES.values()), "XDG_CONFIG_HOME", "XDG_DATA_HOME"}
    mine = {name: value for name, value in os.environ.items() if name not in agents}
    return {**mine, "HOME": str(tmp_path / "home"), "VERDIKT_HOME": str(tmp_path / "data"), "TERM": "dumb"}


def decide(env: dict[str, str], command: str, session: str = "s1", **payload: str) -> str:
    """Let governance decide about a call of an agent, and return the verdict."""
    kind, tool = (ActionKind.BASH, "Bash") if command else (ActionKind.OTHER, "deploy")
    action = Action(
        kind=kind,
        tool=tool,
        payload={"command": command} if command else payload,
        session_id=session,
        cwd=str(Path.cwd()),
    )
    with Governance.load(cwd=str(Path.cwd()), env=env) as governance:
        close_after_test(governance.store)
        return governance.before(action).verdict.kind.word


def list_grants(env: dict[str, str]) -> list[dict[str, str]]:
    """Return the live grants."""
    words = [sys.executable, "-m", "verdikt", "grant", "list", "--json"]
    grants: list[dict[str, str]] = json.loads(subprocess.run(words, env=env, capture_output=True, check=True).stdout)
    return grants


def test_allow_last_grants_every_rule_that_objects_for_the_session(env: dict[str, str]) -> None:
    """The blocked command passes in that session afterwards, and nowhere else."""
    assert decide(env, FORCE_PUSH) == "block"

    code, text = run_at_terminal(env, ANSWERS, "allow", "last")

    assert code == 0, text
    assert "s1 #1: block by git_force_push: Bash git push --force origin main" in text
    assert "of 1 past call that git_careful, git_force_push stopped, it would let 1 through" in text
    assert {grant["guard"] for grant in list_grants(env)} == {"git_force_push", "git_careful"}
    assert decide(env, FORCE_PUSH) == "warn"
    assert decide(env, f"{FORCE_PUSH} && ls") == "block"
    assert decide(env, FORCE_PUSH, session="s2") == "block"


def test_allow_once_lets_one_call_through(env: dict[str, str]) -> None:
    """The second call is stopped again, in that session and in others; the log says that the grant was used."""
    assert decide(env, FORCE_PUSH) == "block"

    code, text = run_at_terminal(env, ANSWERS, "allow", "last", "--for", "once")

    assert code == 0, text
    assert "once, in session s1" in text
    assert decide(env, FORCE_PUSH, session="s2") == "block"
    assert decide(env, "ls") == "pass"
    assert decide(env, f"{FORCE_PUSH} && ls") == "block"
    assert decide(env, FORCE_PUSH) == "warn"
    assert decide(env, FORCE_PUSH) == "block"
    assert list_grants(env) == []


def test_allow_after_the_session_has_ended_lets_the_next_one_through_once(env: dict[str, str]) -> None:
    """A session that has ended can't repeat the call, so a permission bound to it would never be used."""
    assert decide(env, FORCE_PUSH) == "block"
    with Governance.load(cwd=str(Path.cwd()), env=env) as governance:
        close_after_test(governance.store)
        governance.store.append_checkpoint("s1")

    code, text = run_at_terminal(env, ANSWERS, "allow", "last")
    assert code == 0, text
    assert "session s1 has ended: this holds if it is resumed; a new one needs --for 2h" in text
    assert decide(env, FORCE_PUSH, session="s2") == "block"

    code, text = run_at_terminal(env, ANSWERS, "allow", "last", "--session", "s1", "--for", "once")
    assert code == 0, text
    assert "once, in any session" in text
    assert [decide(env, FORCE_PUSH, session="s2") for _ in range(2)] == ["warn", "block"]


def test_allow_once_for_any_session_is_used_by_the_first(env: dict[str, str]) -> None:
    """A rule that is named with a command is not bound to a session."""
    policy = "rules: [{name: no_make, command: make, verdict: block, reason: r, fix: f}]"
    Path("governance.yaml").write_text(policy)
    assert decide(env, "make all") == "block"
    words = ["allow", "no_make", "--command", "make all", "--for", "once", "--reason", "now"]
    assert run_at_terminal(env, "allow", *words)[0] == 0

    verdicts = [decide(env, "make all", session=session) for session in ("s2", "s3", "s2")]
    assert verdicts == ["warn", "block", "block"]


def test_allow_in_project_writes_the_projects_file_and_accepts_it_here(env: dict[str, str]) -> None:
    """It is for the team: no user, no machine and no path of this person's in it but the author."""
    file = Path("governance.yaml")
    file.write_text("# ours\nprofile: standard\n")
    accept(Path.cwd(), env)
    decide(env, FORCE_PUSH)

    code, text = run_at_terminal(env, ANSWERS, "allow", "last", "--for", "always", "--in-project")

    assert code == 0, text
    assert "commit it; on other machines it counts when a person there has run `verdikt policy accept`" in text
    assert file.read_text().startswith("# ours\nprofile: standard\n\nexceptions:\n  - rule: ")
    assert env["HOME"] not in file.read_text()
    assert decide(env, FORCE_PUSH, session="s2") == "pass"
    assert not Path(env["HOME"], ".config/verdikt").exists()


def test_allow_in_project_says_when_the_rule_is_not_the_projects(env: dict[str, str]) -> None:
    """A rule of the user's own file needs an exception there."""
    own = Path(env["HOME"], ".config/verdikt/governance.yaml")
    own.parent.mkdir(parents=True)
    own.write_text("profile: standard\n")
    accept(Path.cwd(), env)
    decide(env, FORCE_PUSH)

    code, text = run_at_terminal(env, ANSWERS, "allow", "last", "--for", "always", "--in-project")

    assert code == 1
    assert "it belongs to a higher layer" in " ".join(text.split())
    assert not Path("governance.yaml").exists()


def test_allow_for_always_in_a_relaxed_project_does_not_tighten_it(env: dict[str, str]) -> None:
    """The file that it writes for the person has exceptions and no profile."""
    Path("governance.yaml").write_text("profile: relaxed\n")
    accept(Path.cwd(), env)
    before = decide(env, "", region="eu")
    decide(env, FORCE_PUSH)

    assert run_at_terminal(env, ANSWERS, "allow", "last", "--for", "always")[0] == 0
    assert decide(env, FORCE_PUSH, session="s2") == "pass"
    assert decide(env, "", session="s2", region="eu") == before


def test_allow_for_always_writes_exceptions_that_hold_everywhere(env: dict[str, str]) -> None:
    """The user's file keeps its text and its mode, and the exceptions have reason, author and date."""
    file = Path(env["HOME"], ".config/verdikt/governance.yaml")
    file.parent.mkdir(parents=True)
    file.write_text("# mine\nprofile: standard\n")
    file.chmod(0o600)
    accept(Path.cwd(), env)
    decide(env, "ls")
    decide(env, FORCE_PUSH)

    code, text = run_at_terminal(env, ANSWERS, "allow", "#2", "--for", "always", "--here")

    assert code == 0, text
    assert file.read_text().startswith("# mine\nprofile: standard\n\nexceptions:\n  - rule: ")
    assert file.stat().st_mode & 0o777 == 0o600
    exceptions = parse_policy(file.read_bytes()).exceptions
    assert {exception.rule for exception in exceptions} == {"git_force_push", "git_careful"}
    assert {exception.reason for exception in exceptions} == {"staging is mine"}
    assert {exception.project for exception in exceptions} == {str(Path.cwd())}
    assert all(exception.by and exception.date for exception in exceptions)
    assert decide(env, FORCE_PUSH, session="s2") == "pass"
    assert decide(env, "git push --force origin main other", session="s2") == "block"
    assert list_grants(env) == []


def test_allow_rule_with_a_path_lets_that_path_through(env: dict[str, str]) -> None:
    """A rule can be named with a scope of its own."""
    policy = "rules: [{name: no_env, class: write, target: '*.env', verdict: block, reason: r, fix: f}]"
    Path("governance.yaml").write_text(policy)
    assert decide(env, "echo a > test.env") == "block"
    words = ["allow", "no_env", "--path", "test.env", "--for", "always", "--reason", "a fixture"]

    code, text = run_at_terminal(env, "allow", *words)

    assert code == 0, text
    assert decide(env, "echo a > test.env") == "pass"
    assert decide(env, "echo a > test.env; echo b > prod.env") == "block"


def test_allow_for_an_unknown_tool_needs_a_lasting_exception(env: dict[str, str]) -> None:
    """A grant covers commands and paths; a tool goes into the policy."""
    assert decide(env, "", region="eu") == "ask"

    code, text = run_at_terminal(env, ANSWERS, "allow", "last")
    assert code == 1
    assert "can only be allowed with `--for always`" in text

    assert run_at_terminal(env, ANSWERS, "allow", "last", "--for", "always")[0] == 0
    assert decide(env, "", region="us") == "pass"


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("verdikt uninstall", ["last"], "`guard_tamper` is a red line: no grant and no exception gets past it"),
        ("ls", ["last"], "session `s1` stopped nothing"),
        (f"PGPASSWORD=hunter2 {FORCE_PUSH}", ["last"], "the call holds a secret, so it can't be named exactly"),
        (FORCE_PUSH, ["guard_tamper", "--path", "x"], "`guard_tamper` is a red line"),
        (FORCE_PUSH, ["git_force_pus", "--command", "x"], "no rule `git_force_pus` in the policy in force here (did"),
        (FORCE_PUSH, ["git_force_push"], "expected what the rule lets through: --path, --command or --tool"),
        (FORCE_PUSH, ["last", "--for", "ever"], "expected `once`, `session`, `always` or a time up to 30d"),
        (FORCE_PUSH, ["last", "--in-project"], "--in-project goes with `--for always`"),
        (FORCE_PUSH, ["#9"], "entry 9 of session `s1` stopped nothing"),
    ],
)
def test_allow_that_can_not_be_is_refused(env: dict[str, str], command: str, words: list[str], message: str) -> None:
    """Nothing is written."""
    decide(env, command)

    code, text = run_at_terminal(env, ANSWERS, "allow", *words)

    assert code != 0
    assert message in " ".join(text.split())
    assert list_grants(env) == []
    assert not Path(env["HOME"], ".config/verdikt").exists()


def test_allow_without_confirmation_or_terminal_or_inside_an_agent_changes_nothing(env: dict[str, str]) -> None:
    """Only a person at a terminal who types the word allows anything."""
    decide(env, FORCE_PUSH)
    words = ["allow", "last", "--reason", "x"]

    assert run_at_terminal(env, "yes", *words)[0] == 1
    assert run_at_terminal({**env, "CLAUDECODE": "1"}, "allow", *words)[0] == 1
    piped = subprocess.run([sys.executable, "-m", "verdikt", *words], env=env, input=b"allow\n", check=False)
    assert piped.returncode == 1
    assert list_grants(env) == []


EXCEPTION = RuleException(rule="r", command='a "b"\n\tc # d', reason="x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "profile: strict",
        "# why\nprofile: strict\n",
        "exceptions:\n# first\n- rule: a\n  tool: t\n  reason: z\nprofile: strict\n",
        "exceptions:\n    - {rule: a, tool: t, reason: z}\n",
        "exceptions: []\nprofile: strict\n",
        "profile: strict\nexceptions: # mine\n  - rule: a\n    tool: t\n    reason: z",
    ],
)
def test_exception_is_added_and_the_rest_of_the_file_stays(text: str) -> None:
    """The new exception comes first, and what was there is still there."""
    changed = add_exceptions(text, [EXCEPTION])
    before = parse_policy(text).layers[0]
    after = parse_policy(changed).layers[0]

    assert after.exceptions == (EXCEPTION, *before.exceptions)
    assert after.profile == before.profile
    assert all(line in changed for line in text.splitlines() if not line.startswith("exceptions:"))


def test_exceptions_in_brackets_are_left_to_the_person() -> None:
    """Rewriting the list could lose comments."""
    with pytest.raises(PolicyError, match="found one in brackets"):
        add_exceptions("exceptions: [{rule: a, tool: t, reason: z}]\n", [EXCEPTION])


@pytest.mark.parametrize(
    ("scope", "commands"),
    [
        (("--command", FORCE_PUSH), {"--command": FORCE_PUSH}),
        (("--path", "~/scratch/**"), {"--path": "rm -rf ~/scratch/old"}),
    ],
    ids=["a command", "a path"],
)
def test_allowing_a_rule_covers_the_rules_behind_it(
    env: dict[str, str], scope: tuple[str, str], commands: dict[str, str]
) -> None:
    """A person who allows a command by the rule that was named is not stopped by the next one."""
    decide(env, "ls")
    rule = "git_force_push" if scope[0] == "--command" else "delete_outside"

    code, text = run_at_terminal(env, "allow", "allow", rule, *scope, "--for", "always", "--reason", "mine")

    assert code == 0, text
    assert f"written: exception for {rule} in " in text
    assert text.count("written: exception for ") == 2, text
    assert decide(env, commands[scope[0]]) in ("pass", "warn")

    code, text = run_at_terminal(env, "allow", "allow", rule, *scope, "--for", "always", "--reason", "mine")
    assert code == 1
    assert "the policy of today lets this through: nothing to allow" in text
