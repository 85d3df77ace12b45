"""A call that a person was asked about stays asked, in every process, until the answer is recorded."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.errors import LedgerError
from verdikt.govern import Governance
from verdikt.ledger.audit import audit
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import ASKS, MAX_STANDING_ASKS, load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Prompt, Turn
from verdikt.model.posture import Posture
from verdikt.model.verdict import VerdictKind
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay
from verdikt.report.entry_line import summarize_entry

RULE = "  - {{name: deploys, command: deploy, verdict: {}, reason: it goes live, fix: wait for a release}}\n"
ASKING = "profile: none\nrules:\n" + RULE.format("ask")
BLOCKING = "profile: none\nrules:\n" + RULE.format("block")
LOOSE = "profile: none\n"
LOOSE_TOOLS = "profile: relaxed\nunknown_tools: pass\n"
POLICIES = {"asking": ASKING, "blocking": BLOCKING, "loose": LOOSE}


def build_call(command: str = "deploy now", call: str = "c1", **fields: str) -> Action:
    """Return a shell command with a call id."""
    kind, cwd = ActionKind.BASH, fields.pop("cwd", "/home/dev/project")
    return Action(kind=kind, tool="sh", payload={"command": command}, session_id="s1", call_id=call, cwd=cwd, **fields)


class Processes:
    """Governances over one log, each with a store of its own, as if in a process of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def start(self, policy: str) -> Governance:
        """Return governance by a policy, opened afresh."""
        store = close_after_test(FileStore(self.home, FakeClock(), load_projections(), durable=False))
        return Governance(
            parse_policy(POLICIES.get(policy, policy)),
            store,
            world_factory=lambda cwd: FakeWorld(cwd=cwd or "/home/dev/project"),
            clock=FakeClock(),
            env={"HOME": "/home/dev"},
        )


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Return processes over one log that verifies in the end, and whose decisions replay."""
    processes = Processes(tmp_path / "data")
    yield processes
    report = audit(processes.home, projections=load_projections())
    assert [finding for finding in report.findings if not finding.is_note] == []
    store = FileStore(processes.home, FakeClock(), load_projections(), durable=False)
    with store:
        policies = {policy.digest: policy for policy in map(parse_policy, POLICIES.values())}
        for entry in store.read_entries("s1"):
            if (past := read_decision(entry)) is not None and past.policy in policies:
                assert find_differences(past, replay(past, policies[past.policy])) == []


@pytest.mark.parametrize(
    ("answer", "policy_then", "verdict"),
    [
        (None, "asking", VerdictKind.ASK),
        (None, "loose", VerdictKind.ASK),
        (None, "blocking", VerdictKind.BLOCK),
        (True, "asking", VerdictKind.WARN),
        (True, "loose", VerdictKind.PASS),
        (True, "blocking", VerdictKind.BLOCK),
        (False, "asking", VerdictKind.BLOCK),
        (False, "loose", VerdictKind.BLOCK),
        (False, "blocking", VerdictKind.BLOCK),
    ],
)
def test_call_that_was_asked_about_is_decided_by_answer_and_policy(
    processes: Processes, answer: bool | None, policy_then: str, verdict: VerdictKind
) -> None:
    """A question outlives a looser policy, a no outlives everything, and a yes gets past nothing but the question."""
    assert processes.start("asking").before(build_call()).verdict.kind is VerdictKind.ASK
    if answer is not None:
        processes.start("asking").record_answer("s1", "c1", approved=answer, by="ann", channel="web")

    decision = processes.start(policy_then).before(build_call())

    assert decision.verdict.kind is verdict


@pytest.mark.parametrize("posture", [None, Posture.AUTONOMOUS])
def test_approval_holds_in_a_resumed_autonomous_run(processes: Processes, posture: Posture | None) -> None:
    """A resumed run may be autonomous: the person has answered already."""
    governance = processes.start("asking")
    governance.before(build_call())
    governance.record_answer("s1", "c1", approved=True, by="ann", channel="web")

    decision = governance.before(build_call(), posture=posture)

    assert decision.passed
    assert decision.verdict.reason == "approved by `ann`: it goes live"


@pytest.mark.parametrize(
    "other", [build_call("deploy all"), build_call(call="c2"), build_call(cwd="/home/dev/elsewhere")]
)
def test_approval_covers_neither_other_arguments_nor_another_call(processes: Processes, other: Action) -> None:
    """A yes is bound to the call, its input and its directory."""
    governance = processes.start("asking")
    governance.before(build_call())
    governance.record_answer("s1", "c1", approved=True, by="ann", channel="web")

    assert governance.before(other).verdict.kind is VerdictKind.ASK


def test_approval_covers_one_run(processes: Processes) -> None:
    """Once the outcome is recorded, the same call is asked about again."""
    governance = processes.start("asking")
    governance.before(build_call())
    governance.record_answer("s1", "c1", approved=True, by="ann", channel="web")
    assert governance.before(build_call()).passed
    governance.after(build_call(), Outcome(success=True))

    assert governance.before(build_call()).verdict.kind is VerdictKind.ASK


def test_rejection_outlives_a_reported_run(processes: Processes) -> None:
    """A host that ran a rejected call does not get it allowed by reporting it."""
    governance = processes.start("asking")
    governance.before(build_call())
    governance.record_answer("s1", "c1", approved=False, by="ann", channel="web")
    governance.after(build_call(), Outcome(success=True))

    assert processes.start("loose").before(build_call()).verdict.kind is VerdictKind.BLOCK


def test_no_is_not_taken_back(processes: Processes) -> None:
    """A yes after a no is refused; a no after a yes holds."""
    governance = processes.start("asking")
    governance.before(build_call())
    governance.record_answer("s1", "c1", approved=True, by="ann", channel="web")
    governance.record_answer("s1", "c1", approved=False, by="bob", channel="web")

    with pytest.raises(LedgerError, match="the call `c1` was rejected before; a no is not taken back"):
        governance.record_answer("s1", "c1", approved=True, by="ann", channel="web")
    assert governance.before(build_call()).verdict.reason == "a person said no: it goes live"


def test_question_can_be_shown_by_another_process(processes: Processes) -> None:
    """Its reason and its fix, before and after the answer; an SDK may keep nothing but the id of the call."""
    processes.start("asking").before(build_call())
    governance = processes.start("asking")
    ask = governance.read_ask("s1", "c1")

    assert ask is not None
    assert (ask.guard, ask.reason, ask.approved) == ("deploys", "it goes live", None)
    governance.record_answer("s1", "c1", approved=True, by="ann", channel="web")
    assert governance.read_ask("s1", "c1") == ask._replace(approved=True, by="ann", channel="web")
    assert governance.read_ask("s1", "c2") is governance.read_ask("s2", "c1") is None
    assert governance.store.list_sessions() == ["operator", "s1"]


def test_answer_without_a_question_is_refused(processes: Processes) -> None:
    """Nothing can be approved in advance."""
    with pytest.raises(LedgerError, match="no question about the call `c1` is open in the session `s1`"):
        processes.start("asking").record_answer("s1", "c1", approved=True, by="ann", channel="web")


@pytest.mark.parametrize("rubbish", ["yes", 1, object()])
def test_only_a_plain_true_is_a_yes(processes: Processes, rubbish: object) -> None:
    """A text or a mock that is passed by mistake is a no."""
    governance = processes.start("asking")
    governance.before(build_call())

    governance.record_answer("s1", "c1", approved=rubbish, by="ann", channel="web")  # type: ignore[arg-type]

    assert governance.before(build_call()).verdict.kind is VerdictKind.BLOCK


def test_answer_is_a_signed_entry_with_person_channel_and_receipt(processes: Processes) -> None:
    """Who said yes, where, and to what, is in the log."""
    governance = processes.start("asking")
    asked = governance.before(build_call())
    governance.record_answer("s1", "c1", approved=True, by="ann", channel="web")

    entry = list(governance.store.read_entries("s1"))[-1]
    assert (entry.kind, bool(entry.sig)) == (EntryKind.ANSWER, True)
    assert entry.body == {
        "call_id": "c1",
        "receipt_sha256": asked.receipt.sha256,
        "approved": True,
        "by": "ann",
        "channel": "web",
    }
    assert summarize_entry(entry) == "call c1 approved by ann over web"


def test_edited_state_database_approves_nothing(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is read from the log; an index that points elsewhere is a failure, and a failure blocks."""
    governance = processes.start("asking")
    governance.before(build_call())
    forged = ASKS._replace(fold=lambda state, entry: {**state, "c1": {**state["c1"], "answer": 1, "no": False}})
    store = FileStore(
        processes.home, FakeClock(), (*(p for p in load_projections() if p.name != "asks"), forged), durable=False
    )
    close_after_test(store)
    store.append("s1", EntryKind.TOOL_CALL, {"call_id": "other"})
    forger = Governance(governance.policy, store, world_factory=lambda cwd: FakeWorld(), clock=FakeClock())

    decision = forger.before(build_call())

    assert decision.verdict.kind is VerdictKind.BLOCK
    governance.store.reindex()


