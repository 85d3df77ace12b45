"""The seven guards: the cases in tests/cases/guards.yaml, their settings, and what data cannot say."""

import inspect
import typing
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
import yaml

from tests.fakes import FakeWorld
from tests.graphs import ACTION, Says
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
from verdikt.model.facts import Facts, PathFact

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "guards.yaml").read_text())
FIELDS = {field for field in Action.__dataclass_fields__ if field != "payload"}
LINKS = {
    "/home/dev/project/src/out/x": "/srv/x",
    "/home/dev/project/in/x": "/home/dev/project/src/x",
    "/home/dev/project/alias.py": "/home/dev/project/src/auth/handler.py",
}
OWN = "/home/dev/project/governance.yaml"


def world(**more: Any) -> Facts:
    """A project with links in it."""
    paths = {path: PathFact(real=real, kind="file", symlink=True) for path, real in LINKS.items()}
    return Facts(FakeWorld(paths=paths, guarded=(OWN,), **more))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['guard']}: {case['name']}" for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """As the data says."""
    do = case["do"]
    fields = {key: value for key, value in do.items() if key in FIELDS}
    payload = {key: value for key, value in do.items() if key not in FIELDS}
    action = Action(**{**fields, "kind": ActionKind(do["kind"]), "payload": payload})
    facts = world() if case.get("world") else None
    if root := case.get("root"):
        facts = world(project_root=root)
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
def test_every_guard_can_be_described(name: str) -> None:
    """Config and docs read a guard's settings from its constructor: keyword, default, type and meaning for each."""
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


def test_the_layers_of_the_guards() -> None:
    """As promised."""
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
def test_settings_that_cannot_be_are_refused(make: Any, message: str) -> None:
    """When the guard is made, not when the first action comes."""
    with pytest.raises(PolicyError, match=message):
        make()


def bash(command: str) -> Action:
    """A shell command."""
    return Action(kind=ActionKind.BASH, payload={"command": command})


def effect(what: str, *targets: Target, cls: EffectClass = EffectClass.DESTRUCTIVE, **more: Any) -> Effect:
    """One that cannot be undone."""
    return Effect(cls=cls, what=what, targets=targets, recoverable=more.pop("recoverable", False), **more)


ROOT = Target("/", path="/", zone=Zone.SYSTEM)
TEMP = Target("/tmp/x", path="/tmp/x", zone=Zone.TEMP)
INSIDE = Target("build", path="/home/dev/project/build", zone=Zone.PROJECT)
PROJECT = Target(".", path="/home/dev/project", zone=Zone.PROJECT)
UNKNOWN = Target("$DIR")


@pytest.mark.parametrize(
    ("command", "effects", "verdict", "reason"),
    [
        ("rm -rf /", [effect("fs.delete.tree", ROOT)], "block", r"Command matches blocked pattern: rm\s+-rf\s+/"),
        (
            "rm -r -f '/'",
            [effect("fs.delete.tree", ROOT, by="rm -r -f /")],
            "block",
            "deletes files, which can't be undone",
        ),
        (
            "find / -delete",
            [effect("fs.delete", ROOT, by="find / -delete")],
            "block",
            "`find / -delete` deletes files",
        ),
        ("echo 'rm -rf /'", [], "pass", ""),
        ("echo 'rm -rf /' > a", [effect("fs.write", INSIDE, cls=EffectClass.WRITE, recoverable=True)], "pass", ""),
        ("rm -rf /tmp/x", [effect("fs.delete.tree", TEMP)], "pass", ""),
        ("rm -rf build", [effect("fs.delete.tree", INSIDE)], "pass", ""),
        ("rm -rf .", [effect("fs.delete.tree", PROJECT)], "block", "`rm -rf .` deletes"),
        ("rm -rf /home/dev/old", [effect("fs.delete.tree", ROOT, recoverable=True)], "pass", ""),
        ('rm -rf "$DIR"', [effect("fs.delete.tree", UNKNOWN, certainty=Certainty.POSSIBLE)], "ask", "may do what"),
        ("psql -c 'drop table a'", [effect("db.drop", Target("a", "database"))], "block", "drops a table"),
        ("vendor-tool 'DROP TABLE a'", [effect("unknown.program", by="vendor-tool DROP TABLE a")], "block", "pattern"),
        ("vendor-tool x; echo DROP TABLE a", [effect("unknown.program", by="vendor-tool x")], "pass", ""),
        ("grep -r 'DROP TABLE' .", [effect("fs.read", INSIDE, cls=EffectClass.READ, recoverable=True)], "pass", ""),
    ],
)
def test_known_effects_decide_about_the_built_in_dangers(
    command: str, effects: list[Effect], verdict: str, reason: str
) -> None:
    """What a command does counts, not how it is written."""
    result = PolicyEngine(BashSafetyGuard()).evaluate(bash(command), effects=Effects(tuple(effects)), facts=world())

    assert result.verdict.kind.word == verdict, result.reason
    assert reason in result.reason


def test_a_pattern_of_ones_own_counts_whatever_the_effects() -> None:
    """It is the policy's own word."""
    guard = BashSafetyGuard(blocked_patterns=["deploy"], blocked_prefixes=["make"])
    read = Effects((effect("fs.read", INSIDE, cls=EffectClass.READ, recoverable=True),))

    assert not PolicyEngine(guard).evaluate(bash("./deploy"), effects=read).passed
    assert not PolicyEngine(guard).evaluate(bash("make x"), effects=read).passed
    assert not PolicyEngine(guard).evaluate(bash("echo deploy"), effects=Effects()).passed


