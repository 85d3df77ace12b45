"""Seed 004: tool policies, feedback, task completion. The ids of its checklist stand above the tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeWorld
from tests.guided import Guided
from verdikt.errors import GuidanceError
from verdikt.guidance.budget import Budget
from verdikt.guidance.completion import (
    Completion,
    CompositeChecker,
    FileOutputChecker,
    TaskCompletionContext,
    TaskCompletionResult,
)
from verdikt.guidance.feedback import (
    Feedback,
    FeedbackContext,
    FeedbackProviderConfig,
    FeedbackTrigger,
    FileCreatedTrigger,
    Observation,
    run_feedback_providers,
)
from verdikt.guidance.parameter_policies import ReadBeforeWritePolicy
from verdikt.guidance.provider import DeadlineFeedback, StaticFeedbackProvider, format_duration
from verdikt.guidance.sequence import SequentialDependencyPolicy
from verdikt.guidance.tool_policy import PolicyContext, PolicyDecision, PolicyState, ToolPolicy, ToolPolicyGuard
from verdikt.model.action import Outcome
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.facts import Facts
from verdikt.model.session_state import Memory, SessionState

DONE = Outcome(success=True)


def context(memory: Memory | None = None, world: FakeWorld | None = None) -> PolicyContext:
    """Build what a policy sees."""
    return PolicyContext(memory=memory or Memory(), filesystem=Facts(world) if world else None)


class Denies:
    """A policy that denies the tool `never` and counts results."""

    name = "denies"

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny the tool `never`."""
        return PolicyDecision(tool != "never", self.reason)

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Count the result."""
        context.memory.keep((context.memory.get(self.name, "seen") or 0) + 1, self.name, "seen")


# --- the definition ---------------------------------------------------------------------------------------------------


# S4-01
def test_one_definition_declares_all_three(tmp_path: Path) -> None:
    """Python and YAML alike, and exposed by the seed's names."""
    deploy = SequentialDependencyPolicy(dependencies={"deploy": {"test"}})
    hint = FeedbackProviderConfig(StaticFeedbackProvider("hi"), FeedbackTrigger(every_n_calls=1))
    checker = FileOutputChecker(("out.md",))
    gov = Guided(
        tmp_path,
        "tool_policies: [read_before_write]\nfeedback: [{static: hello, every_n_calls: 2}]\n",
        {"tool_policies": [deploy], "feedback": [hint], "completion": checker},
    ).governance()

    assert [policy.name for policy in gov.policies_for_tool("deploy")] == ["read_before_write", "sequential_dependency"]
    assert [config.provider.feedback for config in gov.feedback_providers] == ["hello", "hi"]  # type: ignore[attr-defined]
    assert gov.task_completion_checker == checker


# S4-01
def test_without_any_nothing_is_guided(tmp_path: Path) -> None:
    """Default disabled."""
    agent = Guided(tmp_path)

    assert agent.call("Write", file_path="a") == ""
    assert agent.stop().allowed
    assert agent.governance().policies_for_tool("Write") == ()
    assert agent.governance().feedback_providers == ()
    assert agent.governance().task_completion_checker is None


# --- tool policies ----------------------------------------------------------------------------------------------------


# S4-10
def test_a_denied_call_is_an_error_and_does_not_run(tmp_path: Path) -> None:
    """With the reason for the agent."""
    agent = Guided(tmp_path, "tool_policies: [{sequential_dependency: {dependencies: {deploy: [test, build]}}}]\n")

    decision = agent.before("deploy")

    assert not decision.passed
    assert decision.verdict.reason == "Tool 'deploy' requires: build, test"
    assert decision.verdict.fix


# S4-11
def test_call_needs_every_policy_of_its_tool_to_allow(tmp_path: Path) -> None:
    """Several policies govern one tool, and each of them can deny."""
    first = SequentialDependencyPolicy(dependencies={"deploy": {"test"}}, name="first")
    second = SequentialDependencyPolicy(dependencies={"deploy": {"review"}}, name="second")
    agent = Guided(tmp_path, definition={"tool_policies": [first, second]})

    assert agent.call("test") == ""
    assert agent.call("deploy") == "Tool 'deploy' requires: review"
    assert agent.call("review") == ""
    assert agent.call("deploy") == ""


