"""Programs that a policy describes: their effects are added to what is known without the policy."""

from pathlib import Path

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
from verdikt.policy import load_file, load_policy, parse_policy, restore_policy

POLICY = """
profile: standard
knowledge:
  - names: acme acmectl
    values: --env
    dry_run: --dry-run
    does: cloud.read
    commands:
      - "cloud.delete resource: site remove, wipe"
  - names: with-vault
    values: --role
    runs: {skip: 1}
  - names: boxctl
    values: --store
    commands:
      - {names: exec, runs: {after: --}}
      - {names: in, values: --as, runs: {skip: 1}}
      - {names: watch, exec: [{options: -x --on-change}], does: fs.read on *}
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
        ("boxctl --store a exec -- rm -rf ~/Documents", "fs.delete.tree"),
        ("boxctl in --as me shop rm -rf ~/Documents", "fs.delete.tree"),
        ("boxctl watch src -x 'rm -rf ~/Documents'", "fs.delete.tree"),
        ("boxctl watch src --on-change='rm -rf ~/Documents'", "fs.delete.tree"),
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
        ("[{names: x, effects: [cloud.read resource on 0]}]", "expected `EFFECT"),
        ("[{names: x, commands: ['cloud.destroy resource: y']}]", "cloud.destroy"),
        ("[{names: x, commands: ['@rows: y']}]", "rows"),
        ("[{names: x, exec: [{options: -x, language: python}]}]", "language"),
        ("[{names: x, exec: [{options: [-x]}]}]", "text"),
        ("[{names: x, exec: [{prefix: a}]}]", "options"),
        ("[{names: x, runs: {skip: one}}]", "number"),
        ("[{names: x, needs: true}]", "number"),
        ("[{names: x, posix: 1}]", "true or false"),
        ("[{names: x, verb: last}]", "place"),
        ("[{names: x, does: cloud.read on first}]", "after `on`"),
        ("[{names: x, does: 'cloud.read on * when is:0=nonsense'}]", "nonsense"),
        ("[{names: x, commands: [{names: y, runs: {shell: sh}}]}]", "shell"),
    ],
)
def test_mistake_in_a_record_is_told(section: str, message: str) -> None:
    """A record that can't be used makes the policy invalid, and names the mistake."""
    with pytest.raises(PolicyError, match=message):
        parse_policy(f"knowledge: {section}")


RECORDS = """title = "Ours."

simple = ["net.send: carry bring"]

[[program]]
names = "acme"
commands = [{ names = "wipe", does = "cloud.delete", on = "*", as = "resource", always = true }]
"""


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """Return a policy that takes its records from a file beside it."""
    (tmp_path / "tools.toml").write_text(RECORDS)
    file = tmp_path / "governance.yaml"
    file.write_text("profile: standard\nknowledge: [tools.toml, {names: other, does: net.send}]\n")
    return file


def test_records_of_a_file_count_like_those_in_the_policy(policy_file: Path) -> None:
    """`knowledge: [tools.toml]` takes the records of that file, beside others that stand in the policy itself."""
    layer = load_file(str(policy_file)).section("knowledge")
    assert isinstance(layer, ProgramLayer)

    assert "cloud.delete" in list_effects("acme wipe x", layer)
    assert "net.send" in list_effects("other x", layer)
    assert "net.send" in list_effects("bring x", layer)


def test_change_of_a_file_of_records_changes_the_policy(policy_file: Path) -> None:
    """What is digested, accepted and replayed is the records: taking one away is a change of the policy."""
    environ = {"HOME": str(policy_file.parent), "VERDIKT_HOME": str(policy_file.parent / "data")}
    before = load_policy(str(policy_file.parent), environ=environ)
    restored = restore_policy(before.document)
    policy_file.with_name("tools.toml").write_text(RECORDS.replace("wipe", "list"))
    after = load_policy(str(policy_file.parent), environ=environ)

    assert before.digest != after.digest
    assert restored.digest == before.digest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("names = ", "tools.toml: invalid TOML"),
        ("[roles]\nx = 'y'\n", "tools.toml: expected `program` or `simple`, found `roles`"),
        ("[[program]]\nnames = 'x'\ntrace = 'find'\n", "tools.toml: .*trace"),
        ("[[program]]\nnames = 'x'\ndoes = 'cloud.destroy'\n", "tools.toml: .*cloud.destroy"),
        ("simple = ['fs.read on']\n", "tools.toml: expected `EFFECT"),
        (None, "a `.toml` file that can be read"),
    ],
)
def test_mistake_in_a_file_of_records_is_told(policy_file: Path, content: str | None, message: str) -> None:
    """A file that can't be used makes the policy invalid, and names the mistake and the file."""
    records = policy_file.with_name("tools.toml")
    records.unlink() if content is None else records.write_text(content)

    with pytest.raises(PolicyError, match=message):
        load_file(str(policy_file))
