"""Lint: every rule has an action on which it fires, and none is shadowed or contradicted by another."""

import pytest

from tests.policies import make_policy
from verdikt.graph.lint import LintReport, lint_policy
from verdikt.model.effect import EffectClass
from verdikt.policy import parse_policy

NAMES = {
    "fs.delete": EffectClass.DESTRUCTIVE,
    "fs.delete.tree": EffectClass.DESTRUCTIVE,
    "fs.read": EffectClass.READ,
    "unknown.tool": EffectClass.EXECUTE,
}
SAYS = ", verdict: block, reason: no, fix: stop}"
ASKS = ", verdict: ask, reason: hm, fix: think}"
PASSES = ", verdict: pass}"


def lint_text(*rules: str, more: str = "profile: none") -> LintReport:
    """Lint a policy file with these rules."""
    lines = "\n".join(f"  - {rule}" for rule in rules)
    return lint_policy(make_policy(file=f"{more}\nrules:\n{lines}\n"), NAMES)


FIRING = [
    "kind: read",
    "tool: mcp__*",
    "host: claude, agent: x, posture: locked",
    "effect: fs.delete, class: destructive, zone: [home, system], state: untracked, recoverable: false,"
    " certainty: possible",
    "effect: fs.delete, unless: {zone: temp}",
    "class: read",
    "target: ['~/.ssh/**', '*.pem', 'src/auth/*', '/etc/**', '**/.env']",
    "target_kind: host, target: '*.example.com'",
    "command: git push",
    "command: [git push, git pull], pattern: '--force\\b'",
    "pattern: '(?i)drop\\s+table'",
    "pattern: '^\\s*DROP', field: [content, edits.new]",
    "equals: {a.b: 1, c: x}",
    "kind: write, tool: Write, unless: {target: 'src/**'}",
    "kind: [write, bash], unless: {target: 'src/**'}",
    "class: write, unless: {target: 'src/**'}",
    "if: risk > 0.5 && session.action_count > 3",
    "if: action.task_type == 'deploy' && action.payload.env == 'prod'",
    "if: \"effects.exists(e, e.class == 'destructive' && e.targets.exists(t, t.zone == 'home'))\"",
    "if: \"action.command.matches('rm -[rf]+') && posture != 'interactive'\"",
    "if: \"action.command.contains('curl') && action.command.contains('| sh')\"",
    "if: session.consecutive_blocks >= 3 || action.path.endsWith('.env')",
    "if: \"action.tool in ['A', 'B']\", kind: mcp",
]


@pytest.mark.parametrize("conditions", FIRING)
def test_rule_that_can_fire_has_a_witness(conditions: str) -> None:
    """The witness is built from the rule's conditions, and the rule itself confirms it."""
    report = lint_text("{name: r, " + conditions + SAYS)

    assert report.flaws == ()
    assert [name for name, _, _ in report.witnesses] == ["r"]
    assert str(report.witnesses[0][2])