# S4-11
def test_state_belongs_to_the_session(tmp_path: Path) -> None:
    """Another session starts with an empty state."""
    agent = Guided(tmp_path, "tool_policies: [{sequential_dependency: {dependencies: {deploy: [test]}}}]\n")
    agent.call("test")
    other = Guided(tmp_path, agent.policy, session="other")

    assert agent.call("deploy") == ""
    assert other.call("deploy") == "Tool 'deploy' requires: test"


# S4-12
def test_a_policy_of_ones_own_is_asked_before_and_told_after(tmp_path: Path) -> None:
    """The protocol."""
    policy = Denies("not this one")
    agent = Guided(tmp_path, definition={"tool_policies": [policy]})

    assert isinstance(policy, ToolPolicy)
    assert agent.call("never") == "not this one"
    assert agent.call("other") == ""
    assert agent.store().read_projection("memory", "s")["kept"] == {"denies|seen": 1}


# S4-13, S4-60
def test_a_decision_says_whether_and_why() -> None:
    """And has factories."""
    assert PolicyDecision.allow() == PolicyDecision(allowed=True, reason=None)
    assert PolicyDecision.deny("no") == PolicyDecision(allowed=False, reason="no")


# S4-60
def test_a_denial_without_a_reason_has_the_default(tmp_path: Path) -> None:
    """The default reason is `Denied by policy.`."""
    assert Guided(tmp_path, definition={"tool_policies": [Denies()]}).call("never") == "Denied by policy."


# S4-14
def test_the_state_names_what_succeeded() -> None:
    """As the seed's slice."""
    policy = SequentialDependencyPolicy(dependencies={"deploy": {"test", "build"}})
    memory = Memory()
    policy.on_result("test", {}, DONE, context=context(memory))

    assert policy.state(context(memory)) == PolicyState(
        policy_name="sequential_dependency", invoked_tools=frozenset({"test"}), invoked_keys=frozenset()
    )


# S4-15, S4-61
def test_names_of_what_is_missing_are_sorted() -> None:
    """`Tool 'X' requires: a, b`."""
    policy = SequentialDependencyPolicy(dependencies={"X": {"b", "a"}})

    assert policy.name == "sequential_dependency"
    assert policy.check("X", {}, context=context()).reason == "Tool 'X' requires: a, b"
    assert policy.check("a", {}, context=context()).allowed


# S4-16, S4-62
def test_an_existing_file_must_be_read_first(tmp_path: Path) -> None:
    """New files are free; what was read stays read, process after process."""
    agent = Guided(tmp_path, "tool_policies: [read_before_write]\n")
    agent.put("old.txt")

    assert agent.call("write_file", path="new.txt") == ""
    assert agent.call("write_file", path="old.txt") == "File 'old.txt' must be read before overwriting."
    assert agent.call("read_file", path="old.txt") == ""
    assert agent.call("edit_file", path="old.txt") == ""


# S4-62
def test_defaults_and_the_field_that_names_the_path() -> None:
    """`path` before `file_path`, and only text."""
    policy = ReadBeforeWritePolicy()
    world = FakeWorld(texts={"/home/dev/project/a": "x"})

    assert policy.name == "read_before_write"
    assert policy.read_tools == {"read_file"}
    assert policy.write_tools == {"write_file", "edit_file"}
    assert policy.mount_point is None
    assert policy.check("write_file", {"path": 3}, context=context(world=world)).allowed
    assert not policy.check("write_file", {"path": 3, "file_path": "a"}, context=context(world=world)).allowed
    assert policy.check("write_file", {"path": "b", "file_path": "a"}, context=context(world=world)).allowed


# S4-62
def test_a_mount_point_is_taken_off() -> None:
    """`/workspace/a` is `a`."""
    policy = ReadBeforeWritePolicy(mount_point="/workspace")
    world = FakeWorld(texts={"/home/dev/project/a": "x"})
    memory = Memory()
    policy.on_result("read_file", {"path": "/workspace/a"}, DONE, context=context(memory, world))

    assert policy.check("write_file", {"path": "a"}, context=context(memory, world)).allowed
    assert policy.check("write_file", {"path": "/a"}, context=context(memory, world)).allowed


# S4-63
def test_without_a_filesystem_it_is_denied() -> None:
    """The slogan holds: when uncertain, deny."""
    decision = ReadBeforeWritePolicy().check("write_file", {"path": "a"}, context=context())

    assert decision.reason == "No filesystem available to tell whether 'a' was read."


