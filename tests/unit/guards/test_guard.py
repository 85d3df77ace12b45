"""The built-in guards: the cases in tests/cases/guards.yaml, their settings, and what cases cannot express."""

import inspect
import typing
from typing import Annotated, Any, get_args, get_origin

import pytest

from tests.case_files import CASE_FILES, load_yaml
from tests.fakes import FakeWorld
from tests.graphs import ACTION, ScriptedGuard
from verdikt.engine import PolicyEngine
from verdikt.errors import PolicyError
from verdikt.graph.combinator import All
from verdikt.graph.context import GovernanceContext
from verdikt.guards import (
    GUARDS,
    AuditGuard,
    BashSafetyGuard,
    BudgetGuard,
    FileBoundaryGuard,
    IntentGuard,
    LayerIsolationGuard,
    guard_class,
)
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects, Target, Zone
from verdikt.model.facts import Facts
from verdikt.model.world import PathFact

CASES = load_yaml(CASE_FILES / "guards.yaml")
FIELDS = {field for field in Action.__dataclass_fields__ if field != "payload"}
LINKS = {
    "/home/dev/project/src/out/x": "/srv/x",
    "/home/dev/project/in/x": "/home/dev/project/src/x",
    "/home/dev/project/alias.py": "/home/dev/project/src/auth/handler.py",
}
OWN = "/home/dev/project/governance.yaml"


def make_world(**more: Any) -> Facts:
    """Return a project with symbolic links in it."""
    paths = {path: PathFact(real=real, kind="file", symlink=True) for path, real in LINKS.items()}
    return Facts(FakeWorld(paths=paths, guarded=(OWN,), **more))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['guard']}: {case['name']}" for case in CASES])
def test_guard_case_gives_its_verdict(case: dict[str, Any]) -> None:
    """Each case of the file."""
    do = case["do"]
    fields = {key: value for key, value in do.items() if key in FIELDS}
    payload = {key: value for key, value in do.items() if key not in FIELDS}
    action = Action(**{**fields, "kind": ActionKind(do["kind"]), "payload": payload})
    facts = make_world() if case.get("world") else None
    if root := case.get("root"):
        facts = make_world(project_root=root)
    guard = guard_class(case["guard"])(**case.get("with", {}))

    verdict = PolicyEngine(guard, classify=None, observe=None).evaluate(action, facts=facts).verdict

    assert not verdict.error, verdict.reason
    assert verdict.kind.word == case["verdict"], verdict.reason
    assert case.get("reason", "") in verdict.reason
    assert case.get("fix", "") in verdict.fix
    assert verdict.red_line == case.get("red_line", False)
    if facts is None:
        assert guard.check(action).kind is verdict.kind


@pytest.mark.parametrize("name", GUARDS)
def test_guard_settings_have_type_default_and_meaning(name: str) -> None:
    """The policy file and the docs read a guard's settings from its constructor."""
    cls = guard_class(name)
    hints = typing.get_type_hints(cls.__init__, include_extras=True)
    parameters = list(inspect.signature(cls).parameters.values())

    assert cls.__doc__
    assert cls().name == name
    assert isinstance(cls.governance_layer, GovernanceLayer)
    assert parameters
    for parameter in parameters:
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.default is not parameter.empty
        assert get_origin(hints[parameter.name]) is Annotated
        assert isinstance(get_args(hints[parameter.name])[1], str)


def test_guard_has_its_documented_layer() -> None:
    """The layers are part of the public interface."""
    assert [guard_class(name).governance_layer.name for name in GUARDS] == [
        "BOUNDARY",
        "BOUNDARY",
        "BOUNDARY",
        "BOUNDARY",
        "RESOURCE",
        "INTENT",
        "OBSERVE",
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: guard_class("sanbox"), "expected a guard of file_boundary, .*, found `sanbox`"),
        (lambda: BashSafetyGuard(blocked_patterns=["("]), r"expected a re2 pattern, found `\(`"),
        (lambda: BashSafetyGuard(allowed=["(?=x)"]), "look-around and back-references are not supported"),
        (lambda: BudgetGuard(max_tasks=-1), "expected `max_tasks` of 0 or more, found `-1`"),
        (lambda: LayerIsolationGuard(layers={"ui": ["a"]}, current="u"), "expected a layer of ui, found `u`"),
        (lambda: LayerIsolationGuard(layers={"ui": ["a"]}, allowed={"ui": ["x"]}), "expected a layer of ui, found `x`"),
        (
            lambda: IntentGuard(allowed_task_types=["a"], blocked_task_types=["a"]),
            "task type `a` is both allowed and blocked",
        ),
    ],
)
def test_guard_with_impossible_settings_is_refused(make: Any, message: str) -> None:
    """The mistake is found when the guard is built, not at the first action."""
    with pytest.raises(PolicyError, match=message):
        make()


