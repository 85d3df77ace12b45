"""Approvals away from the terminal, on the machine: what is asked, what an answer covers, and that it counts once."""

import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.asking_machine import POLICY, SCRIPT, AskingMachine, build_call
from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.govern import Governance
from verdikt.graph.pending_policy import PendingPolicy
from verdikt.hosts.host_decision import HostDecision
from verdikt.ledger.approval_outbox import list_announced
from verdikt.ledger.approvals import MAX_WAITING, count_calls, describe_request, read_request_state, record_approval
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import APPROVALS, load_projections
from verdikt.model.action import Action, Outcome
from verdikt.model.approval import ApprovalState
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.entry import EntryKind
from verdikt.model.posture import Posture
from verdikt.model.verdict import Decision, VerdictKind
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay
from verdikt.report.entry_line import summarize_entry


@pytest.fixture
def machine(tmp_path: Path) -> AskingMachine:
    """Return a machine that has a service."""
    return AskingMachine(tmp_path / "data")


def is_blocked(decision: Decision) -> bool:
    """Return whether a call must not run."""
    return decision.verdict.kind is VerdictKind.BLOCK


def test_a_call_that_a_group_has_to_approve_waits_and_says_how(machine: AskingMachine) -> None:
    """The agent hears for what it waits, and that it can go on or make the same call again."""
    decision = machine.decide()

    assert is_blocked(decision)
    id, _ = machine.ask()
    assert f"waiting for approval {id} by 2 of `release` (not the person of this machine)" in decision.verdict.reason
    assert decision.verdict.fix.startswith("go on with something else, or make exactly this call again")
    # Twice the same call is one question.
    assert len(machine.store.read_projection(APPROVALS.name, "s1")) == 1
    assert list_announced(machine.store.home) == {id: "s1"}


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("./deploy.sh prod", "those whom the policy names approve it in the browser"),
        ("release-it --major", "those whom the policy names approve it in the browser"),
        ("twine upload dist/*", "verdikt allow last"),
    ],
)
def test_the_person_hears_what_would_let_the_call_through(machine: AskingMachine, command: str, hint: str) -> None:
    """An exception at the terminal does not answer for a group or a key, so it is named only where it does."""
    verdict = machine.decide(build_call(command)).verdict

    assert hint in HostDecision.from_verdict(verdict).how_to_allow


def test_the_question_and_its_answer_are_signed_entries(machine: AskingMachine) -> None:
    """Question, answer and use are in the log, signed, in this order."""
    machine.answer(*machine.ask())
    machine.decide()

    signed = [entry for entry in machine.store.read_entries("s1") if entry.sig]
    assert [(entry.kind, *sorted(entry.body)[:1]) for entry in signed] == [
        (EntryKind.APPROVAL, "request"),
        (EntryKind.GRANT, "approval"),
        (EntryKind.APPROVAL, "closed"),
    ]


def test_an_approved_call_runs_once(machine: AskingMachine) -> None:
    """The next exact repetition passes and names who approved it; the one after it is asked about again."""
    id, digest = machine.ask()
    machine.answer(id, digest)

    first, second = machine.decide(), machine.decide()

    assert first.passed
    assert first.verdict.reason == f"approved by Ana, Ben ({id}): deploys to production"
    assert is_blocked(second)
    assert f"approval {id} was used already; waiting for approval" in second.verdict.reason
    assert read_request_state(machine.store, "s1", id) is ApprovalState.USED


def test_every_decision_about_an_approval_replays_to_the_byte(machine: AskingMachine) -> None:
    """Asked, approved, refused: the receipt has what the decision went by."""
    machine.answer(*machine.ask())
    machine.decide()
    machine.answer(*machine.ask(), approved=False)
    machine.decide()

    decisions = [past for entry in machine.store.read_entries("s1") if (past := read_decision(entry)) is not None]
    assert len(decisions) == 4
    for past in decisions:
        assert find_differences(past, replay(past, machine.governance.policy)) == []


def change_argument(machine: AskingMachine) -> Action:
    """Ask for something else."""
    return build_call("./deploy.sh prod --force")


def edit_script(machine: AskingMachine) -> Action:
    """Edit the script after the answer."""
    machine.world.texts[SCRIPT] = "kubectl delete namespace prod\n"
    return build_call()


def change_policy(machine: AskingMachine) -> Action:
    """Take another policy into force."""
    machine.govern(POLICY.replace("deploys to production", "deploys"))
    return build_call()