@pytest.mark.parametrize(
    ("rules", "kind", "message"),
    [
        (["{name: r, pattern: 'a^b'" + SAYS], "never", "rule `r` can never fire: no text was found that the pattern `a^b` matches"),
        (["{name: r, pattern: ['ok', 'x\\by']" + SAYS], "never", "`x\\by` under `pattern` of rule `r` can never make it fire"),
        (["{name: r, command: git push, pattern: '^git pull'" + SAYS], "never", "no action was found for which all its conditions hold"),
        (["{name: r, kind: read, command: ls" + SAYS], "never", "actions of kind read have no command text for `command` to look at"),
        (["{name: r, effect: fs.read, class: destructive" + SAYS], "never", "no effect has both this name and this class"),
        (["{name: r, zone: temp, unless: {zone: [temp, home]}" + SAYS], "never", "its `unless` holds whenever its conditions hold"),
        (["{name: r, target_kind: host, zone: home" + SAYS], "never", "only paths lie in a zone, and `target_kind` is host"),
        (["{name: r, if: risk > 2.0" + SAYS], "never", "no action was found for which all its conditions hold"),
        (["{name: r, equals: {tool: x}, if: action.payload.tool == 'y'" + SAYS], "never", "no action was found"),
        (["{name: a, kind: bash" + SAYS, "{name: b, kind: bash, command: git" + SAYS], "shadowed", "rule `b` never decides: `a` (file.yaml:3:5) fires on the same actions, says block and comes first"),
        (["{name: b, kind: bash, command: git" + ASKS, "{name: a, kind: bash" + SAYS], "shadowed", "rule `b` never decides: `a` (file.yaml:4:5) fires on the same actions and says block"),
        (["{name: a, effect: fs.delete" + SAYS, "{name: b, effect: fs.delete.tree, zone: home" + ASKS], "shadowed", "rule `b` never decides"),
        (["{name: a, pattern: rm" + SAYS, "{name: b, pattern: 'rm\\s+-rf'" + SAYS], "shadowed", "rule `b` never decides"),
        (["{name: a, pattern: push" + SAYS, "{name: b, command: git push origin" + SAYS], "shadowed", "rule `b` never decides"),
        (["{name: a, tool: mcp__*" + SAYS, "{name: b, tool: [mcp__x, mcp__y*]" + SAYS], "shadowed", "rule `b` never decides"),
        (["{name: a, target: '/etc/**'" + SAYS, "{name: b, target: /etc/passwd" + SAYS], "shadowed", "rule `b` never decides"),
        (["{name: a, kind: bash" + SAYS, "{name: b, kind: bash" + ASKS], "contradiction", "rule `b` says ask where `a` (file.yaml:3:5) says block on the same conditions"),
        (["{name: a, kind: bash" + SAYS, "{name: b, command: ls, kind: bash" + PASSES], "contradiction", "rule `b` says pass where `a` (file.yaml:3:5) says block, which wins: use `unless` there"),
        (["{name: b, command: ls" + PASSES], "idle", "rule `b` never matters: a rule that says pass overrules no other one; add `unless` to the rule that objects"),
        (["{name: b, kind: write, target: 'src/**'" + SAYS], "narrow", "rule `b` does not see what a shell command writes: `kind: write` is the file tools alone; `class: write` is every write"),
        (["{name: b, kind: [read, write]" + SAYS], "narrow", "rule `b` does not see what a shell command writes"),
    ],
)  # fmt: skip
def test_flaw_has_its_position_and_the_other_rule(rules: list[str], kind: str, message: str) -> None:
    """The message says what is wrong and which other rule is involved."""
    flaws = lint_text(*rules).flaws

    assert [flaw.kind for flaw in flaws] == [kind]
    assert message in flaws[0].message
    assert flaws[0].where.startswith("file.yaml:")


@pytest.mark.parametrize(
    "rules",
    [
        ["{name: a, kind: bash, command: git" + SAYS, "{name: b, kind: bash" + SAYS],
        ["{name: a, kind: bash, unless: {command: ls}" + SAYS, "{name: b, kind: bash, command: ls" + SAYS],
        ["{name: a, kind: bash" + ASKS, "{name: b, kind: bash, command: git" + SAYS],
        ["{name: a, pattern: '^rm'" + SAYS, "{name: b, pattern: 'rm -rf'" + SAYS],
        ["{name: a, kind: bash" + SAYS, "{name: b, kind: bash, command: x, red_line: true" + SAYS],
        ["{name: a, effect: fs.delete.tree" + SAYS, "{name: b, effect: fs.delete" + SAYS],
        ["{name: a, target: '/etc/*'" + SAYS, "{name: b, target: /etc/ssh/config" + SAYS],
        ["{name: a, zone: home, recoverable: true" + SAYS, "{name: b, zone: home" + SAYS],
        ["{name: a, pattern: rm, field: content" + SAYS, "{name: b, pattern: rm, field: note" + SAYS],
        ["{name: a, pattern: rm, field: content" + SAYS, "{name: b, pattern: rm" + SAYS],
    ],
)
def test_rules_that_only_overlap_have_no_flaw(rules: list[str]) -> None:
    """Each of them still decides some actions."""
    assert lint_text(*rules).flaws == ()