# S4-65
def test_policies_are_asked_in_order_and_scoped_by_name(tmp_path: Path) -> None:
    """One for a named agent leaves the others alone."""
    policy = (
        "tool_policies:\n  - once: {tool: ship}\n    agents: [builder]\n"
        "  - rate_limit: {tool: x, max_calls: 1, per_seconds: 9}\n"
    )
    builder, other = (Guided(tmp_path, policy, session=name, agent=name) for name in ("builder", "other"))
    gov = builder.governance()

    assert [p.name for p in gov.policies_for_tool("ship", agent="builder")] == ["once"]
    assert gov.policies_for_tool("ship", agent="other") == ()
    assert [p.name for p in gov.policies_for_tool("x")] == ["rate_limit"]
    assert [builder.call("ship"), builder.call("ship")] == ["", "Tool 'ship' may succeed once in a session, and has"]
    assert [other.call("ship"), other.call("ship")] == ["", ""]


# S4-66
def test_denials_count_as_calls_and_do_not_reach_on_result(tmp_path: Path) -> None:
    """For the cadence of feedback."""
    agent = Guided(tmp_path, "feedback: [{static: hi, every_n_calls: 3}]\n", {"tool_policies": [Denies("no")]})

    assert [agent.call("never"), agent.call("never")] == ["no", "no"]
    assert "hi" in agent.call("other")
    assert agent.store().read_projection("memory", "s")["kept"]["denies|seen"] == 1


# S4-66
def test_a_policy_that_raises_denies(tmp_path: Path) -> None:
    """Fail-closed."""

    class Raises(Denies):
        def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
            raise RuntimeError("broken")

    agent = Guided(tmp_path, definition={"tool_policies": [Raises()]})

    assert agent.call("any") == "guard `denies` failed: RuntimeError: broken"


# S4-67
def test_a_failed_read_does_not_count(tmp_path: Path) -> None:
    """Nor does any other failure."""
    agent = Guided(tmp_path, "tool_policies: [read_before_write]\n")
    agent.put("a")

    agent.call("read_file", path="a", outcome=Outcome(success=False))
    agent.call("read_file", path="a", outcome=Outcome(success=True, exit_code=1))

    assert agent.call("write_file", path="a") == "File 'a' must be read before overwriting."


# S4-68, W4-6
def test_the_hosts_own_tools_are_covered(tmp_path: Path) -> None:
    """Whatever they are called."""
    agent = Guided(tmp_path, "tool_policies: [read_before_write]\n")
    agent.put("a")

    for tool in ("Write", "Edit", "replace", "str_replace_editor"):
        assert agent.call(tool, file_path="a") == "File 'a' must be read before overwriting."
    agent.call("Read", file_path="a")
    assert agent.call("Edit", file_path="a") == ""


# --- feedback ---------------------------------------------------------------------------------------------------------


def collect_feedback(agent: Guided, calls: int) -> dict[int, list[str]]:
    """Call → what was said after it, for those after which anything was."""
    said = {at: agent.call("look") for at in range(1, calls + 1)}
    return {at: [line for line in text.splitlines() if line[0] != "<"] for at, text in said.items() if text}


# S4-20, S4-21
def test_each_provider_keeps_its_own_cadence(tmp_path: Path) -> None:
    """Every 3 and every 5 calls: 3, 5, 6, 9, 10."""
    agent = Guided(tmp_path, "feedback: [{static: three, every_n_calls: 3}, {static: five, every_n_calls: 5}]\n")

    assert collect_feedback(agent, 10) == {3: ["three"], 5: ["five"], 6: ["three"], 9: ["three"], 10: ["five"]}


# S4-20
def test_all_that_match_speak_at_once(tmp_path: Path) -> None:
    """In blocks with a blank line between them."""
    agent = Guided(tmp_path, "feedback: [{static: one, every_n_calls: 2}, {static: two, every_n_calls: 2}]\n")
    agent.call("look")

    assert agent.call("look") == (
        "<feedback provider='Static'>\none\n</feedback>\n\n<feedback provider='Static'>\ntwo\n</feedback>"
    )


