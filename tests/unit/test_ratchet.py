"""The ratchet: a policy file may tighten at once, and loosen only what a person has accepted."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import accept
from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from tests.unit.test_decide import action
from verdikt.daemon.cache import PolicyCache
from verdikt.errors import PolicyError
from verdikt.govern import Governance
from verdikt.graph.pending_policy import PENDING_NOTE
from verdikt.graph.policy import Policy
from verdikt.hosts.claude import adapter
from verdikt.hosts.dispatch import dispatch_event
from verdikt.ledger import acceptance_log, backed_acceptance
from verdikt.ledger.acceptance_log import read_logged_index
from verdikt.ledger.accepted_policies import AcceptedIndex, read_index
from verdikt.model.entry import EntryKind
from verdikt.model.verdict import Decision, VerdictKind
from verdikt.observe import policy_files
from verdikt.ratchet import PolicySnapshot

LATER = 4e9
"""A time at which every file of a test has settled."""
NO_PUSH = "rules: [{name: no_push, command: git push, verdict: block, reason: it publishes, fix: wait}]\n"
NO_MAKE = "rules: [{name: no_make, command: make, verdict: block, reason: it builds, fix: wait}]\n"


class Machine:
    """A user with a project, and the warm process's cache of policies."""

    def __init__(self, directory: Path) -> None:
        self.project = directory / "project"
        self.home = directory / "home"
        self.data = directory / "data"
        self.env = {"HOME": str(self.home), "VERDIKT_HOME": str(self.data), "PATH": os.environ["PATH"]}
        for place in (self.project / ".git", self.home, self.data):
            place.mkdir(parents=True, mode=0o700)
        self.cache = PolicyCache()

    @property
    def policy_file(self) -> Path:
        """The project's policy."""
        return self.project / "governance.yaml"

    @property
    def user_file(self) -> Path:
        """The user's policy."""
        return self.home / ".config" / "verdikt" / "governance.yaml"

    def write_user(self, text: str) -> None:
        """Write the user's policy."""
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.user_file.write_text(text)

    def write(self, text: str) -> None:
        """Write the project's policy."""
        self.policy_file.write_text(text)

    def accept(self) -> Policy:
        """Accept what is on disk."""
        return accept(self.project, self.env)

    def govern(self, cwd: Path | None = None) -> Governance:
        """Return governance as a hook process loads it."""
        governance = Governance.load(cwd=str(cwd or self.project), env=self.env)
        close_after_test(governance.store)
        return governance

    def decide(self, command: str, cwd: Path | None = None) -> Decision:
        """Decide a command as a hook process does; the warm process must come to the same."""
        governance = self.govern(cwd)
        warm = self.cache.load_policy(str(cwd or self.project), self.env)
        assert [part.digest for part in warm.parts] == [part.digest for part in governance.policy.parts]
        return governance.before(action("Bash", command=command, cwd=str(cwd or self.project)))

    def kind(self, command: str, cwd: Path | None = None) -> str:
        """Return the verdict on a command in one word."""
        return self.decide(command, cwd).verdict.kind.word


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine without any policy, on which the system knows the user's home directory."""
    machine = Machine(tmp_path)
    monkeypatch.setattr(policy_files, "find_own_policy", lambda: str(machine.user_file))
    return machine


def test_loosening_waits_for_acceptance(machine: Machine) -> None:
    """A rule that was accepted and is removed still blocks, and the reason says whose rule it is."""
    machine.write(NO_PUSH)
    machine.accept()
    machine.write("profile: none\nrules: [{name: x, command: x, verdict: warn, reason: x}]\n")

    decision = machine.decide("git push")

    assert (decision.verdict.kind, decision.guard) == (VerdictKind.BLOCK, "no_push")
    assert "the accepted policy says so" in decision.verdict.reason
    assert "`verdikt policy accept`" in decision.verdict.reason
    machine.accept()
    assert machine.kind("git push") == "pass"


EXCEPT_PUSH = "exceptions: [{rule: no_push, command: git push, reason: ours alone}]\n"


