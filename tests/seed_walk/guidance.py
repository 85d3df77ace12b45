"""weakincentives: tool policies, feedback and completion, in a policy file and in Python."""

import json

from tests.seed_walk.user import User, walks

DEFINITION = r"""
import tempfile
from pathlib import Path
from verdikt import (Action, ActionKind, CompositeChecker, DeadlineFeedback, Feedback, FeedbackContext,
    FeedbackProviderConfig, FeedbackTrigger, FileCreatedTrigger, FileOutputChecker, FileStore, Governance, Outcome,
    PolicyContext, PolicyDecision, ReadBeforeWritePolicy, SequentialDependencyPolicy, StaticFeedbackProvider,
    TaskCompletionContext, TaskCompletionResult, Turn, load_projections, parse_policy)

class Freeze:
    name = "freeze"
    def check(self, tool, params, *, context):
        return PolicyDecision.deny("frozen") if tool == "frozen" else PolicyDecision.allow()
    def on_result(self, tool, params, result, *, context): seen.append(tool)

class Cheer:
    name = "Cheer"
    def should_run(self, context): return True
    def provide(self, context):
        assert context.tool_call_count and context.recent_tool_calls(1) is not None and context.session is not None
        assert context.last_feedback_for_provider("none") is None and context.tool_calls_since_last_feedback() >= 0
        return Feedback(provider_name=self.name, summary="well done", suggestions=("go on",))

seen = []
project = Path(tempfile.mkdtemp())
gov = Governance(
    parse_policy("profile: standard\nunknown_tools: pass\n"),
    FileStore(Path(tempfile.mkdtemp()), projections=load_projections()),
    tool_policies=[
        SequentialDependencyPolicy(dependencies={"deploy": {"test", "build"}}), ReadBeforeWritePolicy(), Freeze()
    ],
    feedback=[
        FeedbackProviderConfig(Cheer(), FeedbackTrigger(every_n_calls=3)),
        FeedbackProviderConfig(
            StaticFeedbackProvider("read the plan"), FeedbackTrigger(on_file_created=FileCreatedTrigger("plan.md"))
        ),
    ],
    completion=CompositeChecker((FileOutputChecker(("a", "b", "c", "d")), FileOutputChecker(())), all_must_pass=True),
)

def call(tool, session="s", **payload):
    kind = {"Read": ActionKind.READ, "Write": ActionKind.WRITE}.get(tool, ActionKind.OTHER)
    action = Action(kind=kind, tool=tool, payload=payload, session_id=session, cwd=str(project))
    decision = gov.before(action)
    return decision.verdict.reason if not decision.passed else gov.after(action, Outcome(success=True)).context

assert call("deploy") == "Tool 'deploy' requires: build, test"
assert call("frozen") == "frozen" and "frozen" not in seen
assert "well done" in call("test") and "test" in seen
call("build")
assert call("deploy") == ""
assert call("deploy", session="other") == "Tool 'deploy' requires: build, test"
(project / "config.yaml").write_text("a: 1")
assert "must be read before overwriting" in call("Write", file_path="config.yaml", content="b")
(project / "plan.md").write_text("x")
text = call("Read", file_path="config.yaml")
assert "<feedback provider='Static'>\nread the plan\n</feedback>" in text
assert "<feedback provider='Cheer'>\nwell done\n\n-> go on\n</feedback>" in text and "\n\n<feedback" in text
assert call("Write", file_path="config.yaml", content="b") == ""
(project / "plan.md").unlink(); (project / "plan.md").write_text("y")
assert "read the plan" not in call("test")
stop = gov.stop(Turn(session_id="s", cwd=str(project)))
assert not stop.allowed and "4 required output file(s) not found: a, b, c..." in stop.reason
for name in "abcd": (project / name).write_text("x")
assert gov.stop(Turn(session_id="s", cwd=str(project))).allowed
assert [policy.name for policy in gov.policies_for_tool("deploy")][0] == "sequential_dependency"
assert len(gov.feedback_providers) == 2 and gov.task_completion_checker is not None
gov.store.close()

context = FeedbackContext(started=0, now=300, deadline=480)
assert "The work so far took 5 minutes. You have 3 minutes remaining." in DeadlineFeedback().provide(context).render()
urgent = DeadlineFeedback(warning_threshold_seconds=200).provide(context).render()
assert "-> Prioritize completing critical remaining work." in urgent
assert TaskCompletionResult.ok().complete and TaskCompletionResult.incomplete("x").feedback == "x"
bare = TaskCompletionContext(tentative_output="out", filesystem=None, adapter="claude", stop_reason="end")
assert not FileOutputChecker(("a",)).check(bare).complete and FileOutputChecker(()).check(bare).complete
yes, no = FileOutputChecker(()), FileOutputChecker(("a",))
assert CompositeChecker((no, yes), all_must_pass=False).check(bare).complete
assert not CompositeChecker((no, yes), all_must_pass=True).check(bare).complete
policy = SequentialDependencyPolicy(dependencies={"b": {"a"}})
state_context = PolicyContext()
policy.on_result("a", {}, Outcome(success=True), context=state_context)
state = policy.state(state_context)
assert (state.policy_name, state.invoked_tools) == ("sequential_dependency", {"a"})
assert state.invoked_keys == frozenset()
assert PolicyDecision.allow() == PolicyDecision(allowed=True, reason=None)
"""


