"""Exceptions in policy files: what they let through, what they never reach, and how they are reported."""

from datetime import UTC, datetime

import pytest

from tests.fakes import FakeWorld
from verdikt.decide import decide
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.errors import PolicyError
from verdikt.graph.compiled_policy import compile_policy, load_compiled_policy
from verdikt.graph.lint import lint_policy
from verdikt.graph.policy import Policy
from verdikt.model.action import Action
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.facts import Facts
from verdikt.model.session_state import SessionState
from verdikt.model.tool_kind import classify_tool
from verdikt.model.world import PathFact
from verdikt.observe.policy_files import PolicyFile
from verdikt.policy import build_policy, parse_policy, restore_policy

NOW = FakeWorld().now  # 2023-11-14
WORLD = FakeWorld(
    paths={
        f"/home/dev/project/{name}": PathFact(real=f"/home/dev/project/{name}", kind="dir", git="untracked")
        for name in ("scratch/a", "notes")
    }
)


def except_from(rule: str, scope: str) -> str:
    """Return a policy text with one exception on top of the standard profile."""
    return f"exceptions: [{{rule: {rule}, {scope}, reason: it is a playground, by: ada, date: 2023-11-01}}]"


def decide_call(policy: Policy, tool: str, world: FakeWorld = WORLD, **payload: str) -> str:
    """Return the verdict on a call."""
    action = Action(kind=classify_tool(tool), tool=tool, payload=payload, session_id="s", cwd=world.cwd)
    return decide(action, Facts(world), SessionState(), policy.posture, policy).verdict.kind.word


@pytest.mark.parametrize(
    ("rule", "scope", "command", "verdict"),
    [
        ("git_force_push", "command: git push -f origin main", "git push -f origin main", "ask"),
        ("delete_untracked_tree", "path: 'scratch/**'", "rm -rf notes", "block"),
        ("delete_untracked_tree", "path: 'scratch/**'", "rm -rf scratch/a notes", "block"),
        ("delete_untracked_tree", "path: 'scratch/**'", "rm -rf scratch/../notes", "block"),
        ("git_discard_all", "command: git checkout -- .", "git checkout -- .", "ask"),
        ("git_discard_all", "command: git checkout -- .", "git checkout -- . && rm -rf notes", "block"),
        ("git_discard_all", "command: git checkout", "git checkout -- .", "block"),
        ("git_discard_all", "command: git checkout -- ., project: /home/dev/project", "git checkout -- .", "ask"),
        ("git_discard_all", "command: git checkout -- ., project: /home/dev/other", "git checkout -- .", "block"),
        ("git_discard_all", "command: git checkout -- ., until: 2023-11-15", "git checkout -- .", "ask"),
        ("git_discard_all", "command: git checkout -- ., until: 2023-11-14T00:00", "git checkout -- .", "block"),
    ],
)
def test_exception_lets_through_its_scope_and_nothing_else(rule: str, scope: str, command: str, verdict: str) -> None:
    """A path exempts that target, a command the exact text, in its project and until its end."""
    policy = parse_policy(except_from(rule, scope))
    cached = load_compiled_policy(compile_policy(policy), lambda: policy)
    assert cached is not None

    for variant in (policy, cached, restore_policy(parse_json(encode_canonical(policy.document)))):
        assert decide_call(variant, "Bash", command=command) == verdict
        assert variant.digest == policy.digest


def test_exceptions_for_every_rule_that_objects_let_a_command_pass() -> None:
    """Several exceptions hold together, also for an undeclared tool."""
    rules = (
        "delete_untracked_tree",
        "delete_untracked_file",
        "delete_untracked",
        "delete_tree_unseen",
        "delete_unnamed",
    )
    items = ", ".join(f"{{rule: {rule}, path: notes, reason: r}}" for rule in rules)
    policy = parse_policy(f"exceptions: [{items}, {{rule: unknown_tool, tool: deploy, reason: ours}}]")

    assert decide_call(policy, "Bash", command="rm -rf notes") == "pass"
    assert decide_call(policy, "deploy") == "pass"
    assert decide_call(policy, "undeploy") == "ask"