def test_exception_of_a_project_counts_after_acceptance(machine: Machine) -> None:
    """Neither for a rule that was accepted before, nor in a project that was never accepted; never for a red line."""
    machine.write(NO_PUSH)
    machine.accept()
    machine.write(NO_PUSH + EXCEPT_PUSH)
    assert machine.kind("git push") == "block"
    machine.accept()
    assert machine.kind("git push") == "pass"
    assert machine.kind("git push origin main") == "block"

    tamper = "exceptions: [{rule: guard_tamper, command: verdikt uninstall, reason: r}]\n"
    machine.write(NO_PUSH + tamper)
    machine.accept()
    assert machine.kind("verdikt uninstall") == "block"


def test_exception_of_a_project_that_was_never_accepted_loosens_no_shipped_rule(machine: Machine) -> None:
    """The shipped rules are what holds until then."""
    machine.write("exceptions: [{rule: git_force_push, command: git push -f, reason: r}]\n")

    assert machine.kind("git push -f") == "block"
    machine.accept()
    assert machine.kind("git push -f") == "ask", "another rule still objects"


def test_exception_of_a_project_cannot_loosen_the_users_policy(machine: Machine) -> None:
    """Accepted or not: a lower layer loosens nothing of a higher one."""
    machine.write_user(NO_PUSH)
    machine.write(EXCEPT_PUSH)
    assert machine.kind("git push") == "block"
    machine.accept()
    assert machine.kind("git push") == "block"


def test_tightening_takes_effect_at_once(machine: Machine) -> None:
    """A rule that is added blocks without acceptance, and the reason says that it is the changed policy's."""
    machine.write(NO_PUSH)
    machine.accept()
    machine.write(NO_MAKE)

    decision = machine.decide("make all")

    assert (decision.verdict.kind, decision.guard) == (VerdictKind.BLOCK, "no_make")
    assert "the changed policy says so, which no person has accepted yet" in decision.verdict.reason
    assert machine.kind("git push") == "block"


def test_block_of_both_policies_says_that_a_change_is_pending(machine: Machine) -> None:
    """The first block tells of the pending change, whichever policy it comes from."""
    machine.write(NO_PUSH)
    machine.accept()
    machine.write(NO_PUSH + "unknown_tools: block\n")

    reason = machine.decide("git push").verdict.reason

    assert reason.startswith("it publishes (so say the accepted policy and the changed one")
    assert "`verdikt policy accept`" in reason


@pytest.mark.parametrize("change", ["deleted", "moved with the repository", "emptied"])
def test_missing_policy_leaves_the_accepted_one_in_force(machine: Machine, change: str) -> None:
    """Deleting, moving or emptying the file, with or without its repository, loosens nothing."""
    machine.write(NO_PUSH)
    machine.accept()
    if change == "emptied":
        machine.write("")
    else:
        machine.policy_file.unlink()
    if change == "moved with the repository":
        (machine.project / ".git").rmdir()

    assert machine.kind("git push") == "block"
    (machine.project / "src").mkdir()
    assert machine.kind("git push", machine.project / "src") == "block"


EVERYDAY_COMMANDS = {
    "stashed": "git stash -q -u",
    "renamed by git": "git mv governance.yaml x.yaml",
    "on a branch without it": "git switch -q loose",
    "restored from another branch": "git restore -s loose -- governance.yaml",
    "reset": "git reset -q --hard loose",
    "reverted": "git revert --no-edit HEAD",
    "edited in place": "sed -i s/block/pass/ *.yaml",
    "replaced by a copy": "cp -r other/. .",
    "unpacked over": "tar cf ../a.tar -C other . && tar xf ../a.tar",
    "patched": "git diff HEAD loose -- governance.yaml | git apply",
    "moved with its repository": "mkdir ../old && mv .git governance.yaml ../old",
    "made a directory": "rm governance.yaml && mkdir governance.yaml",
}