def test_a_shell_command_is_kept_inside_by_its_effects() -> None:
    """`cat > file` does not get past the boundary."""
    guard = FileBoundaryGuard(allowed_dirs=["src"], red_line_files=["src/auth/handler.py"])
    outside = Target("/srv/x", path="/srv/x", zone=Zone.OUTSIDE)
    red = Target("h", path="/home/dev/project/src/auth/handler.py", zone=Zone.PROJECT)

    def check(*effects: Effect) -> str:
        result = PolicyEngine(guard).evaluate(bash("x"), effects=Effects(effects), facts=world())
        return f"{result.verdict.kind.word} {result.reason}"

    assert check(effect("fs.write", outside, cls=EffectClass.WRITE)).startswith("block `/srv/x` is outside")
    assert check(effect("fs.delete", red)) == "block `h` is a red line"
    assert check(effect("fs.read", red, cls=EffectClass.READ)) == "pass "
    assert check(effect("net.fetch", Target("x.example", "host"), cls=EffectClass.NETWORK)) == "pass "
    assert check(effect("fs.read", outside, cls=EffectClass.READ)).startswith("block")
    assert check(effect("fs.list", outside, cls=EffectClass.READ)) == "pass "
    assert check(effect("code.run", outside, cls=EffectClass.EXECUTE)) == "pass "


def test_the_layer_at_work_is_noted_or_the_first_one_changed() -> None:
    """Kept with the session."""
    guard = LayerIsolationGuard(layers={"ui": ["ui"], "core": ["core"]})
    ui, core = (Action(kind=ActionKind.WRITE, payload={"file_path": f"{name}/a"}) for name in ("ui", "core"))
    engine = PolicyEngine(guard)

    assert [engine.evaluate(action).passed for action in (ui, core, ui)] == [True, False, True]

    class Notes:
        name = "notes"

        def check(self, action: Action, ctx: GovernanceContext) -> Any:
            ctx.annotations["layer"] = "core"
            return Says("pass").check(action)

    assert [PolicyEngine(All(Notes(), guard)).evaluate(action).passed for action in (ui, core)] == [False, True]


def test_a_budget_is_used_up_to_the_last() -> None:
    """Exactly at the limit passes, one more is blocked, another session has its own."""
    engine = PolicyEngine(BudgetGuard(max_tasks=3))

    assert [engine.evaluate(ACTION).passed for _ in range(5)] == [True, True, True, False, False]
    assert engine.evaluate(Action(kind=ActionKind.BASH, session_id="other")).passed


def test_a_budget_of_time_counts_from_the_first_action() -> None:
    """By the time the engine is told."""
    engine = PolicyEngine(BudgetGuard(max_seconds=60))

    assert [engine.evaluate(ACTION, now=now).passed for now in (100.0, 160.0, 161.0)] == [True, True, False]


def test_two_budgets_count_apart() -> None:
    """By their names."""
    tasks = BudgetGuard(max_tasks=1, kinds=["submit_task"], name="tasks")
    engine = PolicyEngine(All(tasks, BudgetGuard(max_tasks=2)))
    task = Action(kind=ActionKind.SUBMIT_TASK)

    assert [engine.evaluate(action).passed for action in (task, ACTION, ACTION)] == [True, True, False]


def test_a_budget_alone_counts_by_itself() -> None:
    """`check(action)` without an engine."""
    guard = BudgetGuard(max_tasks=1)

    assert [guard.check(ACTION).passed for _ in range(2)] == [True, False]


def test_the_rules_of_a_business() -> None:
    """A function gives its objection in words; one that fails blocks."""

    def weekday(action: Action) -> str | None:
        return "not on a Friday" if action.payload.get("day") == "Friday" else None

    guard = IntentGuard(rules={"freeze": weekday})
    friday = Action(kind=ActionKind.SUBMIT_TASK, payload={"day": "Friday"})

    assert guard.check(friday).reason == "freeze: not on a Friday"
    assert guard.check(Action(kind=ActionKind.SUBMIT_TASK)).passed
    assert not PolicyEngine(IntentGuard(rules={"x": lambda a: a.payload["no"]})).evaluate(friday).passed


def test_the_audit_records_everything_and_blocks_nothing() -> None:
    """Also what the guards before it said; when it cannot record, the action goes on and the failure shows."""
    given: list[dict[str, Any]] = []
    audit = AuditGuard(keep=2, sink=given.append)
    engine = PolicyEngine(All(Says("block"), audit))
    for _ in range(3):
        engine.evaluate(bash("curl -H 'Authorization: x'"))

    assert [record["number"] for record in given] == [1, 2, 3]
    assert [record["number"] for record in audit.records] == [2, 3]
    assert (given[0]["strictest"], given[0]["guards"]) == ("block", ["block"])
    assert "Authorization" not in str(given)

    def full(record: dict[str, Any]) -> None:
        raise OSError("disk full")

    result = PolicyEngine(All(Says("pass"), AuditGuard(sink=full))).evaluate(ACTION)
    assert result.passed
    assert result.warnings == ("guard `audit` failed: OSError: disk full",)