# S4-21
def test_trigger_fires_when_one_of_its_conditions_holds(tmp_path: Path) -> None:
    """Calls or seconds, whichever comes first."""
    agent = Guided(tmp_path, "feedback: [{static: x, every_n_calls: 3, every_n_seconds: 60}]\n")

    first = agent.call("look")  # S4-70: without a history, the seconds are over
    second = agent.call("look")
    agent.clock.sleep(60)
    third = agent.call("look")
    rest = [agent.call("look") for _ in range(3)]

    assert [bool(said) for said in (first, second, third, *rest)] == [True, False, True, False, False, True]


# S4-22
def test_a_created_file_triggers_once(tmp_path: Path) -> None:
    """Even if it is deleted and made again."""
    agent = Guided(tmp_path, "feedback: [{static: found, on_file_created: report.md}]\n")

    assert agent.call("look") == ""
    agent.put("report.md")
    assert "found" in agent.call("look")
    agent.world.texts.clear()
    assert agent.call("look") == ""
    agent.put("report.md")
    assert agent.call("look") == ""


# S4-22
def test_new_session_starts_with_an_empty_state(tmp_path: Path) -> None:
    """Reset clears it."""
    agent = Guided(tmp_path, "feedback: [{static: found, on_file_created: report.md}]\n")
    agent.put("report.md")
    agent.call("look")
    agent.session = "next"

    assert "found" in agent.call("look")


# S4-24, S4-73
def test_the_deadline_is_told_with_growing_urgency() -> None:
    """The seed's texts; the warning at the threshold itself."""

    def give_feedback(left: float) -> Feedback:
        return DeadlineFeedback().provide(FeedbackContext(started=0, now=300, deadline=300 + left))

    assert give_feedback(180).render() == (
        "<feedback provider='Deadline'>\nThe work so far took 5 minutes. You have 3 minutes remaining.\n</feedback>"
    )
    assert give_feedback(121).suggestions == ()
    assert give_feedback(120).suggestions == (
        "Prioritize completing critical remaining work.",
        "Consider summarizing progress and remaining tasks.",
    )
    assert (give_feedback(120).severity, give_feedback(121).severity) == ("warning", "info")
    assert give_feedback(0).summary == "The work took 5 minutes. You have reached the time deadline."
    assert give_feedback(-5).suggestions == ("Wrap up immediately.",)
    assert not DeadlineFeedback().should_run(FeedbackContext())


# S4-24
def test_the_definition_gives_the_deadline(tmp_path: Path) -> None:
    """Counted from the session's first call."""
    agent = Guided(
        tmp_path,
        "feedback: [{deadline: {warning_threshold_seconds: 120}, every_n_seconds: 60}]\n"
        "completion: {checks: [{files: out}], deadline_seconds: 600}\n",
    )
    agent.call("look")
    agent.clock.sleep(300)
    early = agent.call("look")
    agent.clock.sleep(200)

    assert "took 5 minutes. You have 5 minutes remaining" in early
    assert "You have 1 minute remaining" in agent.call("look")


# S4-26, S4-72
def test_rendered_as_the_seed_prints_it() -> None:
    """With `->`, and with nothing in it that could be taken for our own tags."""
    feedback = Feedback(
        provider_name="Deadline",
        summary="The work so far took 5 minutes. You have 3 minutes remaining.",
        suggestions=("Prioritize completing critical remaining work.",),
    )

    assert feedback.render() == (
        "<feedback provider='Deadline'>\n"
        "The work so far took 5 minutes. You have 3 minutes remaining.\n"
        "\n"
        "-> Prioritize completing critical remaining work.\n"
        "</feedback>"
    )


# S4-27
def test_the_context_knows_calls_and_feedback() -> None:
    """By provider and in all."""
    memory = Memory()
    session = SessionState(action_count=4, history=[{"tool": name} for name in "abcd"])
    seen = FeedbackContext(session=session, memory=memory, now=10)
    config = FeedbackProviderConfig(StaticFeedbackProvider("x"), FeedbackTrigger(every_n_calls=1), "mine")
    run_feedback_providers([config], seen)
    later = FeedbackContext(session=SessionState(action_count=9), memory=memory)

    assert seen.tool_call_count == 4
    assert [call["tool"] for call in seen.recent_tool_calls(2)] == ["c", "d"]
    assert seen.recent_tool_calls(0) == seen.recent_tool_calls(-1) == []  # S4-75
    assert later.last_feedback == {"call": 4, "at": 10, "provider": "Static"}
    assert later.last_feedback_for_provider("mine") == {"call": 4, "at": 10}
    assert later.last_feedback_for_provider("another") is None
    assert later.tool_calls_since_last_feedback() == 5
    assert later.tool_calls_since_last_feedback_for_provider("mine") == 5
    assert later.tool_calls_since_last_feedback_for_provider("another") == 9