def test_exception_never_reaches_a_red_line() -> None:
    """Whatever it names, a red line fires."""
    world = FakeWorld(guarded=("/home/dev/.local/share/verdikt",))
    policy = parse_policy(except_from("guard_tamper", "path: '~/.local/share/verdikt/**'"))

    assert decide_call(policy, "Bash", world, command="rm ~/.local/share/verdikt/state.db") == "block"


def layer(name: str, text: str) -> PolicyFile:
    """Return a policy file of a layer."""
    return PolicyFile(name, f"{name}.yaml", text.encode())


RULE = "rules: [{name: no_make, command: make, verdict: block, reason: slow, fix: wait}]"
EXCEPTION = "exceptions: [{rule: no_make, command: make all, reason: r}]"


@pytest.mark.parametrize(
    ("layers", "verdict"),
    [
        ([("user", f"{RULE}\n{EXCEPTION}")], "pass"),
        ([("user", EXCEPTION), ("project", RULE)], "pass"),
        ([("managed", RULE), ("user", EXCEPTION)], "block"),
        ([("managed", RULE), ("user", f"{RULE}\n{EXCEPTION}")], "block"),
        ([("user", RULE), ("project", EXCEPTION)], "block"),
        ([("project", f"{RULE}\n{EXCEPTION}")], "pass"),  # once accepted: tests/unit/test_ratchet.py
        ([("managed", RULE), ("project", EXCEPTION)], "block"),
        ([("project", RULE), ("src", EXCEPTION)], "block"),
    ],
)
def test_layer_can_except_from_its_own_rules_and_lower_ones(layers: list[tuple[str, str]], verdict: str) -> None:
    """No layer loosens a higher one."""
    policy = build_policy([layer(name, text) for name, text in layers])

    assert decide_call(policy, "Bash", command="make all") == verdict


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exceptions: [{rule: a, path: x}]", "expected the key `reason` (why it is let through), found none"),
        ("exceptions: [{rule: a, reason: r}]", "an exception needs a scope: `path`, `command` or `tool`"),
        ("exceptions: [{rule: a, path: '**', reason: r}]", "expected a narrower glob, found `**`, which is everything"),
        ("exceptions: [{rule: a, tool: x, until: soon, reason: r}]", "`until`: expected a date such as 2026-12-31"),
        ("exceptions: [{rule: a, tool: x, project: p, reason: r}]", "expected an absolute directory, found `p`"),
        ("exceptions: [{rule: a, tol: x, reason: r}]", "expected a known key, found `tol` (did you mean `tool`?)"),
        ("exceptions: {}", "a list of exceptions"),
    ],
)
def test_faulty_exception_is_reported_with_its_place(text: str, message: str) -> None:
    """The error names file, line and column."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p.yaml")

    assert message in str(caught.value)
    assert str(caught.value).startswith("p.yaml:1:")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (except_from("git_force_pus", "command: x"), "never", "there is no such rule (did you mean `git_force_push`?)"),
        (except_from("guard_tamper", "path: a"), "never", "a red line has no exceptions"),
        (f"{RULE}\nexceptions: [{{rule: no_make, command: ls, reason: r}}]", "never", "fires on nothing in its scope"),
        (
            "rules: [{name: a, tool: x, verdict: block, reason: r, fix: f}]\n"
            "exceptions: [{rule: a, tool: x, reason: r}]",
            "contradiction",
            "swallows the whole rule",
        ),
        (except_from("delete_outside", "path: '~/scratch/**'"), "", ""),
        (except_from("git_discard_all", "command: git checkout -- ."), "", ""),
    ],
)
def test_lint_reports_exceptions_that_match_nothing_or_everything(text: str, kind: str, message: str) -> None:
    """An exception that is fine is no finding."""
    policy = parse_policy(text)
    names = {name: effect.cls for name, effect in EFFECT_CATALOG.items()}
    flaws = [flaw for flaw in lint_policy(policy, names).flaws if "exception" in flaw.message]

    assert [flaw.kind for flaw in flaws] == ([kind] if kind else [])
    assert all(message in flaw.message for flaw in flaws)


def test_lint_reports_an_exception_from_a_rule_of_a_higher_layer() -> None:
    """A project may except from its own rules, and not from the user's."""
    own = lint_policy(build_policy([layer("project", f"{RULE}\n{EXCEPTION}")])).flaws
    flaws = lint_policy(build_policy([layer("user", RULE), layer("project", EXCEPTION)])).flaws

    assert [flaw.message for flaw in own if "exception" in flaw.message] == []
    assert [flaw.message for flaw in flaws if flaw.kind == "idle"] == [
        "the exception for `no_make` is not in force: the rule belongs to a higher layer, which this file can't loosen"
    ]