@pytest.mark.parametrize("way", EVERYDAY_COMMANDS)
def test_everyday_commands_do_not_take_the_policy_away(machine: Machine, way: str) -> None:
    """Whatever moves, hides or replaces the file, an accepted rule blocks afterwards as before."""
    env = machine.env | {"GIT_CONFIG_NOSYSTEM": "1", "EMAIL": "ada@example.org", "GIT_CONFIG_GLOBAL": "/dev/null"}

    def run(command: str) -> None:
        subprocess.run(["bash", "-ec", command], cwd=machine.project, env=env, check=True, capture_output=True)

    (machine.project / ".git").rmdir()
    machine.write("profile: none\n" + NO_MAKE)
    run("git init -q -b loose && git add . && git -c user.name=ada commit -qm loose")
    machine.write(NO_PUSH)
    run("git config user.name ada && git switch -q -c main && git commit -qam strict")
    (machine.project / "other").mkdir()
    (machine.project / "other" / "governance.yaml").write_text("profile: none\n" + NO_MAKE)
    if way == "stashed":
        machine.write("# not committed\n" + NO_PUSH + "unknown_tools: block\n")
    machine.accept()
    assert machine.kind("git push") == "block"

    run(EVERYDAY_COMMANDS[way])

    try:
        assert machine.kind("git push") == "block"
    except PolicyError:
        assert way == "made a directory"  # something that is no file blocks everything


@pytest.mark.parametrize("text", ["profile: [", "rules: 7", "rules: [{nonsense: 1}]"])
def test_broken_policy_blocks_with_its_message(machine: Machine, text: str) -> None:
    """A file that cannot be read as a policy blocks as before, accepted or not."""
    machine.write(NO_PUSH)
    machine.accept()
    machine.write(text)

    with pytest.raises(PolicyError, match=r"governance\.yaml:[12]:"):
        machine.govern()


def test_unreadable_policy_blocks_with_its_message(machine: Machine) -> None:
    """A directory in place of the file is no missing file."""
    machine.policy_file.mkdir()

    with pytest.raises(PolicyError, match="expected a file"):
        machine.govern()


@pytest.mark.parametrize("text", ["profile: none\n" + NO_MAKE, "profile: relaxed\n", "disable: delete_outside\n"])
def test_project_file_without_acceptance_cannot_loosen_standard(machine: Machine, text: str) -> None:
    """Where the user has no policy, a cloned project's file can only add to `standard`."""
    machine.write("profile: standard\n" + text if text.startswith("disable") else text)

    assert machine.kind("rm -rf ~/photos") == "block"
    assert machine.kind("ls") == "pass"


def test_project_file_without_acceptance_cannot_loosen_the_users_policy(machine: Machine) -> None:
    """The user's rules and posture hold, and the project's are added."""
    machine.write_user(NO_PUSH)
    machine.write("profile: none\n" + NO_MAKE)

    assert [machine.kind(command) for command in ("git push", "make", "ls")] == ["block", "block", "pass"]


def test_users_policy_is_accepted_as_first_seen_and_then_held(machine: Machine) -> None:
    """The user's own file needs no acceptance before the first session, but a change of it does."""
    machine.write_user("profile: relaxed\n" + NO_PUSH)
    assert machine.kind("git push") == "block"
    assert machine.govern().policy.pending_note == ""

    machine.user_file.unlink()
    assert machine.kind("git push") == "block"
    machine.accept()
    assert machine.kind("git push") == "pass"


def test_users_policy_that_appears_later_can_only_tighten(machine: Machine) -> None:
    """A user policy that an agent creates does not replace `standard`."""
    assert machine.kind("ls") == "pass"  # the first session: there is no user policy
    machine.write_user("profile: none\n" + NO_MAKE)

    assert machine.kind("rm -rf ~/photos") == "block"
    assert machine.kind("make") == "block"


def test_variables_of_a_session_do_not_hide_the_users_policy(machine: Machine, tmp_path: Path) -> None:
    """The user's file is also found below the home directory that the system names; both files are in force."""
    machine.write_user(NO_PUSH)
    elsewhere = tmp_path / "elsewhere" / "verdikt"
    elsewhere.mkdir(parents=True)
    (elsewhere / "governance.yaml").write_text("profile: none\n" + NO_MAKE)
    for name, value in (("XDG_CONFIG_HOME", str(tmp_path / "elsewhere")), ("HOME", str(tmp_path / "nowhere"))):
        machine.env[name] = value

        assert machine.kind("git push") == "block"
    assert machine.kind("make") == "block"


