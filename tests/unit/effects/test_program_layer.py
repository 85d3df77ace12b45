"""Programs that a policy describes: their effects are added to what is known without the policy."""

import pytest

from tests.unit.effects.test_cases import make_world
from verdikt.decide import decide
from verdikt.effects.classifier import classify_shell_text
from verdikt.effects.program_layer import ProgramLayer, merge_layers
from verdikt.errors import PolicyError
from verdikt.model.action import Action, ActionKind
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.policy import parse_policy

POLICY = """
profile: standard
knowledge:
  - names: acme acmectl
    values: --env
    dry_run: --dry-run
    does: cloud.read
    commands:
      - {names: "site remove, wipe", does: cloud.delete, on: "*", as: resource, always: true}
  - names: with-vault
    values: --role
    runs: {skip: 1}
  - names: ls
    effects: []
"""


def read_layer(text: str = POLICY) -> ProgramLayer:
    """Return the programs that a policy describes."""
    layer = parse_policy(text).section("knowledge")
    assert isinstance(layer, ProgramLayer)
    return layer


def list_effects(command: str, layer: ProgramLayer | None) -> list[str]:
    """Return the names of a command's effects."""
    return [effect.what for effect in classify_shell_text(command, Facts(make_world({})), layer)]


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("acme site remove web", "cloud.delete"),
        ("acmectl --env prod wipe", "cloud.delete"),
        ("acme status", "cloud.read"),
        ("echo ok && acme wipe x", "cloud.delete"),
        ("with-vault --role x ci rm -rf ~/Documents", "fs.delete.tree"),
    ],
)
def test_program_of_the_policy_has_the_effects_that_it_says(command: str, effect: str) -> None:
    """Names, options and commands are read as in the records that verdikt ships."""
    assert effect in list_effects(command, read_layer())


def test_dry_run_of_a_program_of_the_policy_does_nothing() -> None:
    """The conditions of a record hold for it too."""
    assert "cloud.delete" not in list_effects("acme wipe x --dry-run", read_layer())


@pytest.mark.parametrize("command", ["ls -la ~/.ssh", "rm -rf ~", "acme rm -rf ~", "git push --force origin main"])
def test_layer_takes_no_effect_away(command: str) -> None:
    """Whatever a policy says of a program, what is known without it stays."""
    policy = POLICY + "  - {names: rm git, effects: []}\n"

    assert set(list_effects(command, None)) <= set(list_effects(command, read_layer(policy)))


def test_policy_decides_on_the_effects_of_its_own_programs() -> None:
    """A command that the policy calls deletion is blocked as one."""
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "acme wipe web"}, cwd="/home/dev/project")

    decision = decide(action, Facts(make_world({})), SessionState("s"), Posture.INTERACTIVE, parse_policy(POLICY))

    assert decision.verdict.kind.word == "block"


def test_layers_add_up() -> None:
    """Two layers that describe the same program both count."""
    lower = read_layer("knowledge: [{names: acme, does: net.send}]")

    assert {"cloud.delete", "net.send"} <= set(list_effects("acme wipe x", merge_layers([read_layer(), lower])))


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("[{names: x, handler: git.push}]", "handler"),
        ("[{names: x, does: cloud.destroy}]", "cloud.destroy"),
        ("[{does: cloud.read}]", "names"),
        ("[{names: x, commands: [{names: y, trace: find}]}]", "trace"),
        ("[{names: [x, y], does: cloud.read}]", "text"),
        ("[acme]", "mapping"),
    ],
)
def test_mistake_in_a_record_is_told(section: str, message: str) -> None:
    """A record that can't be used makes the policy invalid, and names the mistake."""
    with pytest.raises(PolicyError, match=message):
        parse_policy(f"knowledge: {section}")