@walks(
    *("S4-01", "S4-10", "S4-11", "S4-12", "S4-13", "S4-14", "S4-15", "S4-16", "S4-20", "S4-21", "S4-22", "S4-23"),
    *("S4-24", "S4-25", "S4-26", "S4-27", "S4-40", "S4-41", "S4-42", "S4-43", "S4-47"),
)
def try_a_definition_in_python(user: User) -> None:
    """Declare all three with public imports, and go through calls, feedback and a stop."""
    user.python(DEFINITION)


@walks("S4-17", "S4-28", "S4-29", "S4-30", "S4-31", "S4-44", "S4-45", "S4-46")
def try_a_definition_under_hooks(user: User) -> None:
    """Declare the same in governance.yaml: each hook is a process, and the state is in the log."""
    user.write(
        "governance.yaml",
        "profile: standard\n"
        "tool_policies: [{sequential_dependency: {dependencies: {git push: [pytest]}}}]\n"
        "feedback: [{static: mind the plan, every_n_calls: 2}]\n"
        "completion: {checks: [{files: out.txt}], remind_every_n_calls: 0}\n",
    )
    refused = user.call("git push")
    assert "requires: pytest" in json.dumps(refused)
    told = user.call("pytest -q", "1 passed\n")
    assert "mind the plan" in json.dumps(told)
    assert "requires" not in json.dumps(user.call("git push"))
    given = [entry["body"]["given"] for entry in user.entries() if entry["kind"] == "feedback"]
    assert given[0][0]["text"].startswith("<feedback provider='Static'>")
    assert "out.txt" in json.dumps(user.stop("I looked around."))
    user.write("out.txt", "x")
    assert not user.stop("I looked around.")
    user.write(
        "governance.yaml",
        "profile: standard\n"
        "tool_policies:\n"
        "  - sequential_dependency: {dependencies: {git push: [pytest]}, reset_by: [edit]}\n"
        "  - read_before_write\n",
    )
    user.run("git", "init", "-q", ".")
    user.write("src/app.py", "x = 1\n")
    user.call("cat src/app.py", "x = 1\n")
    user.call("timeout 60 python3 -m pytest -q", "1 passed\n")
    assert "requires" not in json.dumps(user.call("git push"))
    user.write("src/app.py", "x = 2  # by another process\n")
    assert "Changed on disk since you read it: `src/app.py`" in json.dumps(user.call("ls"))
    assert "requires: pytest" in json.dumps(user.call("git push"))
    user.write("governance.yaml", "profile: standard\ncompletion: {checks: [{files: no.txt}], budget: {calls: 1}}\n")
    assert not user.stop("I looked around.")
    user.write("governance.yaml", "profile: standard\n")
    assert not user.stop("I looked around.")