# S4-28
def test_should_run_has_the_last_word_and_leaves_the_trigger_alone() -> None:
    """A provider with nothing to say is asked again at the next call."""

    @dataclass(frozen=True, slots=True)
    class Quiet(StaticFeedbackProvider):
        def should_run(self, context: FeedbackContext) -> bool:
            return context.tool_call_count >= 5

    memory = Memory()
    config = FeedbackProviderConfig(Quiet("now"), FeedbackTrigger(every_n_calls=3))
    said = [
        bool(run_feedback_providers([config], FeedbackContext(memory=memory, calls=at)).feedback) for at in range(1, 9)
    ]

    assert said == [False, False, False, False, True, False, False, True]


# S4-30
def test_counts_are_those_of_the_prompt(tmp_path: Path) -> None:
    """When a session is used for several prompts."""
    agent = Guided(tmp_path, "feedback: [{static: x, every_n_calls: 2}]\n")
    said = []
    for prompt in ("plan", "plan", "write", "plan", "write"):
        agent.prompt = prompt
        said.append(bool(agent.call("look")))

    assert said == [False, True, False, False, True]


# S4-30, S4-31
def test_what_is_delivered_is_in_the_log(tmp_path: Path) -> None:
    """And nothing else is."""
    agent = Guided(tmp_path, "feedback: [{static: hi, every_n_calls: 2}]\n")
    agent.call("look")
    agent.call("look")

    [entry] = [entry for entry in agent.store().read_entries("s") if entry.kind is EntryKind.FEEDBACK]
    assert entry.body["given"] == [
        {"provider": "Static", "severity": "info", "text": "<feedback provider='Static'>\nhi\n</feedback>"}
    ]


# S4-70
def test_an_empty_trigger_never_fires() -> None:
    """Nor does a file trigger without a filesystem."""
    for trigger in (FeedbackTrigger(), FeedbackTrigger(on_file_created=FileCreatedTrigger("a"))):
        config = FeedbackProviderConfig(StaticFeedbackProvider("x"), trigger)
        assert run_feedback_providers([config], FeedbackContext(calls=1000, now=1e9)).feedback == ()


# S4-71
def test_the_runner_fills_in_when_and_for_which_prompt() -> None:
    """And observations are shown."""
    config = FeedbackProviderConfig(StaticFeedbackProvider("x"), FeedbackTrigger(every_n_calls=1))
    [feedback] = run_feedback_providers([config], FeedbackContext(calls=7, now=5.0, prompt="plan")).feedback
    shown = Feedback(
        provider_name="P", summary="s", observations=(Observation(category="Loop", description="twice"),)
    ).render()

    assert (feedback.call_index, feedback.timestamp, feedback.prompt_name) == (7, 5.0, "plan")
    assert "• Loop: twice" in shown
    with pytest.raises(GuidanceError, match="expected a severity of info, caution, warning, found `loud`"):
        Feedback(provider_name="P", summary="s", severity="loud")


# S4-74
@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (45, "45 seconds"),
        (1, "1 second"),
        (59.9, "59 seconds"),
        (60, "1 minute"),
        (300, "5 minutes"),
        (3599, "59 minutes"),
        (3600, "1.0 hours"),
        (7200, "2.0 hours"),
        (-3, "0 seconds"),
    ],
)
def test_durations_are_rounded_down_and_hours_have_one_decimal(seconds: float, words: str) -> None:
    """Durations are rounded down; hours have one decimal."""
    assert format_duration(seconds) == words


# S4-75
def test_providers_and_checkers_have_names_that_the_agent_reads() -> None:
    """Names are texts for the agent."""
    assert (DeadlineFeedback().name, StaticFeedbackProvider("x").name) == ("Deadline", "Static")


# S4-76
def test_a_deadline_lies_at_least_a_second_ahead() -> None:
    """Or it cannot be built."""
    with pytest.raises(GuidanceError, match="expected a deadline at least 1 second ahead, found 0.5"):
        Completion(checker=FileOutputChecker(()), deadline_seconds=0.5)


# --- task completion --------------------------------------------------------------------------------------------------