@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME", "VERDIKT_MANAGED_POLICY"])
def test_policy_that_only_a_variable_names_cannot_loosen(machine: Machine, tmp_path: Path, variable: str) -> None:
    """In the first session ever, a project's settings name a policy of their own: it can only tighten."""
    places = {"HOME": ".config/verdikt/governance.yaml", "XDG_CONFIG_HOME": "verdikt/governance.yaml"}
    file = tmp_path / "hostile" / places.get(variable, "governance.yaml")
    file.parent.mkdir(parents=True)
    file.write_text("profile: none\napprove: [{class: [read, write]}]\n" + NO_MAKE)
    machine.env[variable] = str(tmp_path / "hostile" if variable in places else file)

    assert machine.kind("git push --force origin main") == "block"
    assert not machine.decide("ls").approved
    assert machine.kind("make") == "block"


def test_home_directory_of_the_system_is_searched() -> None:
    """The place below the home directory of the user database is listed, once, whatever the variables say."""
    own = policy_files.find_own_policy()
    assert own.endswith("/.config/verdikt/governance.yaml")

    moved = policy_files.list_policy_places("/", {"HOME": "/elsewhere", "XDG_CONFIG_HOME": "/hidden"})
    usual = policy_files.list_policy_places("/", {"HOME": own.removesuffix("/.config/verdikt/governance.yaml")})

    assert [path for layer, path in moved if layer == "user"] == ["/hidden/verdikt/governance.yaml", own]
    assert [path for layer, path in usual if layer == "user"] == [own]


def test_policy_that_flips_on_every_call_never_loosens(machine: Machine) -> None:
    """Two contents in turn: what the accepted one blocks stays blocked, and the warm process keeps few policies."""
    machine.write(NO_PUSH)
    machine.accept()
    for number in range(12):
        machine.write(NO_PUSH if number % 2 else "profile: none\n" + NO_MAKE)

        assert machine.kind("git push") == "block"
    assert len(machine.cache) <= 2


@pytest.mark.parametrize("damage", ["changed", "deleted", "index", "no index", "format"])
def test_damaged_copy_of_the_accepted_policy_blocks_and_says_how_to_repair(machine: Machine, damage: str) -> None:
    """What was accepted cannot be told any more, so nothing runs until a person accepts again."""
    machine.write(NO_PUSH)
    machine.accept()
    index = machine.data / "accepted.json"
    copies = list((machine.data / "accepted").glob("*.json"))
    if damage == "index":
        index.write_text(index.read_text()[:-9])
    elif damage == "no index":
        index.unlink()
    elif damage == "format":
        index.write_text(json.dumps({**json.loads(index.read_text()), "projects": {}}))
    for copy in copies if damage in ("changed", "deleted") else ():
        copy.unlink() if damage == "deleted" else copy.write_text("{}")
    machine.write("profile: none\n" + NO_MAKE)

    for load in (machine.govern, lambda: machine.cache.load_policy(str(machine.project), machine.env)):
        with pytest.raises(PolicyError, match="a person can repair it with `verdikt policy accept`"):
            load()
    machine.accept()
    assert machine.kind("make") == "block"