def test_layers_are_linted_separately() -> None:
    """A project may repeat the user's policy, because it must also work elsewhere."""
    rule = "rules: [{name: r, kind: bash" + SAYS + "]"

    assert lint_policy(make_policy(user=f"profile: none\n{rule}", project=f"profile: none\n{rule}"), NAMES).flaws == ()


def test_rule_that_the_profile_covers_is_shadowed() -> None:
    """A layer may still repeat a rule or tighten it: its own rules come first."""
    weaker = "{name: mine, effect: fs.delete.tree, verdict: warn, reason: hm}"
    same = "{name: mine, effect: fs.delete.tree" + ASKS
    stricter = "{name: mine, effect: fs.delete" + SAYS

    assert [flaw.rule for flaw in lint_text(weaker, more="profile: standard").flaws] == ["mine"]
    assert lint_text(same, more="profile: standard").flaws == ()
    assert lint_text(stricter, more="profile: standard").flaws == ()


def test_approval_that_approves_nothing_is_idle() -> None:
    """In a project's file, or against a rule."""
    alone = make_policy(project="approve: [{class: read}]")
    against = make_policy(file="approve: [{effect: fs.delete.tree}]\nprofile: standard")

    assert [flaw.kind for flaw in lint_policy(alone, NAMES).flaws] == ["idle"]
    assert [(flaw.kind, flaw.message) for flaw in lint_policy(against, NAMES).flaws] == [
        ("contradiction", "`approve` names what rule `no_delete` says ask to")
    ]


def test_guard_patterns_are_linted() -> None:
    """The patterns of the documented example are clean; one that matches nothing or that another covers is not."""
    clean = "bash_safety: {blocked_patterns: ['rm\\s+-rf\\s+/', 'DROP\\s+TABLE']}"
    flawed = "bash_safety: {blocked_patterns: ['a^b', curl, 'curl -O', '^xyz'], allowed: ['x.*']}"

    assert lint_policy(parse_policy("profile: none\n" + clean)).flaws == ()
    assert [(flaw.kind, flaw.message) for flaw in lint_policy(parse_policy("profile: none\n" + flawed)).flaws] == [
        ("never", "`a^b` under `blocked_patterns` of guard `bash_safety` can never fire"),
        ("shadowed", "`curl -O` under `blocked_patterns` of guard `bash_safety` never decides: `curl` comes first"),
    ]


def test_when_condition_that_never_holds_is_a_flaw() -> None:
    """Such a condition hides the guards in its branch."""
    holds = "profile: none\nwhen: {if: action.task_type == 'deploy' && risk < 0.5, then: saying}"
    never = "profile: none\nwhen: {if: risk > 1.5, then: saying}"

    assert lint_policy(make_policy(file=holds)).flaws == ()
    assert [(flaw.where, flaw.message) for flaw in lint_policy(make_policy(file=never)).flaws] == [
        ("file.yaml:2:12", "no action was found for which `risk > 1.5` holds")
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "session.history.filter(h, h.verdict == 'block' && h.path.endsWith('.env')).size() >= 3",
        "session.history.exists(h, h.tool == 'Read')",
        "session.risk > 0.9",
        "size(action.command) > 400",
    ],
)
def test_rule_whose_condition_cannot_be_searched_is_not_called_dead(condition: str) -> None:
    """Histories have too many values to try: finding none of them proves nothing."""
    assert lint_text('{name: r, if: "' + condition + '"' + SAYS).flaws == ()
    assert lint_policy(make_policy(file=f'profile: none\nwhen: {{if: "{condition}", then: saying}}')).flaws == ()