def bash_action(command: str) -> Action:
    """Return a shell command as an action."""
    return Action(kind=ActionKind.BASH, payload={"command": command})


def permanent_effect(what: str, *targets: Target, cls: EffectClass = EffectClass.DESTRUCTIVE, **more: Any) -> Effect:
    """Return an effect that can't be undone."""
    return Effect(cls=cls, what=what, targets=targets, recoverable=more.pop("recoverable", False), **more)


ROOT = Target("/", path="/", zone=Zone.SYSTEM)
TEMP = Target("/tmp/x", path="/tmp/x", zone=Zone.TEMP)
INSIDE = Target("build", path="/home/dev/project/build", zone=Zone.PROJECT)
PROJECT = Target(".", path="/home/dev/project", zone=Zone.PROJECT)
UNKNOWN = Target("$DIR")


@pytest.mark.parametrize(
    ("command", "effects", "verdict", "reason"),
    [
        (
            "rm -rf /",
            [permanent_effect("fs.delete.tree", ROOT)],
            "block",
            r"Command matches blocked pattern: rm\s+-rf\s+/",
        ),
        (
            "rm -r -f '/'",
            [permanent_effect("fs.delete.tree", ROOT, by="rm -r -f /")],
            "block",
            "deletes files, which can't be undone",
        ),
        (
            "find / -delete",
            [permanent_effect("fs.delete", ROOT, by="find / -delete")],
            "block",
            "`find / -delete` deletes files",
        ),
        ("echo 'rm -rf /'", [], "pass", ""),
        (
            "echo 'rm -rf /' > a",
            [permanent_effect("fs.write", INSIDE, cls=EffectClass.WRITE, recoverable=True)],
            "pass",
            "",
        ),
        ("rm -rf /tmp/x", [permanent_effect("fs.delete.tree", TEMP)], "pass", ""),
        ("rm -rf build", [permanent_effect("fs.delete.tree", INSIDE)], "pass", ""),
        ("rm -rf .", [permanent_effect("fs.delete.tree", PROJECT)], "block", "`rm -rf .` deletes"),
        ("rm -rf /home/dev/old", [permanent_effect("fs.delete.tree", ROOT, recoverable=True)], "pass", ""),
        (
            'rm -rf "$DIR"',
            [permanent_effect("fs.delete.tree", UNKNOWN, certainty=Certainty.POSSIBLE)],
            "ask",
            "may do what",
        ),
        ("psql -c 'drop table a'", [permanent_effect("db.drop", Target("a", "database"))], "block", "drops a table"),
        (
            "vendor-tool 'DROP TABLE a'",
            [permanent_effect("unknown.program", by="vendor-tool DROP TABLE a")],
            "block",
            "pattern",
        ),
        ("vendor-tool x; echo DROP TABLE a", [permanent_effect("unknown.program", by="vendor-tool x")], "pass", ""),
        (
            "grep -r 'DROP TABLE' .",
            [permanent_effect("fs.read", INSIDE, cls=EffectClass.READ, recoverable=True)],
            "pass",
            "",
        ),
    ],
)
def test_bash_safety_known_effects_replace_the_built_in_patterns(
    command: str, effects: list[Effect], verdict: str, reason: str
) -> None:
    """The effects of a command count, not its text."""
    result = PolicyEngine(BashSafetyGuard()).evaluate(
        bash_action(command), effects=Effects(tuple(effects)), facts=make_world()
    )

    assert result.verdict.kind.word == verdict, result.reason
    assert reason in result.reason


def test_bash_safety_own_pattern_applies_whatever_the_effects() -> None:
    """A pattern from the policy is always searched in the text."""
    guard = BashSafetyGuard(blocked_patterns=["deploy"], blocked_prefixes=["make"])
    read = Effects((permanent_effect("fs.read", INSIDE, cls=EffectClass.READ, recoverable=True),))

    assert not PolicyEngine(guard).evaluate(bash_action("./deploy"), effects=read).passed
    assert not PolicyEngine(guard).evaluate(bash_action("make x"), effects=read).passed
    assert not PolicyEngine(guard).evaluate(bash_action("echo deploy"), effects=Effects()).passed