FORGERIES = ("written by hand", "put back", "emptied", "deleted with its copies", "unsigned entry")


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_record_that_no_signed_entry_backs_blocks_and_says_how_to_repair(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, forgery: str, is_cached: bool
) -> None:
    """A program that writes the record of acceptances by itself decides nothing with it; accepting again repairs it."""
    if is_cached:
        monkeypatch.setattr(backed_acceptance, "SystemClock", lambda: FakeClock(seconds=LATER))
    index, log = machine.data / "accepted.json", machine.data / "ledger/operator.jsonl"
    machine.write("profile: none\n")
    machine.accept()
    earlier = index.read_bytes()
    machine.write(NO_PUSH)
    machine.accept()
    machine.write("profile: none\n")
    if forgery == "written by hand":
        PolicySnapshot.read(str(machine.project), machine.env).accept()
    elif forgery == "put back":
        index.write_bytes(earlier)
    elif forgery == "emptied":
        index.write_text(json.dumps(AcceptedIndex(user=()).dump()))
    elif forgery == "deleted with its copies":
        index.unlink()
        shutil.rmtree(machine.data / "accepted")
    else:
        PolicySnapshot.read(str(machine.project), machine.env).accept()
        entry = json.loads(log.read_text().splitlines()[-1])
        layers = json.loads(index.read_text())["projects"][str(machine.project)]
        accepted = entry["body"]["accept"] | {"layers": layers}
        log.write_text(log.read_text() + json.dumps(entry | {"body": {"accept": accepted}, "seq": 9}) + "\n")

    for load in (machine.govern, lambda: PolicyCache().load_policy(str(machine.project), machine.env)):
        with pytest.raises(PolicyError, match="a person can repair it with `verdikt policy accept`"):
            load()

    machine.accept()
    assert machine.kind("git push") == "pass"


