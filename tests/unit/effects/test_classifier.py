"""The cache of classified commands: a command is classified once, unless the world has changed under it."""

import pytest

from tests.fakes import FakeWorld
from verdikt.effects.classifier import MAX_ENTRIES, MAX_TEXT_LENGTH, EffectCache, classify, classify_shell_text
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.world import PathFact


class CountingCache:
    """A cache that counts how often a command is classified."""

    def __init__(self) -> None:
        self.cache = EffectCache()
        self.computations = 0

    def classify(self, text: str, world: FakeWorld) -> tuple[Effects, Facts]:
        """Classify a command in a world, and count the computations."""
        facts = Facts(world)

        def compute() -> Effects:
            self.computations += 1
            return classify_shell_text(text, facts)

        return self.cache.get_or_compute(text, facts, compute), facts


def make_world(state: str = "untracked", **place: str) -> FakeWorld:
    """Return a world with one directory in this state."""
    path = "/home/dev/project/notes"
    return FakeWorld(paths={path: PathFact(real=path, kind="dir", git=state)}, **place)


def test_same_command_in_same_world_is_classified_once() -> None:
    """A cached command has the same effects and the same record of questions as the first time."""
    counting = CountingCache()
    first_effects, first_facts = counting.classify("rm -rf notes", make_world())
    second_effects, second_facts = counting.classify("rm -rf notes", make_world())

    assert counting.computations == 1
    assert second_effects == first_effects
    assert second_facts.to_record() == first_facts.to_record()


def test_changed_git_state_is_classified_again() -> None:
    """Git's state is part of the answer; questions asked to check the cache leave no trace in the record."""
    counting = CountingCache()
    counting.classify("rm -rf notes", make_world("untracked"))
    effects, facts = counting.classify("rm -rf notes", make_world("tracked"))

    assert counting.computations == 2
    assert effects == classify_shell_text("rm -rf notes", Facts(make_world("tracked")))
    assert facts.to_record()["path"]["/home/dev/project/notes"]["git"] == "tracked"


def test_same_text_in_another_directory_is_classified_again() -> None:
    """The working directory is part of the key, because it changes what the words mean."""
    counting = CountingCache()
    counting.classify("rm -rf x", make_world())
    effects, _ = counting.classify("rm -rf x", make_world(cwd="/etc"))

    assert counting.computations == 2
    assert effects.items[0].targets[0].path == "/etc/x"


def test_command_without_questions_asks_nothing_the_second_time() -> None:
    """A cached command that asked the world nothing causes no file access."""
    counting = CountingCache()
    counting.classify("git status", make_world())
    _, facts = counting.classify("git status", make_world())

    assert counting.computations == 1
    assert facts.has_no_answers


def test_facts_with_earlier_answers_bypass_the_cache() -> None:
    """Earlier answers cannot be told from those of the command, so the command is classified without the cache."""
    cache, facts = EffectCache(), Facts(make_world())
    facts.path("/home/dev/project/notes")

    effects = cache.get_or_compute("ls", facts, lambda: classify_shell_text("ls", facts))

    assert effects == classify_shell_text("ls", facts)


def test_full_cache_drops_its_oldest_entry() -> None:
    """The cache holds `MAX_ENTRIES` commands and evicts the oldest first."""
    counting = CountingCache()
    for number in range(MAX_ENTRIES + 1):
        counting.classify(f"echo {number}", make_world())
    counting.classify(f"echo {MAX_ENTRIES}", make_world())
    assert counting.computations == MAX_ENTRIES + 1
    counting.classify("echo 0", make_world())
    assert counting.computations == MAX_ENTRIES + 2


def test_command_beside_an_empty_one_is_classified() -> None:
    """A host's own field that is empty does not hide the field that another tool reads."""
    action = Action(kind=ActionKind.BASH, tool="sh", payload={"command": "", "cmd": "rm -rf /home/dev/Documents"})

    assert "fs.delete.tree" in {effect.what for effect in classify(action, Facts(make_world())).items}


def call_service(tool: str, payload: dict[str, object], state: str, **hints: object) -> tuple[Effects, Facts]:
    """Return the effects of a service's call beside a directory in this state, and what was asked for them."""
    facts = Facts(make_world(state))
    return classify(Action(kind=ActionKind.MCP, tool=tool, payload=payload, hints=hints), facts), facts


def test_a_services_call_that_recurs_is_judged_by_the_world_as_it_is() -> None:
    """What it deletes may have come under version control meanwhile; a receipt holds the same answers each time."""
    first, second, changed = (
        call_service("mcp__box__run", {"command": "rm -rf notes"}, state)
        for state in ("untracked", "untracked", "tracked")
    )

    assert first[0] == second[0]
    assert first[1].to_record() == second[1].to_record()
    assert first[0] != changed[0]


def test_services_calls_that_differ_share_no_effects() -> None:
    """Tool, arguments and what a person confirmed are all part of a call."""
    reads = call_service("mcp__notes__get_note", {"id": "1"}, "untracked")[0]

    assert call_service("mcp__notes__delete_note", {"id": "1"}, "untracked")[0] != reads
    assert call_service("mcp__notes__get_note", {"sql": "drop table notes"}, "untracked")[0] != reads
    assert call_service("mcp__notes__get_note", {"id": "1"}, "untracked", effects=["destructive"])[0] != reads
    assert classify_shell_text("mcp__notes__get_note", Facts(make_world())) != reads


@pytest.mark.parametrize(("key", "text"), [("sql", "drop table notes --"), ("command", "rm -rf notes")])
def test_a_long_argument_of_a_services_call_is_judged_like_a_short_one(key: str, text: str) -> None:
    """It is too long for the cache, which must not change what is found in it."""
    long_text = text + " " * MAX_TEXT_LENGTH
    short, long, again = (
        [effect.what for effect in call_service("mcp__box__run", {key: value}, "untracked")[0].items]
        for value in (text, long_text, long_text)
    )

    assert short == long == again != ["none"]