def test_file_boundary_applies_to_the_effects_of_a_command() -> None:
    """`cat > file` does not get past the boundary."""
    guard = FileBoundaryGuard(allowed_dirs=["src"], red_line_files=["src/auth/handler.py"])
    outside = Target("/srv/x", path="/srv/x", zone=Zone.OUTSIDE)
    red = Target("h", path="/home/dev/project/src/auth/handler.py", zone=Zone.PROJECT)

    def check(*effects: Effect) -> str:
        result = PolicyEngine(guard).evaluate(bash_action("x"), effects=Effects(effects), facts=make_world())
        return f"{result.verdict.kind.word} {result.reason}"

    assert check(permanent_effect("fs.write", outside, cls=EffectClass.WRITE)).startswith("block `/srv/x` is outside")
    assert check(permanent_effect("fs.delete", red)) == "block `h` is a red line"
    assert check(permanent_effect("fs.read", red, cls=EffectClass.READ)) == "pass "
    assert check(permanent_effect("net.fetch", Target("x.example", "host"), cls=EffectClass.NETWORK)) == "pass "
    assert check(permanent_effect("fs.read", outside, cls=EffectClass.READ)).startswith("block")
    assert check(permanent_effect("fs.list", outside, cls=EffectClass.READ)) == "pass "
    assert check(permanent_effect("code.run", outside, cls=EffectClass.EXECUTE)) == "pass "


def test_layer_isolation_uses_the_annotation_or_the_first_changed_layer() -> None:
    """The first layer that was changed is stored with the session."""
    guard = LayerIsolationGuard(layers={"ui": ["ui"], "core": ["core"]})
    ui, core = (Action(kind=ActionKind.WRITE, payload={"file_path": f"{name}/a"}) for name in ("ui", "core"))
    engine = PolicyEngine(guard)

    assert [engine.evaluate(action).passed for action in (ui, core, ui)] == [True, False, True]

    class AnnotatingGuard:
        name = "notes"

        def check(self, action: Action, ctx: GovernanceContext) -> Any:
            ctx.annotations["layer"] = "core"
            return ScriptedGuard("pass").check(action)

    assert [PolicyEngine(All(AnnotatingGuard(), guard)).evaluate(action).passed for action in (ui, core)] == [
        False,
        True,
    ]


def test_budget_blocks_after_the_last_allowed_action() -> None:
    """The action at the limit passes, one more is blocked, and another session has its own count."""
    engine = PolicyEngine(BudgetGuard(max_tasks=3))

    assert [engine.evaluate(ACTION).passed for _ in range(5)] == [True, True, True, False, False]
    assert engine.evaluate(Action(kind=ActionKind.BASH, session_id="other")).passed


def test_budget_of_time_counts_from_the_first_action() -> None:
    """The time is the one that the engine gets."""
    engine = PolicyEngine(BudgetGuard(max_seconds=60))

    assert [engine.evaluate(ACTION, now=now).passed for now in (100.0, 160.0, 161.0)] == [True, True, False]


def test_budgets_with_different_names_count_separately() -> None:
    """Each name has its own count."""
    tasks = BudgetGuard(max_tasks=1, kinds=["submit_task"], name="tasks")
    engine = PolicyEngine(All(tasks, BudgetGuard(max_tasks=2)))
    task = Action(kind=ActionKind.SUBMIT_TASK)

    assert [engine.evaluate(action).passed for action in (task, ACTION, ACTION)] == [True, True, False]


def test_budget_without_a_context_counts_by_itself() -> None:
    """`check(action)` works without an engine."""
    guard = BudgetGuard(max_tasks=1)

    assert [guard.check(ACTION).passed for _ in range(2)] == [True, False]


def test_intent_business_rule_blocks_with_its_objection() -> None:
    """A rule returns its objection as text; one that fails blocks."""

    def check_weekday(action: Action) -> str | None:
        return "not on a Friday" if action.payload.get("day") == "Friday" else None

    guard = IntentGuard(rules={"freeze": check_weekday})
    friday = Action(kind=ActionKind.SUBMIT_TASK, payload={"day": "Friday"})

    assert guard.check(friday).reason == "freeze: not on a Friday"
    assert guard.check(Action(kind=ActionKind.SUBMIT_TASK)).passed
    assert not PolicyEngine(IntentGuard(rules={"x": lambda a: a.payload["no"]})).evaluate(friday).passed


def test_audit_records_every_action_and_blocks_none() -> None:
    """It records the verdicts of the guards before it; when it cannot record, the action proceeds with a warning."""
    records: list[dict[str, Any]] = []
    audit = AuditGuard(keep=2, sink=records.append)
    engine = PolicyEngine(All(ScriptedGuard("block"), audit))
    for _ in range(3):
        engine.evaluate(bash_action("curl -H 'Authorization: x'"))

    assert [record["number"] for record in records] == [1, 2, 3]
    assert [record["number"] for record in audit.records] == [2, 3]
    assert (records[0]["strictest"], records[0]["guards"]) == ("block", ["block"])
    assert "Authorization" not in str(records)

    def raise_disk_full(record: dict[str, Any]) -> None:
        raise OSError("disk full")

    result = PolicyEngine(All(ScriptedGuard("pass"), AuditGuard(sink=raise_disk_full))).evaluate(ACTION)
    assert result.passed
    assert result.warnings == ("guard `audit` failed: OSError: disk full",)