def files(*names: str) -> TaskCompletionContext:
    """Return a project with these files."""
    world = FakeWorld(texts={f"/home/dev/project/{name}": "x" for name in names})
    return TaskCompletionContext(filesystem=Facts(world))


def completions(agent: Guided) -> list[Entry]:
    """Return what the log holds of the checks at stop."""
    found = [entry for entry in agent.store().read_entries("s") if entry.kind is EntryKind.COMPLETION]
    return [entry for entry in found if entry.body["by"] == "completion"]


# S4-40
def test_task_completion_result_has_two_factories() -> None:
    """A result is made by `ok` or by `incomplete`."""
    assert TaskCompletionResult.ok().complete
    assert TaskCompletionResult.incomplete("why") == TaskCompletionResult(complete=False, feedback="why")


# S4-42, S4-80
def test_file_output_checker_is_incomplete_until_its_files_exist() -> None:
    """The texts are the document's."""
    checker = FileOutputChecker(("a", "b"))

    assert checker.check(files("a", "b")) == TaskCompletionResult.ok("All 2 required output(s) exist.")
    assert checker.check(files("a")).feedback == "<blocker>\n1 required output file(s) not found: b\n</blocker>"
    assert FileOutputChecker(()).check(files()).complete


# S4-42, S4-80
def test_file_output_checker_is_incomplete_without_a_filesystem() -> None:
    """Without a file system the task is incomplete, unless no file is required."""
    result = FileOutputChecker(("a", "b")).check(TaskCompletionContext())

    assert not result.complete
    assert result.feedback == "<blocker>\nNo filesystem available to verify 2 required output file(s).\n</blocker>"
    assert FileOutputChecker(()).check(TaskCompletionContext()).complete


# S4-45
def test_file_output_checker_names_at_most_three_missing_paths() -> None:
    """Three missing paths are named, and the others are counted."""
    three = FileOutputChecker(("a", "b", "c")).check(files())
    five = FileOutputChecker(("a", "b", "c", "d", "e")).check(files())

    assert three.feedback == "<blocker>\n3 required output file(s) not found: a, b, c\n</blocker>"
    assert five.feedback == "<blocker>\n5 required output file(s) not found: a, b, c...\n</blocker>"


# S4-43, S4-80
def test_composites_stop_at_the_first_that_decides() -> None:
    """AND at the first failure, OR at the first success."""
    asked: list[str] = []

    class ScriptedText:
        def __init__(self, name: str, complete: bool) -> None:
            self.name, self.complete = name, complete

        def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
            asked.append(self.name)
            return TaskCompletionResult(self.complete, self.name)

    def run(*checkers: ScriptedText, every: bool) -> tuple[bool, str | None, str]:
        asked.clear()
        result = CompositeChecker(checkers, all_must_pass=every).check(files())
        return result.complete, result.feedback, "".join(asked)

    yes, also, no, nor = (
        ScriptedText("y", True),
        ScriptedText("a", True),
        ScriptedText("n", False),
        ScriptedText("r", False),
    )

    assert run(yes, no, also, every=True) == (False, "n", "yn")
    assert run(yes, also, every=True) == (True, "y a", "ya")
    assert run(no, yes, nor, every=False) == (True, "y", "ny")
    assert run(no, nor, every=False) == (False, "n\nr", "nr")
    assert CompositeChecker(()).check(files()) == TaskCompletionResult.ok("No checkers configured.")


# S4-44, S4-46
def test_an_early_stop_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    """And allowed once the file is there."""
    agent = Guided(tmp_path, "completion: {checks: [{files: out.md}]}\n")

    refused = agent.stop()
    agent.put("out.md")

    assert (refused.allowed, refused.guard) == (False, "completion")
    assert refused.reason == "<blocker>\n1 required output file(s) not found: out.md\n</blocker>"
    assert agent.stop().allowed
    assert [entry.body["allowed"] for entry in completions(agent)] == [False, True]


# S4-45, S4-46
@pytest.mark.parametrize("bound", ["deadline_seconds: 60", "budget: {calls: 2}", "budget: {seconds: 60}"])
def test_out_of_time_or_budget_nothing_is_checked(tmp_path: Path, bound: str) -> None:
    """Used up means used ≥ max."""
    agent = Guided(tmp_path, f"completion: {{checks: [{{files: out.md}}], {bound}}}\n")
    agent.call("look")
    before = agent.stop()
    agent.clock.sleep(60)
    agent.call("look")

    assert not before.allowed
    assert agent.stop().allowed
    assert completions(agent)[-1].body["skipped"]


