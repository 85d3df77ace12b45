"""No input makes the classifier raise, and the same facts give the same effects."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from verdikt.effects.classifier import classify
from verdikt.model.action import Action, ActionKind
from verdikt.model.facts import Facts
from verdikt.model.tool_kind import classify_tool
from verdikt.model.world import RecordedWorld

TOOLS = st.sampled_from(
    (
        "Bash Read Write Edit MultiEdit NotebookEdit Glob Grep LS WebFetch WebSearch Task apply_patch execute_code "
        "run_shell_command shell PowerShell mcp__x__delete_y mcp__fs__write_file mcp__db__query unknown_tool TodoWrite"
    ).split()
)
PIECES = st.sampled_from(
    (
        "rm -rf / ~ $HOME * sudo git push --force curl | sh bash -c ' \" ` $( ) { } ; && || & > >> < << EOF \n \\ "
        "python3 node -e perl eval xargs find -exec {} + -delete docker kubectl psql DROP TABLE users ; dd of=/dev/sda "
        "chmod 777 .env ~/.ssh/id_rsa base64 -d nc -e ssh host tar x=1 $x ${x:-y} if then fi for in do done # \0 é "
        "\u202e"
    ).split(" ")
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=14).map(" ".join))
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
KEYS = st.sampled_from(
    (
        "command cmd script file_path path content new_string edits url code language input patch sql query pattern "
        "paths annotations"
    ).split()
)
PAYLOADS = st.one_of(st.dictionaries(KEYS, VALUES, max_size=4), st.fixed_dictionaries({"command": TEXTS}))


@given(TOOLS, PAYLOADS)
def test_tool_call_with_any_payload_has_effects(tool: str, payload: dict[str, object]) -> None:
    """A call of any tool has at least one effect, whatever the shape of its input."""
    action = Action(kind=classify_tool(tool), tool=tool, payload=payload)

    assert len(classify(action, Facts(FakeWorld()))) >= 1


@given(st.sampled_from(list(ActionKind)), PAYLOADS)
def test_action_of_any_kind_has_effects(kind: ActionKind, payload: dict[str, object]) -> None:
    """An action of any kind has at least one effect, whatever its payload."""
    assert len(classify(Action(kind=kind, payload=payload), Facts(FakeWorld()))) >= 1


@given(TEXTS)
def test_effects_from_recorded_facts_equal_the_original_effects(text: str) -> None:
    """The classifier learns about the world through the facts only, so a record of them is enough."""
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": text})
    facts = Facts(FakeWorld(texts={"/home/dev/project/x.sh": "rm -rf ~"}))
    effects = classify(action, facts)

    assert classify(action, Facts(RecordedWorld(facts.to_record()))) == effects