@pytest.mark.parametrize(
    ("profile", "command", "verdict"),
    [
        ("relaxed", "npm publish", "pass"),
        ("standard", "npm publish", "ask"),
        ("none", "git reset --hard", "pass"),
        ("none", "verdikt uninstall", "block"),
    ],
)
def test_file_with_exceptions_alone_leaves_the_profile_to_the_next_layer(
    profile: str, command: str, verdict: str
) -> None:
    """What `verdikt allow` writes for a person must not tighten the projects of that person."""
    alone = build_policy([layer("project", f"profile: {profile}\n{RULE}")])
    both = build_policy([layer("user", EXCEPTION), layer("project", f"profile: {profile}\n{RULE}")])

    assert decide_call(both, "Bash", command="make all") == "pass"
    assert decide_call(both, "Bash", command=command) == verdict
    assert decide_call(both, "deploy", region="eu") == decide_call(alone, "deploy", region="eu")
    assert restore_policy(both.document).digest == both.digest
    assert decide_call(restore_policy(both.document), "Bash", command="make all") == "pass"


def test_file_with_exceptions_alone_is_no_way_around_the_default_profile() -> None:
    """Where no other file names a profile, the shipped one holds, red lines included."""
    policy = build_policy([layer("user", EXCEPTION)])

    assert decide_call(policy, "Bash", command="git push --force origin main") == "block"
    assert decide_call(policy, "Bash", command="verdikt uninstall") == "block"
    with_project = build_policy([layer("user", EXCEPTION), layer("project", RULE)])
    assert decide_call(with_project, "Bash", command="git push --force origin main") == "block"
    assert decide_call(with_project, "Bash", command="verdikt uninstall") == "block"


@pytest.mark.parametrize("text", ["2024-02-29", "2026-12-31T18:00", "2099-01-01 00:00:59Z", "2000-03-01T23:59"])
def test_end_of_an_exception_is_its_moment_in_utc(text: str) -> None:
    """The calendar agrees with the standard library's."""
    world = FakeWorld(now=datetime.fromisoformat(text.rstrip("Z")).replace(tzinfo=UTC).timestamp())
    policy = parse_policy(except_from("git_discard_all", f"command: git checkout -- ., until: '{text}'"))

    assert decide_call(policy, "Bash", world, command="git checkout -- .") == "block"
    world.now -= 1
    assert decide_call(policy, "Bash", world, command="git checkout -- .") == "ask"


@pytest.mark.parametrize("text", ["2026-02-29", "2026-13-01", "2026-00-01", "2026-01-01T24:00", "26-01-01", "2026-1-1"])
def test_end_that_is_no_moment_is_refused(text: str) -> None:
    """A date that does not exist must not become one that is far away."""
    with pytest.raises(PolicyError, match="expected a date such as"):
        parse_policy(except_from("git_discard_all", f"tool: x, until: '{text}'"))
