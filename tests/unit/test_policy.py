"""Loading policies: what is imported for it, custom guards, defaults."""

import subprocess
import sys
from pathlib import Path

import pytest

import verdikt
from tests.policies import SHORT_SECTIONS
from verdikt.cli.batch import observe_and_decide
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.engine import PolicyEngine
from verdikt.errors import PolicyError
from verdikt.graph.lint import lint_policy
from verdikt.model.action import Action, ActionKind
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.verdict import VerdictKind
from verdikt.observe.policy_files import PolicyFile
from verdikt.policy import build_policy, load_file, load_policy, parse_policy, restore_policy


def list_loaded_packages(text: str) -> set[str]:
    """Return the packages that loading a policy and evaluating it once imports."""
    code = (
        "import sys\nfrom verdikt.policy import parse_policy\nfrom verdikt.engine import PolicyEngine\n"
        "from verdikt.model.action import Action, ActionKind\n"
        f"engine = PolicyEngine(parse_policy({text!r}).root)\n"
        "engine.evaluate(Action(kind=ActionKind.BASH, tool='Bash', payload={'command': 'ls'}))\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(process.stdout.split())


def test_policy_without_patterns_and_conditions_imports_neither_engine() -> None:
    """Neither the regular expression engine nor CEL is imported before a policy uses it."""
    plain = list_loaded_packages("profile: none\nrules: [{name: r, kind: bash, verdict: warn, reason: hm}]")

    assert not plain & {"re2", "_re2", "cel_expr_python", "pydantic", "click", "rich", "asyncio"}
    assert "re2" in list_loaded_packages("profile: none\nrules: [{name: r, pattern: x, verdict: warn, reason: hm}]")
    assert "cel_expr_python" in list_loaded_packages(
        "profile: none\nrules: [{name: r, if: risk > 0.5, verdict: warn, reason: hm}]"
    )


def test_short_sections_configure_their_guards() -> None:
    """The two short sections `bash_safety` and `file_boundary` configure their guards."""
    engine = PolicyEngine(parse_policy(SHORT_SECTIONS + "profile: none\n").root)

    def guard(kind: ActionKind, **payload: str) -> str:
        verdict = engine.evaluate(Action(kind=kind, tool="Edit", payload=payload, cwd="/repo")).verdict
        return verdict.guard if verdict.kind is VerdictKind.BLOCK else ""

    assert guard(ActionKind.BASH, command="psql -c 'DROP  TABLE users'") == "bash_safety"
    assert guard(ActionKind.WRITE, file_path="src/auth/handler.py") == "file_boundary"
    assert guard(ActionKind.WRITE, file_path="lib/x.py") == "file_boundary"
    assert guard(ActionKind.WRITE, file_path="src/x.py") == ""


def test_custom_guard_is_imported_from_installed_packages_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard named by its import path is never imported from the working directory, where an agent can write."""
    source = """
from verdikt import BaseGuard, Verdict

class RateLimit(BaseGuard):
    name = "rate_limit"

    def __init__(self, max_per_minute: int):
        self.max = max_per_minute

    def check(self, action, ctx):
        return Verdict.block(guard=self.name, reason="Rate limited", fix=f"Max {self.max} calls/min. Wait and retry.")
"""
    policy = "profile: none\nguards:\n  - use: own_guards_of_a_test.guards:RateLimit\n    with: {max_per_minute: 3}\n"
    package = tmp_path / "own_guards_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "guards.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    with pytest.raises(PolicyError, match="found ModuleNotFoundError"):
        parse_policy(policy)

    monkeypatch.chdir("/")
    monkeypatch.syspath_prepend(str(tmp_path))
    verdict = PolicyEngine(parse_policy(policy).root).evaluate(Action(kind=ActionKind.BASH)).verdict

    assert (verdict.guard, verdict.fix) == ("rate_limit", "Max 3 calls/min. Wait and retry.")
    with pytest.raises(PolicyError, match="expected a known key, found `max_per_hour`"):
        parse_policy(policy.replace("max_per_minute", "max_per_hour"))


def test_policy_without_any_file_is_the_standard_profile(tmp_path: Path) -> None:
    """Without a policy file, `standard` is in force as the layer `default`."""
    policy = load_policy(str(tmp_path), environ={"HOME": str(tmp_path)}, managed=str(tmp_path / "none"))

    assert [(layer.name, layer.profile) for layer in policy.layers] == [("default", "standard")]
    assert len(policy.rules) > 20


def test_named_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    """A missing policy file is an error, not a policy that allows everything."""
    with pytest.raises(PolicyError, match="expected a policy file, found none"):
        load_file(str(tmp_path / "none.yaml"))


@pytest.mark.parametrize(
    "profile", sorted(path.stem for path in (Path(verdikt.__file__).parent / "profiles").glob("*.yaml"))
)
def test_shipped_profile_has_no_lint_flaws(profile: str) -> None:
    """Every rule of a shipped profile can fire and decide."""
    report = lint_policy(
        parse_policy(f"profile: {profile}"), {name: known.cls for name, known in EFFECT_CATALOG.items()}
    )

    assert [flaw.message for flaw in report.flaws] == []
    assert len(report.witnesses) == len(parse_policy(f"profile: {profile}").rules)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "profile: none\nguards: [audit]",
        "profile: standard\ndisable: [not_understood]\nunknown_tools: pass",
        "posture: locked\nrules: [{name: r, kind: bash, verdict: warn, reason: hm}]\napprove: [{class: read}]",
    ],
)
def test_policy_restored_from_its_document_is_the_same(text: str) -> None:
    """Digest, rules and settings come back without any file."""
    policy = parse_policy(text)

    again = restore_policy(parse_json(encode_canonical(policy.document)))

    assert again.digest == policy.digest
    assert again.rules == policy.rules
    assert (again.posture, again.unknown_tools, again.approvals) == (
        policy.posture,
        policy.unknown_tools,
        policy.approvals,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bash_safety: {blocked_patterns: [ok, '(']}", r"p.yaml:1:38: expected a re2 pattern, found `\(`: missing \)"),
        ("bash_safety: {allowed: '[z-a]'}", r"p.yaml:1:24: expected a re2 pattern, found `\[z-a\]`"),
        ("guards: [{budget: {max_tasks: -1}}]", r"p.yaml:1:19: expected `max_tasks` of 0 or more, found `-1`"),
        (
            "guards: [{layer_isolation: {layers: {ui: a}, current: core}}]",
            r"p.yaml:1:55: expected a layer of ui, found `core`",
        ),
    ],
)
def test_setting_that_a_guard_refuses_is_reported_with_its_place(text: str, message: str) -> None:
    """The error names file, line and column of the setting."""
    with pytest.raises(PolicyError, match=message):
        parse_policy(text, "p.yaml")


@pytest.mark.parametrize("layer", ["managed", "user", "project"])
def test_own_red_lines_hold_under_every_profile(layer: str, tmp_path: Path) -> None:
    """The red lines around verdikt's own files hold under `profile: none` too, and such decisions can be replayed."""
    text = b"profile: none\nunknown_tools: pass\nrules: [{name: none, command: nosuch, verdict: warn, reason: r}]\n"
    policy = build_policy([PolicyFile(layer, "governance.yaml", text), PolicyFile("project", "below.yaml", text)])
    for command, verdict in (
        ("echo 'profile: none' > governance.yaml", "block"),
        ("verdikt uninstall", "block"),
        ("pip uninstall -y verdikt", "block"),
        ("rm -rf ~/Documents", "pass"),
        ("nosuch", "warn"),
    ):
        for tested_policy in (policy, restore_policy(policy.document)):
            action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=str(tmp_path))
            decision = observe_and_decide(action, tested_policy, tested_policy.posture, home=str(tmp_path / "home"))
            assert decision.verdict.kind.name.lower() == verdict, command
    assert restore_policy(policy.document).digest == policy.digest


@pytest.mark.parametrize("layer", ["managed", "user", "project", "file"])
def test_profile_none_alone_lets_everything_but_red_lines_pass(layer: str, tmp_path: Path) -> None:
    """A file that says `profile: none` is a policy of red lines alone, not one that can't be loaded."""
    policy = build_policy([PolicyFile(layer, "governance.yaml", b"profile: none\n")])
    expected = {"rm -rf ~/Documents": "pass", "ls": "pass"}
    # A file that is given explicitly means what it says; elsewhere verdikt protects itself.
    expected |= {"verdikt uninstall": "pass" if layer == "file" else "block"}
    for command, verdict in expected.items():
        action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=str(tmp_path))
        decision = observe_and_decide(action, policy, policy.posture, home=str(tmp_path / "home"))
        assert decision.verdict.kind.word == verdict, command


def test_policy_that_evaluates_nothing_is_refused() -> None:
    """A graph without a node can't be built."""
    with pytest.raises(PolicyError, match="expected at least one rule, guard or profile, found none"):
        parse_policy("profile: none\nunknown_tools: pass")