def change_session(machine: AskingMachine) -> Action:
    """Make the call in another session."""
    return build_call(session="s2")


def change_machine(machine: AskingMachine) -> Action:
    """Be another machine of the service."""
    (machine.store.home / "ship" / "config.json").write_text('{"url": "https://verdikt.example", "machine": 8}')
    return build_call()


def let_it_expire(machine: AskingMachine) -> Action:
    """Wait until the answer is too old."""
    machine.clock.seconds += 1801
    return build_call()


def set_clock_back(machine: AskingMachine) -> Action:
    """Set the clock back, so that the answer would last longer."""
    machine.clock.seconds -= 3600
    return build_call()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (change_argument, "was for another call"),
        (edit_script, "a script, a link or a commit that this call rests on has changed since approval"),
        (change_policy, "the policy has changed since approval"),
        (change_session, "is one of another session"),
        (change_machine, "was given to another machine"),
        (let_it_expire, "could be used until"),
        (set_clock_back, "the clock of this machine was set back after approval"),
    ],
)
def test_an_approval_covers_nothing_else(machine: AskingMachine, change: Any, reason: str) -> None:
    """Whatever changed after the answer, the call is blocked, with a reason of its own, and asked about again."""
    id, digest = machine.ask()
    machine.answer(id, digest)
    action = change(machine)

    decision = machine.decide(action)

    assert is_blocked(decision)
    assert reason in decision.verdict.reason
    assert "waiting for approval" in decision.verdict.reason


def test_the_same_call_of_another_session_is_told_apart_from_another_call(machine: AskingMachine) -> None:
    """Only the very same call has an approval elsewhere; and what was used there is no longer spoken of."""
    machine.answer(*machine.ask())

    other_call = machine.decide(build_call("./deploy.sh stage", session="s2"))
    same_call = machine.decide(build_call(session="s2"))

    assert "another session" not in other_call.verdict.reason
    assert "another session" in same_call.verdict.reason
    assert machine.decide().passed, "the session that has it uses it"


def test_a_call_that_is_repeated_while_it_waits_is_counted_in_the_log(machine: AskingMachine) -> None:
    """One request with a counter; the end of a request is not a repetition of it."""
    id, digest = machine.ask()
    machine.decide()
    machine.decide()
    request = describe_request(machine.store, "s1", id)
    machine.answer(id, digest)
    machine.decide()

    assert request is not None
    assert request["calls"] == count_calls(machine.store, "s1", id) == 3
    assert read_request_state(machine.store, "s1", id) is ApprovalState.USED
    assert count_calls(machine.store, "s1", "00000000") == 0
    lines = [summarize_entry(entry) for entry in machine.store.read_entries("s1")]
    assert sum(f"approval {id} waited for again" in line for line in lines) == 2


def test_two_uses_at_once_are_one(machine: AskingMachine) -> None:
    """Of many threads that make the approved call at once, one runs it."""
    machine.answer(*machine.ask())
    decisions: list[Decision] = []
    barrier = threading.Barrier(6)

    def call() -> None:
        barrier.wait()
        decisions.append(machine.decide())

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(decision.passed for decision in decisions) == 1


def test_a_refusal_stands_and_names_the_person(machine: AskingMachine) -> None:
    """The agent hears who refused and why; the question is not asked again until it would have expired."""
    id, digest = machine.ask()
    machine.answer(id, digest, approved=False)

    decisions = [machine.decide(), machine.decide()]

    assert all(map(is_blocked, decisions))
    assert decisions[1].verdict.reason.startswith("refused by Ana: not on a Friday")
    assert len(machine.store.read_projection(APPROVALS.name, "s1")) == 1
    with pytest.raises(LedgerError, match="was answered before"):
        machine.answer(id, digest)


def test_a_question_that_no_person_answers_expires(machine: AskingMachine) -> None:
    """After its time the agent hears that no answer came, and the question is asked again as another one."""
    id, _ = machine.ask()
    machine.clock.seconds += 4 * 3600

    decision = machine.decide()

    assert f"no answer to approval {id} came until" in decision.verdict.reason
    assert read_request_state(machine.store, "s1", id) is ApprovalState.EXPIRED
    assert len(machine.store.read_projection(APPROVALS.name, "s1")) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"session": "s2"}, "was not asked for in the session `s2`"),
        ({"digest": "0" * 64}, "is for another call"),
        ({"id": "00000000"}, "was not asked for"),
        ({"until": 0.0}, "came too late"),
    ],
)
def test_an_answer_to_another_question_is_refused(machine: AskingMachine, change: dict[str, Any], message: str) -> None:
    """What a service sends is held against the log's own question."""
    id, digest = machine.ask()
    machine.decide(build_call(session="s2"))
    fields: dict[str, Any] = {
        "session": "s1",
        "id": id,
        "digest": digest,
        "approved": True,
        "by": ["Ana"],
        "until": machine.clock.now() + 60,
    }

    with pytest.raises(LedgerError, match=message):
        record_approval(machine.store, **{**fields, **change})


