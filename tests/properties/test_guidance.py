"""What guidance remembers is rebuilt from the log, bounded, and never loosened by forgetting."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from verdikt.guidance.command_success import mentions_command, proves_command
from verdikt.guidance.feedback import (
    MAX_TEXT_LENGTH,
    Feedback,
    FeedbackContext,
    FeedbackProviderConfig,
    FeedbackTrigger,
)
from verdikt.guidance.feedback import run_feedback_providers as run
from verdikt.guidance.provider import StaticFeedbackProvider, format_duration
from verdikt.guidance.sequence import SequentialDependencyPolicy
from verdikt.guidance.tool_policy import PolicyContext
from verdikt.model.action import Outcome
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.session_state import MAX_MARKS, Memory, StoredMemory, fold_changes, value_key

TEXT = st.text(max_size=60)


@given(st.lists(st.tuples(st.booleans(), TEXT, st.text("0123456789abcdef", min_size=1, max_size=16)), max_size=40))
def test_stored_memory_behaves_like_a_mapping(steps: list[tuple[bool, str, str]]) -> None:
    """The folded state, written and read after every step, gives the last values."""
    state: dict[str, object] = {}
    expected: dict[tuple[bool, str], str] = {}
    for marking, key, word in steps:
        memory = Memory(StoredMemory(partial(dict, state)))
        (memory.set_mark if marking else memory.keep)(word, "p", key)
        state = parse_json(encode_canonical(fold_changes(state, memory.changes)))
        expected[marking, key] = word
    memory = Memory(StoredMemory(partial(dict, state)))

    for (marking, key), word in expected.items():
        assert (memory.get_mark("p", key) if marking else memory.get("p", key)) == word


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4), st.lists(st.text(max_size=8), min_size=1, max_size=4))
def test_memory_keys_do_not_collide(first: list[str], other: list[str]) -> None:
    """Keys of different parts are different, however the parts are cut."""
    assert (value_key(*first) == value_key(*other)) is (first == other)


@given(st.integers(min_value=0, max_value=2 * MAX_MARKS))
def test_marks_are_bounded(count: int) -> None:
    """A call costs the same after any number of marks."""
    state: dict[str, object] = {}
    for at in range(count):
        memory = Memory()
        memory.set_mark("x", str(at))
        state = fold_changes(state, memory.changes)

    assert len(str(state.get("marks", "")).split()) == min(count, MAX_MARKS)


@given(TEXT, TEXT, st.lists(TEXT, max_size=3))
def test_any_feedback_is_one_block(name: str, summary: str, suggestions: list[str]) -> None:
    """One begin, one end, and a bounded length."""
    text = Feedback(provider_name=name, summary=summary * 200, suggestions=tuple(suggestions)).render()

    assert text.count("<") == 2
    assert text.startswith("<feedback provider='")
    assert text.endswith("\n</feedback>")
    assert len(text) <= MAX_TEXT_LENGTH + 600


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(1, 40))
def test_each_provider_runs_at_its_own_multiples(every: list[int], calls: int) -> None:
    """Cadence is independent for any number of providers of one name."""
    memory = Memory()
    configs = [FeedbackProviderConfig(StaticFeedbackProvider(str(n)), FeedbackTrigger(every_n_calls=n)) for n in every]
    for call in range(1, calls + 1):
        delivered = [feedback.summary for feedback in run(configs, FeedbackContext(memory=memory, calls=call)).feedback]
        assert delivered == [str(n) for n in every if call % n == 0]


@given(st.lists(st.sampled_from(["test", "build", "edit_it", "deploy", "look"]), max_size=30))
def test_dependency_matches_its_plain_definition(tools: list[str]) -> None:
    """Every prerequisite must come after the last reset."""
    policy = SequentialDependencyPolicy(dependencies={"deploy": ["test", "build"]}, reset_by=("edit_it",))
    memory = Memory()
    completed_at: set[str] = set()
    for tool in tools:
        context = PolicyContext(memory=memory)
        assert policy.check(tool, {}, context=context).allowed is (
            tool != "deploy" or completed_at >= {"test", "build"}
        )
        policy.on_result(tool, {}, Outcome(success=True), context=context)
        completed_at = set() if tool == "edit_it" else completed_at | ({tool} & {"test", "build"})


@given(TEXT, TEXT)
def test_proof_of_a_command_implies_a_mention(text: str, command: str) -> None:
    """The strict predicate implies the lenient one, for commands of plain words."""
    command_words = " ".join("".join(char for char in command if char.isalnum() or char == " ").split())
    if command_words and proves_command(f"{command_words} {text}", command_words):
        assert mentions_command(f"{command_words} {text}", command_words)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_duration_is_a_number_and_a_unit(seconds: float) -> None:
    """Every duration has a number and a unit."""
    assert format_duration(seconds).split()[1].startswith(("second", "minute", "hour"))