def test_log_of_acceptances_is_read_again_only_after_a_change(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cold call does not read a long log of the operator, nor check its signatures, while it stays as it is."""
    monkeypatch.setattr(backed_acceptance, "SystemClock", lambda: FakeClock(seconds=LATER))
    machine.write(NO_PUSH)
    machine.accept()
    assert machine.kind("git push") == "block"
    reads: list[str] = []

    def count_reads(home: str) -> AcceptedIndex:
        reads.append(home)
        return read_logged_index(home)

    monkeypatch.setattr(acceptance_log, "read_logged_index", count_reads)
    assert [machine.govern().policy.pending_note for _ in range(3)] == ["", "", ""]
    assert len(reads) <= 1

    machine.govern().store.append("operator", EntryKind.GAP, {"reason": "x"})
    reads.clear()
    assert machine.govern().policy.pending_note == ""
    assert len(reads) == 1
    # A log that is gone is no longer what the cached answer was read from.
    (machine.data / "ledger/operator.jsonl").unlink()
    with pytest.raises(PolicyError, match="no signed entry of the log says so"):
        machine.govern()


def test_log_that_has_just_changed_is_not_cached(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the resolution of its time, a log could change again without showing it."""
    machine.write(NO_PUSH)
    machine.accept()
    now = (machine.data / "ledger/operator.jsonl").stat().st_ctime
    monkeypatch.setattr(backed_acceptance, "SystemClock", lambda: FakeClock(seconds=now))
    shutil.rmtree(machine.data / backed_acceptance.CACHE_DIRECTORY, ignore_errors=True)

    assert machine.govern().policy.pending_note == ""
    assert not (machine.data / backed_acceptance.CACHE_DIRECTORY).exists()


def test_acceptance_of_a_directory_keeps_those_of_others_backed(machine: Machine) -> None:
    """Layers of several directories are accepted one after another, and the log says the same as the record."""
    for name in ("one", "two"):
        (machine.project / name).mkdir()
        (machine.project / name / "governance.yaml").write_text(NO_MAKE)
        accept(machine.project / name, machine.env)
    machine.write(NO_PUSH)
    machine.accept()

    assert read_logged_index(str(machine.data)) == read_index(str(machine.data))
    assert machine.kind("make", machine.project / "one") == "block"


def test_acceptance_holds_for_a_worktree(machine: Machine, tmp_path: Path) -> None:
    """A linked work tree has what its repository's main work tree has accepted, inside of it and beside it."""
    loose = "profile: none\n" + NO_MAKE
    machine.write(loose)
    machine.accept()
    for tree in (machine.project / ".trees" / "a", tmp_path / "beside"):
        tree.mkdir(parents=True)
        (tree / ".git").write_text(f"gitdir: {machine.project}/.git/worktrees/{tree.name}\n")
        (tree / "governance.yaml").write_text(loose)

        assert machine.govern(tree).policy.pending_note == ""
        (tree / "governance.yaml").write_text("profile: none\n" + NO_PUSH)
        assert [machine.kind(command, tree) for command in ("make", "git push")] == ["block", "block"]


def test_repository_made_below_an_accepted_project_does_not_escape_it(machine: Machine) -> None:
    """A new repository in a subdirectory is governed by what is accepted around it."""
    machine.write(NO_PUSH)
    machine.accept()
    below = machine.project / "new"
    (below / ".git").mkdir(parents=True)

    assert machine.kind("git push", below) == "block"
    accept(below, machine.env)
    assert machine.kind("git push", below) == "pass"


def test_directory_policy_is_accepted_with_its_project(machine: Machine) -> None:
    """A file below the top of the project belongs to the project's acceptance, in force where it applies."""
    below = machine.project / "docs"
    below.mkdir()
    machine.write(NO_PUSH)
    machine.accept()
    (below / "governance.yaml").write_text(NO_MAKE)

    assert machine.govern(below).policy.pending_note
    assert [machine.kind("make", place) for place in (machine.project, below)] == ["pass", "block"]
    accept(below, machine.env)
    (below / "governance.yaml").unlink()
    assert [machine.kind("make", place) for place in (machine.project, below)] == ["pass", "block"]
    assert machine.govern().policy.pending_note == ""


def test_imports_wait_for_acceptance(machine: Machine) -> None:
    """A guard that a file imports is neither imported nor in force before acceptance; its neighbours are."""
    guard = "use: tests.policies:Saying, with: {says: block}"
    for text in (
        f"guards: [{{{guard}}}, {{bash_safety: {{blocked_patterns: [make]}}}}]",
        f"profile: none\nany: [audit, {{{guard}}}]\n{NO_MAKE}",
        "profile: none\nguards: [{use: nowhere.at_all:Guard}]\n" + NO_MAKE,
    ):
        machine.write(text)

        assert [machine.kind(command) for command in ("make", "ls")] == ["block", "pass"], text
    machine.write(f"guards: [{{{guard}}}]")
    machine.accept()
    assert machine.kind("ls") == "block"
    machine.write(f"guards: [{{{guard}}}]\n{NO_MAKE}")
    assert machine.kind("ls") == "block"


def test_approvals_need_both_policies(machine: Machine) -> None:
    """A host may skip its prompt only for what the accepted and the changed policy approve."""
    machine.write_user("approve: [{class: read}]\n")
    assert machine.decide("ls").approved
    machine.write_user("approve: [{class: [read, write]}]\n")
    assert machine.decide("ls").approved
    assert not machine.decide("touch a").approved
    machine.write_user("profile: standard\n")
    assert not machine.decide("ls").approved


def test_sections_of_both_policies_are_in_force(machine: Machine) -> None:
    """Completion checks, feedback and evidence of both hold; equal ones count once."""
    checks = "completion: {checks: [{files: [%s]}]}\n"
    machine.write("evidence: {mode: enforce}\n" + checks % "a.txt")
    machine.accept()
    validators = "validators: [{name: easy, command: 'true'}]"
    machine.write(f"evidence: {{mode: 'off', memory: ../x, notices: ~/notes, {validators}}}\n" + checks % "b.txt")

    policy = machine.govern().policy

    evidence = policy.section("evidence")
    assert (evidence.mode, evidence.memory, evidence.notices, evidence.validators) == ("enforce", "", "", ())
    assert [completion.checker.files for completion in policy.section("completion")] == [("a.txt",), ("b.txt",)]
    machine.write("evidence: {mode: shadow}\n" + checks % "a.txt")
    assert len(machine.govern().policy.section("completion")) == 1


def test_removed_evidence_section_counts_with_its_defaults(machine: Machine) -> None:
    """Switching the gate off where the accepted policy says nothing of it waits, because it is on by default."""
    machine.write(NO_PUSH)
    machine.accept()
    machine.write(NO_PUSH + "evidence: {mode: 'off'}\n")

    assert machine.govern().policy.section("evidence").mode == "shadow"


def test_reviewers_that_run_commands_wait_for_acceptance(machine: Machine) -> None:
    """No command runs before acceptance, but its report is required; accepted councils stay beside changed ones."""

    def list_reviewers() -> dict[str, dict[str, bool]]:
        councils = machine.govern().policy.section("councils")
        assert councils.runs_dir in ("", "/elsewhere")
        return {
            name: {reviewer.name: bool(reviewer.command) for reviewer in council.reviewers}
            for name, council in councils.councils.items()
            if council.guardrail
        }

    council = "councils: {ship: {guardrail: true, reviewers: {%s}}, runs_dir: /elsewhere}\n"
    machine.write(council % "lint: {command: make lint}, eyes: {agent: look}")
    assert list_reviewers() == {"ship": {"lint": False, "eyes": False}}
    assert machine.govern().policy.section("councils").runs_dir == ""
    machine.accept()
    assert list_reviewers() == {"ship": {"lint": True, "eyes": False}}
    machine.write(council % "other: {command: make other}")
    assert list_reviewers() == {"ship": {"lint": True, "eyes": False}, "ship (changed)": {"other": False}}


def test_posture_is_the_stricter_of_both(machine: Machine) -> None:
    """A session starts in the stricter posture that the accepted or the changed policy names."""
    machine.write("posture: autonomous\n")
    machine.accept()
    for text, posture in (("posture: interactive\n", "autonomous"), ("posture: locked\n", "locked")):
        machine.write(text)

        assert machine.govern().policy.posture == posture


def test_pending_decision_counts_a_budget_once(machine: Machine) -> None:
    """An action that two policies with the same budget decide counts once in it."""
    machine.write("guards: [{budget: {max_tasks: 3}}]\n")
    machine.accept()
    machine.write("guards: [{budget: {max_tasks: 3}}]\n" + NO_MAKE)

    assert [machine.kind("ls") for _ in range(4)] == ["pass", "pass", "pass", "block"]


def test_receipt_names_the_accepted_policy_only_while_a_change_is_pending(machine: Machine) -> None:
    """Without a pending change a receipt is as it always was."""
    machine.write(NO_PUSH)
    accepted = machine.accept()
    plain = machine.decide("ls").receipt.dump()
    machine.write(NO_MAKE)
    pending = machine.decide("ls").receipt.dump()

    assert (plain["v"], plain["policy"], "accepted" in plain) == (1, accepted.digest, False)
    assert (pending["v"], pending["accepted"]) == (2, accepted.digest)
    assert pending["policy"] != accepted.digest


def test_session_start_says_that_a_change_is_pending(machine: Machine) -> None:
    """The host gets the note at the start of a session, and none when all is accepted."""
    machine.write(NO_PUSH)
    texts = []
    for _ in range(2):
        payload = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(machine.project)}
        event = adapter.decode(payload, "SessionStart", machine.env)
        texts.append(dispatch_event(machine.govern(), event, machine.env).context)
        machine.accept()

    assert PENDING_NOTE in texts[0]
    assert PENDING_NOTE not in texts[1]


def test_changes_are_listed_by_layer(machine: Machine) -> None:
    """A snapshot tells which layer is new, changed or removed."""

    def list_kinds() -> list[Any]:
        changes = PolicySnapshot.read(str(machine.project), machine.env).list_changes()
        return [(change.layer, change.kind) for change in changes]

    machine.write(NO_PUSH)
    assert list_kinds() == [("project", "new")]
    machine.accept()
    assert list_kinds() == []
    machine.write(f"# a comment says nothing\n{NO_PUSH}")
    assert list_kinds() == []
    machine.write(NO_MAKE)
    machine.write_user("profile: relaxed\n")
    assert list_kinds() == [("user", "new"), ("project", "changed")]
    machine.policy_file.unlink()
    assert ("project", "removed") in list_kinds()


def test_named_file_is_accepted_by_naming_it(machine: Machine) -> None:
    """A program that names a file has decided: it means what it says."""
    machine.write("profile: none\n" + NO_MAKE)
    governance = Governance.load(machine.policy_file, env=machine.env)
    close_after_test(governance.store)

    assert governance.before(action("Bash", command="rm -rf ~/photos")).passed
    assert [entry.kind for entry in governance.store.read_entries("s1")] in ([EntryKind.DECISION], [])