def test_ten_questions_may_wait(machine: AskingMachine) -> None:
    """The eleventh is blocked without a question, in its own words."""
    for number in range(MAX_WAITING):
        machine.decide(build_call(f"./deploy.sh {number}"))

    decision = machine.decide(build_call("./deploy.sh more"))

    assert is_blocked(decision)
    assert f"{MAX_WAITING} approvals of this session wait for an answer already" in decision.verdict.reason
    assert len(list_announced(machine.store.home)) == MAX_WAITING


def test_the_terminal_cannot_answer_for_a_group(machine: AskingMachine) -> None:
    """Neither an SDK's yes, nor the operator's grant gets past a question to a group."""
    machine.decide(build_call(call="c1"))

    with pytest.raises(LedgerError, match="no question about the call"):
        machine.governance.record_answer("s1", "c1", approved=True, by="me")
    assert is_blocked(machine.decide(build_call(call="c1")))


def test_the_person_of_the_machine_is_asked_at_the_terminal_too(machine: AskingMachine) -> None:
    """With `by: self` the host prompts; without a person there it is a block that waits for the browser."""
    attended = machine.decide(build_call("twine upload dist/*", call="c1"))
    alone = machine.decide(build_call("twine upload dist/*", session="s2"), Posture.AUTONOMOUS)

    assert attended.verdict.kind is VerdictKind.ASK
    assert is_blocked(alone)
    assert "waiting for approval" in alone.verdict.reason


def test_the_answer_at_the_terminal_ends_the_question(machine: AskingMachine) -> None:
    """What ran after the host's prompt cannot run again by an answer that comes later."""
    action = build_call("twine upload dist/*", call="c1")
    id, digest = machine.ask(action)
    machine.governance.after(action, Outcome(success=True))

    with pytest.raises(LedgerError, match="used or answered at the terminal before"):
        machine.answer(id, digest)
    assert read_request_state(machine.store, "s1", id) is ApprovalState.CANCELLED


def test_an_answer_that_came_while_the_prompt_was_open_is_used_by_the_prompt(machine: AskingMachine) -> None:
    """Approved in the browser and at the terminal: it has run once, and the next call is asked about."""
    action = build_call("twine upload dist/*", call="c1")
    machine.answer(*machine.ask(action))
    machine.governance.after(action, Outcome(success=True))

    assert machine.decide(build_call("twine upload dist/*", call="c2")).verdict.kind is VerdictKind.ASK


def test_a_forged_state_database_approves_nothing(machine: AskingMachine) -> None:
    """`state.db` says only where to look; an entry that is no signed answer does not count."""
    id, _ = machine.ask()
    unsigned = machine.store.append("s1", EntryKind.GAP, {"approval": {"id": id, "approved": True, "until": 10**10}})
    with machine.store.session("s1") as log:
        log.states[APPROVALS.name] = {
            id: {**log.read_projection(APPROVALS.name)[id], "answer": unsigned.seq, "approved": True, "until": 10**10}
        }
        log.change_seqs[APPROVALS.name] = log.head.seq

    decision = machine.decide()

    assert is_blocked(decision)
    assert f"the answer to approval {id} is not signed as it should be" in decision.verdict.reason


def test_an_answer_survives_the_process(machine: AskingMachine, tmp_path: Path) -> None:
    """Asked, answered, and the machine killed before the use: another process uses it, once."""
    machine.answer(*machine.ask())
    machine.store.close()

    again = AskingMachine(tmp_path / "data")

    assert [again.decide().passed, again.decide().passed] == [True, False]


def test_what_is_shown_to_people_has_the_digest_they_approve(machine: AskingMachine) -> None:
    """The document that the service receives hashes to the digest, and holds what verdikt computed."""
    id, digest = machine.ask()
    request = describe_request(machine.store, "s1", id)

    assert request is not None
    assert hash_canonical(request["document"]) == digest
    assert request["document"]["pinned"]["texts"].keys() >= {SCRIPT}
    assert request["rule"] == "deploy"