# S4-82
def test_an_agent_that_works_for_another_is_checked_only_by_name(tmp_path: Path) -> None:
    """Skipped in sub-agents."""
    agent = Guided(tmp_path, "completion: {checks: [{files: out.md}]}\n")
    named = Guided(tmp_path, "completion: {checks: [{files: out.md}], agents: [writer]}\n")

    assert agent.stop(agent="writer").allowed
    assert not named.stop(agent="writer").allowed
    assert named.stop().allowed


# S4-83, W4-8
def test_refusals_are_bounded_and_never_without_words(tmp_path: Path) -> None:
    """An incomplete result without feedback gets the default text, and the same refusal ends after so many."""

    class Mute:
        def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
            return TaskCompletionResult(False)

    agent = Guided(tmp_path, definition={"completion": Completion(checker=Mute(), refusals=2)})
    answers = [agent.stop() for _ in range(3)]

    assert [answer.allowed for answer in answers] == [False, False, True]
    assert answers[0].reason == "Tasks are incomplete"
    assert completions(agent)[-1].body["unfinished"]


# S4-84
def test_there_is_one_budget_rule() -> None:
    """`>=`, for every limit."""
    assert Budget(tokens=10).exhausted(Budget(tokens=10)) == "tokens"
    assert Budget(tokens=10).exhausted(Budget(tokens=9)) == ""
    assert Budget(calls=0).exhausted(Budget()) == "calls"
    assert Budget().exhausted(Budget(calls=10**9)) == ""


# S4-17
def test_a_policy_stands_anywhere_in_the_graph(tmp_path: Path) -> None:
    """It is a guard, and what it must remember is remembered there too."""
    from verdikt.graph.combinator import All
    from verdikt.graph.policy import Policy, PolicyLayer

    agent = Guided(tmp_path)
    guard = ToolPolicyGuard(SequentialDependencyPolicy(dependencies={"deploy": {"test"}}))
    layer = PolicyLayer(name="own", file="own", document={"own": 1}, nodes=(All(guard),))
    gov = agent.governance()
    gov.policy = Policy(layers=(*gov.policy.layers, layer))

    assert not gov.before(agent.action("deploy")).passed
    gov.after(agent.action("test"), DONE)
    assert gov.before(agent.action("deploy")).passed


# S4-23
def test_a_static_provider_says_its_text() -> None:
    """The same each time."""
    said = StaticFeedbackProvider("Read AGENTS.md first.").provide(FeedbackContext())

    assert (said.provider_name, said.summary) == ("Static", "Read AGENTS.md first.")


# S4-25
def test_a_provider_is_anything_with_a_name_and_two_methods() -> None:
    """What it should not say is not said."""

    class Quiet:
        name = "Quiet"

        def should_run(self, context: FeedbackContext) -> bool:
            return context.tool_call_count >= 2

        def provide(self, context: FeedbackContext) -> Feedback:
            return Feedback(provider_name=self.name, summary="two calls")

    config = FeedbackProviderConfig(Quiet(), FeedbackTrigger(every_n_calls=1))
    texts = [
        run_feedback_providers([config], FeedbackContext(session=SessionState(action_count=calls))).text
        for calls in (1, 2)
    ]

    assert texts == ["", "<feedback provider='Quiet'>\ntwo calls\n</feedback>"]


# S4-29
def test_feedback_comes_back_with_the_call_that_triggered_it(tmp_path: Path) -> None:
    """As text for the model, which each host's adapter puts where that host wants it."""
    agent = Guided(tmp_path, "feedback: [{static: hello, every_n_calls: 1}]\n")

    assert "hello" in agent.call("Read", file_path="a.md")


# S4-41, S4-81
def test_a_checker_sees_what_is_about_to_be_given(tmp_path: Path) -> None:
    """A checker gets session, output, file system, adapter and stop reason; a refusal has default feedback."""
    seen: list[TaskCompletionContext] = []

    class Looks:
        def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
            seen.append(context)
            return TaskCompletionResult(False)

    answer = Guided(tmp_path, definition={"completion": Completion(checker=Looks())}).stop()

    assert answer.reason == "Tasks are incomplete"
    assert seen[0].filesystem is not None
    assert isinstance(seen[0].session, SessionState)