def test_integers_beyond_53_bits_do_not_hide_the_question(processes: Processes) -> None:
    """The receipt has them as text; the call is still the same one."""
    policy = "profile: none\nrules:\n  - {name: ids, tool: pay, verdict: ask, reason: money, fix: wait}\n"
    action = Action(kind=ActionKind.OTHER, tool="pay", payload={"id": 2**60}, session_id="s1", call_id="c1")
    governance = processes.start(policy)
    assert governance.before(action).verdict.kind is VerdictKind.ASK
    governance.record_answer("s1", "c1", approved=False, by="ann", channel="web")

    assert processes.start(LOOSE_TOOLS).before(action).verdict.kind is VerdictKind.BLOCK


def test_number_of_standing_questions_is_bounded(processes: Processes) -> None:
    """The state is written with the log, so it must not grow with the session; the newest questions stay."""
    state: dict[str, object] = {}
    governance = processes.start("asking")
    governance.before(build_call())
    entry = next(governance.store.read_entries("s1"))
    for number in range(MAX_STANDING_ASKS + 5):
        body = {**entry.body, "call_id": f"c{number}"}
        state = ASKS.fold(state, type(entry)(seq=number + 1, ts=0, session="s1", kind=EntryKind.DECISION, body=body))

    assert len(state) == MAX_STANDING_ASKS
    assert f"c{MAX_STANDING_ASKS + 4}" in state
    assert "c0" not in state
    assert len(json.dumps(state)) < 64_000