def test_without_a_service_the_agent_hears_so(tmp_path: Path) -> None:
    """A group cannot be asked by a machine that has no service."""
    machine = AskingMachine(tmp_path / "data")
    (machine.store.home / "ship" / "config.json").unlink()

    verdict = machine.decide().verdict

    assert "this machine has no service" in verdict.reason
    # No answer can come, so there is nothing to make the call again for.
    assert "make exactly this call again" not in verdict.fix


def test_the_needs_of_all_rules_that_fire_are_joined(tmp_path: Path) -> None:
    """Two rules about one call: both groups have to approve, whichever stands first."""
    rules = POLICY + (
        "  - name: audit\n    command: [./deploy.sh]\n    verdict: ask\n    reason: r\n    fix: f\n"
        "    approval: {by: {group: security}}\n"
        "  - {name: plain, command: [./deploy.sh], verdict: ask, reason: r, fix: f}\n"
    )
    machine = AskingMachine(tmp_path / "data", rules)

    assert "by 2 of `release` (not the person of this machine) and `security`" in machine.decide().verdict.reason


def test_the_log_says_in_words_what_became_of_a_question(machine: AskingMachine) -> None:
    """Asked, approved, used; and refused, with the reason."""
    id, digest = machine.ask()
    machine.answer(id, digest)
    machine.decide()
    other, digest = machine.ask()
    machine.answer(other, digest, approved=False)

    lines = [summarize_entry(entry) for entry in machine.store.read_entries("s1") if entry.sig]
    assert [line for line in lines if id in line or other in line] == [
        f"approval {id} asked for, digest {lines[0][-12:]}",
        f"approval {id} approved by Ana, Ben",
        f"approval {id} used",
        f"approval {other} asked for, digest {digest[:12]}",
        f"approval {other} refused by Ana: not on a Friday",
    ]


@pytest.mark.parametrize("is_tightened_first", [True, False])
def test_while_a_change_of_the_policy_is_pending_both_policies_are_satisfied(
    tmp_path: Path, *, is_tightened_first: bool
) -> None:
    """A change to another group counts at once; a plain block of either policy is nothing that people could approve."""
    other = POLICY.replace("group: release", "group: security")
    machine = AskingMachine(tmp_path / "data")
    policies = [parse_policy(POLICY), parse_policy(other)]
    machine.governance.policy = PendingPolicy(*(policies if is_tightened_first else policies[::-1]))
    reason = machine.decide().verdict.reason
    assert "of `release`" in reason
    assert "of `security`" in reason
    machine.answer(*machine.ask())
    assert machine.decide().passed

    block = parse_policy(
        "profile: none\nrules: [{name: n, command: ./deploy.sh, verdict: block, reason: no, fix: f}]\n"
    )
    machine.governance.policy = PendingPolicy(*([policies[0], block] if is_tightened_first else [block, policies[0]]))
    assert "waiting for approval" not in machine.decide().verdict.reason