def test_executed_call_without_a_decision_is_a_gap_at_stop(processes: Processes) -> None:
    """What the host ran and verdikt never saw is recorded."""
    governance = processes.start("loose")
    governance.before(build_call("ls"))
    governance.after(build_call("ls"), Outcome(success=True))
    turn = Turn(session_id="s1", message="", executed={"c1": "sh", "c9": "hidden"})

    governance.stop(turn)

    gaps = [entry.body for entry in governance.store.read_entries("s1") if entry.kind is EntryKind.GAP]
    assert gaps == [{"moment": "stop", "undecided": [{"tool": "hidden", "call_id": "c9"}]}]


def test_async_face_gives_the_same_answers(processes: Processes) -> None:
    """Every moment has an async form that leaves the event loop free."""
    governance = processes.start("asking")

    async def run() -> list[VerdictKind]:
        await governance.aprompt(Prompt(text="deploy it", session_id="s1"))
        calls = [build_call("ls", f"a{n}") for n in range(8)] + [build_call(call="b")]
        decisions = await asyncio.gather(*map(governance.abefore, calls))
        await asyncio.gather(*(governance.aafter(call, Outcome(success=True)) for call in calls[:8]))
        assert (await governance.astop(Turn(session_id="s1", message="done"))).allowed
        return [decision.verdict.kind for decision in decisions]

    assert asyncio.run(run()) == [VerdictKind.PASS] * 8 + [VerdictKind.ASK]


def test_cancelled_task_gets_no_decision(processes: Processes) -> None:
    """Cancellation raises where the permission would have come; what was decided is still in the log."""
    started, release = threading.Event(), threading.Event()

    def observe(cwd: str) -> FakeWorld:
        started.set()
        release.wait(10)
        return FakeWorld()

    store = close_after_test(FileStore(processes.home, FakeClock(), load_projections(), durable=False))
    governance = Governance(parse_policy(LOOSE), store, world_factory=observe, clock=FakeClock())
    ran = []

    async def act() -> None:
        if (await governance.abefore(build_call("ls"))).passed:
            ran.append("ls")

    async def run() -> None:
        task = asyncio.create_task(act())
        await asyncio.to_thread(started.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()

    asyncio.run(run())
    assert ran == []
    assert [entry.kind for entry in store.read_entries("s1")] == [EntryKind.DECISION]