class PushingProject:
    """A repository whose pushes a group has to approve."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.root.mkdir()
        self.env = {"HOME": str(directory), "PATH": os.environ["PATH"]}
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", str(directory / "remote.git"))
        self.commit("first")
        rule = "{name: p, effect: git.push, verdict: ask, reason: pushes, fix: wait, approval: {by: {group: release}}}"
        policy = parse_policy(f"profile: none\nrules: [{rule}]\n")
        self.store = close_after_test(FileStore(directory / "data", FakeClock(), load_projections()))
        self.governance = Governance(policy, self.store, env=self.env, clock=FakeClock())

    def git(self, *arguments: str) -> None:
        """Run git in the repository."""
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
        command = ["git", "-C", str(self.root), *identity, *arguments]
        subprocess.run(command, check=True, env=self.env, capture_output=True)

    def commit(self, message: str) -> None:
        """Make a commit."""
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def push(self, command: str) -> Decision:
        """Return the decision on a push."""
        cwd = "/" if command.startswith("cd /") else str(self.root)
        return self.governance.before(replace(build_call(command), cwd=cwd))

    def approve(self) -> None:
        """Answer the newest question with yes, if there is one."""
        requests = self.store.read_projection(APPROVALS.name, "s1")
        for id, request in sorted(requests.items(), key=lambda item: item[1]["seq"])[-1:]:
            until = FakeClock().now() + 60
            record_approval(self.store, "s1", id, digest=request["digest"], approved=True, by=["Ana"], until=until)


@pytest.mark.parametrize(
    ("before", "push", "after"),
    [
        ("", "git push origin main", "commit --allow-empty -m smuggled"),
        # A branch without commits: git cannot say which commit HEAD is.
        ("switch -q --orphan empty", "git push origin main", "update-ref refs/heads/main {other}"),
        ("", "git push origin main", "config remote.origin.pushurl https://elsewhere.example/x.git"),
        ("", "git push origin main", "config url.https://elsewhere.example/.pushInsteadOf /"),
        ("", "git push origin main", "config remote.origin.push +refs/heads/*:refs/heads/*"),
        (
            "update-ref refs/remotes/origin/x HEAD",
            "git push origin origin/x:main",
            "update-ref refs/remotes/origin/x {other}",
        ),
        ("update-ref refs/stash HEAD", "git push origin stash:main", "update-ref refs/stash {other}"),
        ("update-ref ORIG_HEAD HEAD", "git push origin ORIG_HEAD:main", "update-ref ORIG_HEAD {other}"),
        ("", "git push origin main@{1.second.ago}:main", "update-ref refs/heads/main {other}"),
        ("", "cd / && git -C {root} push origin main", "update-ref refs/heads/main {other}"),
        ("", "cd / && git --git-dir={root}/.git push origin main", "update-ref refs/heads/main {other}"),
        ("", "cd / && GIT_DIR={root}/.git git push origin main", "update-ref refs/heads/main {other}"),
        ("", "cd / && cd {root} && git push origin main", "update-ref refs/heads/main {other}"),
        ("", 'cd "$WHERE" && git push origin main', "update-ref refs/heads/main {other}"),
    ],
)
def test_an_approved_push_sends_the_same_commits_to_the_same_place(
    tmp_path: Path, before: str, push: str, after: str
) -> None:
    """Whatever a push reads from the repository is part of what is approved; what cannot be read is not approved."""
    project = PushingProject(tmp_path)
    project.commit("other")
    project.git("tag", "other")
    project.git("reset", "-q", "--soft", "HEAD^")
    if before:
        project.git(*before.split())
    push = push.replace("{root}", str(project.root))
    project.push(push)
    project.approve()

    project.git(*(word.format(other="other") if "{other}" in word else word for word in after.split()))
    changed = project.push(push)
    assert is_blocked(changed)
    reasons = ("that this call rests on has changed", "what this would run or push cannot be told")
    assert any(reason in changed.verdict.reason for reason in reasons)


def test_an_approved_push_that_nothing_changed_runs(tmp_path: Path) -> None:
    """Also from another directory, from a branch without commits, and from a commit without a branch."""
    project = PushingProject(tmp_path)
    elsewhere = f"cd / && git -C {project.root} push origin main"
    project.push(elsewhere)
    project.approve()
    assert project.push(elsewhere).passed
    for switch in ("switch -q main", "switch -q --orphan empty", "checkout -q --detach main"):
        project.git(*switch.split())
        project.push("git push origin main")
        project.approve()
        assert project.push("git push origin main").passed, switch


def fill_script(script: Path, line: str) -> None:
    """Write a script that is too long to be read as text."""
    script.write_text("# filler\n" * 10_000 + line)
    script.chmod(0o755)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (partial(fill_script, line="echo a\n"), partial(fill_script, line="echo b\n")),
        (partial(Path.unlink, missing_ok=True), partial(fill_script, line="echo b\n")),
        (os.mkfifo, lambda path: None),
    ],
)
def test_a_script_that_could_not_be_read_is_approved_by_its_content(
    tmp_path: Path, before: Callable[[Path], None], after: Callable[[Path], None]
) -> None:
    """What is too long to be shown is pinned all the same; of a pipe nothing can be, so it is not asked about."""
    script = tmp_path / "deploy.sh"
    rule = "{name: d, command: bash, verdict: ask, reason: deploys, fix: wait, approval: {by: {group: release}}}"
    store = close_after_test(FileStore(tmp_path / "data", FakeClock(), load_projections()))
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    governance = Governance(parse_policy(f"profile: none\nrules: [{rule}]\n"), store, env=env, clock=FakeClock())
    call = replace(build_call("bash deploy.sh"), cwd=str(tmp_path))
    before(script)
    governance.before(call)
    for id, request in store.read_projection(APPROVALS.name, "s1").items():
        until = FakeClock().now() + 60
        record_approval(store, "s1", id, digest=request["digest"], approved=True, by=["Ana"], until=until)

    after(script)
    assert is_blocked(governance.before(call))
